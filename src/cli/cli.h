/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line: a client of the public headers. Results go to stdout, messages to stderr; every
 * function here returns a status or an exit code, and only ms_cli_complain prints errors.
 */
#ifndef MS_CLI_CLI_H
#define MS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "memscope/memscope.h"
#include "memscope/plan.h"

enum { EXIT_FITS = 0, EXIT_OVER_BUDGET = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 70 };

/* A subcommand. `run` gets the arguments after its name and returns the exit code. */
typedef struct ms_cli_command {
    const char *name;
    const char *arguments;       /* "[options] [CONFIG]" */
    const char *help;            /* one line */
    const char *const *examples; /* command, explanation, ..., NULL */
    int (*run)(int argc, char **argv);
} ms_cli_command;

/* All of them, in the order of the help; NULL past the last. */
const ms_cli_command *ms_cli_command_at(size_t index);
const ms_cli_command *ms_cli_command_find(const char *name);

int ms_cli_analyze(int argc, char **argv);
int ms_cli_plan(int argc, char **argv);
int ms_cli_models(int argc, char **argv);
int ms_cli_devices(int argc, char **argv);
int ms_cli_help(int argc, char **argv);

/* From now on Ctrl-C makes the plan end with what it has, and a second one ends the program; NULL:
 * no more. Stays away from SIGINT where whoever started the program had it ignored. */
void ms_cli_stop_on_interrupt(ms_plan *plan);

/* Options of `plan`; NULL past the last. */
const ms_run_field *ms_cli_plan_field_at(size_t index);

/* ---- options ---- */

typedef struct ms_cli_settings ms_cli_settings;

/* An option of `analyze` that is not a field of the run. */
typedef struct ms_cli_option {
    const char *name;       /* "format" */
    char letter;            /* 'o', or 0 */
    const char *value_name; /* NULL: a flag */
    const char *help;
    ms_status (*apply)(ms_cli_settings *settings, const char *value, ms_error *err);
} ms_cli_option;
const ms_cli_option *ms_cli_option_at(size_t index); /* NULL past the last */

typedef enum ms_cli_color { MS_COLOR_AUTO, MS_COLOR_ALWAYS, MS_COLOR_NEVER } ms_cli_color;

typedef struct ms_cli_output {
    const char *format, *path; /* path "-" = stdout */
} ms_cli_output;

enum { MS_CLI_MAX_OUTPUTS = 16 };

struct ms_cli_settings {
    ms_run *run;
    const char *format, *file; /* --format, -o */
    ms_cli_output outputs[MS_CLI_MAX_OUTPUTS];
    size_t output_count;
    const char *directory; /* --out */
    const char *events;    /* --events */
    bool unroll, quiet, help;
    ms_cli_color color;
};

/* Options in any order, `--name value` or `--name=value`; one bare word names the config. */
ms_status ms_cli_parse(int argc, char **argv, ms_cli_settings *settings, ms_error *err);

/* ---- output ---- */

/* What a file is filled from. `write` writes all of it; that the output failed is seen here. */
typedef struct ms_cli_source ms_cli_source;
struct ms_cli_source {
    ms_status (*write)(FILE *out, const ms_cli_source *source, ms_error *err);
    ms_analysis *analysis;
    const char *format;
    const ms_plan *plan; /* for `plan`, instead of the analysis */
};

/* Writes a file whole or not at all: a temporary file beside it, synced, renamed. What is no
 * regular file (a device, a pipe) is written in place; "-" is stdout, whose reader may go away. */
ms_status ms_cli_write_file(const char *path, const ms_cli_source *source, ms_error *err);

/* Makes the folder and those above it. */
ms_status ms_cli_make_directory(const char *path, ms_error *err);

/* How text on stdout is laid out. */
ms_style ms_cli_style(ms_cli_color color);

/* ---- messages ---- */

/* Prints the error (file, place, path, text, source line, caret) and returns the exit code. */
int ms_cli_complain(const ms_error *err);

/* Fills err, with `text` as the reason; keeps an error that is already there. Returns its status.
 */
__attribute__((format(printf, 3, 4))) ms_status ms_cli_fail(ms_error *err, ms_status status,
                                                            const char *format, ...);

/* The candidate that is nearest to `name`, if it is near; `next` yields names until NULL. */
const char *ms_cli_nearest(const char *name, const char *(*next)(size_t index));

/* ---- help ---- */

void ms_cli_print_short_help(FILE *out);
void ms_cli_print_help(FILE *out, const ms_cli_command *command); /* NULL: the whole program */

#endif
