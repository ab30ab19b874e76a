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
#include <sys/types.h>

#include "memscope/check.h"
#include "memscope/diff.h"
#include "memscope/fit.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "memscope/recorded.h"
#include "memscope/sweep.h"

enum { EXIT_FITS = 0, EXIT_OVER_BUDGET = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 70 };
enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1 };

typedef struct ms_cli_grammar ms_cli_grammar;

/* A subcommand. `run` gets the arguments after its name and returns the exit code. */
typedef struct ms_cli_command {
    const char *name;
    const char *arguments;         /* "[options] [CONFIG]" */
    const char *help;              /* one line */
    const char *const *examples;   /* command, explanation, ..., NULL */
    const ms_cli_grammar *grammar; /* its options; NULL: none */
    const char *outcomes;          /* lines on its own exit codes; NULL: none */
    int (*run)(int argc, char **argv);
} ms_cli_command;

/* All of them, in the order of the help; NULL past the last. */
const ms_cli_command *ms_cli_command_at(size_t index);
const ms_cli_command *ms_cli_command_find(const char *name);

int ms_cli_analyze(int argc, char **argv);
int ms_cli_plan(int argc, char **argv);
int ms_cli_fit(int argc, char **argv);
int ms_cli_diff(int argc, char **argv);
int ms_cli_check(int argc, char **argv);
int ms_cli_baseline(int argc, char **argv);
int ms_cli_sweep(int argc, char **argv);
int ms_cli_merge(int argc, char **argv);
int ms_cli_capture(int argc, char **argv);
int ms_cli_compare(int argc, char **argv);
int ms_cli_calibrate(int argc, char **argv);
int ms_cli_models(int argc, char **argv);
int ms_cli_devices(int argc, char **argv);
int ms_cli_schema(int argc, char **argv);
int ms_cli_help(int argc, char **argv);

/* From now on memory that is freed is kept for what is allocated next. */
void ms_cli_keep_memory(void);

/* From now on that signal calls `stop`, and a second one ends the program; NULL: no more. Leaves
 * alone a signal that the parent process had set to be ignored. */
typedef void (*ms_cli_stop)(void *what);
void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what);

/* ---- options ---- */

typedef struct ms_cli_settings ms_cli_settings;

/* An option that is no field. */
typedef struct ms_cli_option {
    const char *name;       /* "format" */
    char letter;            /* 'o', or 0 */
    const char *value_name; /* NULL: a flag */
    const char *help;
    ms_status (*apply)(ms_cli_settings *settings, const char *value, ms_error *err);
} ms_cli_option;

/* Fields that are options, and how one is set; one without value_name is a flag, set to "true". */
typedef struct ms_cli_fields {
    const ms_run_field *(*list)(size_t *count);
    ms_status (*set)(ms_cli_settings *settings, const char *field, const char *value,
                     ms_error *err);
    const char *const *without; /* names that are no options; past the last, NULL. NULL: none */
} ms_cli_fields;

/* What a command accepts. A name means the first option or field that has it, in this order. */
struct ms_cli_grammar {
    const ms_cli_option *options; /* past the last, a name of NULL */
    const ms_cli_fields *fields;  /* past the last, a list of NULL */
    ms_status (*take_word)(ms_cli_settings *settings, const char *word, ms_error *err);
    const char *(*format_at)(size_t index); /* of --format; NULL past the last */
    const char *notes;                      /* below the options in the help, or NULL */
};
extern const ms_cli_grammar ms_cli_analyze_grammar, ms_cli_plan_grammar, ms_cli_fit_grammar,
    ms_cli_diff_grammar, ms_cli_check_grammar, ms_cli_baseline_grammar, ms_cli_sweep_grammar,
    ms_cli_merge_grammar, ms_cli_capture_grammar, ms_cli_compare_grammar, ms_cli_calibrate_grammar;

typedef enum ms_cli_color { MS_COLOR_AUTO, MS_COLOR_ALWAYS, MS_COLOR_NEVER } ms_cli_color;
const char *ms_cli_color_name(size_t index); /* by ms_cli_color; NULL past the last */

typedef struct ms_cli_output {
    const char *format, *path; /* path "-" = stdout */
} ms_cli_output;

enum { MS_CLI_MAX_OUTPUTS = 16 };

struct ms_cli_settings {
    const ms_cli_grammar *grammar; /* set by ms_cli_parse */
    ms_run *run;
    ms_plan *plan;
    const char *config;        /* the bare word, or --budgets; or NULL */
    const char *other;         /* the second one, of `diff` */
    const char *format, *file; /* --format, -o */
    ms_cli_output outputs[MS_CLI_MAX_OUTPUTS];
    size_t output_count;
    const char *directory;    /* --out */
    const char *events;       /* --events */
    const char *python;       /* --python, or NULL */
    const char *what;         /* --what, or NULL */
    uint64_t step;            /* --step, --steps; 0: not given */
    uint64_t seconds;         /* --time-limit of capture; 0: not given */
    uint64_t ranks;           /* --world of capture; 0: not given */
    uint64_t device_count;    /* --device-count of capture; 0: not given */
    bool traces_calls;        /* --trace-calls of capture */
    bool hides_paths;         /* --no-paths of capture */
    const char *device;       /* of capture */
    const char *calibration;  /* of check; elsewhere a field of the run */
    bool is_real;             /* --real of capture */
    const char *loss;         /* --answer-loss of capture, or NULL */
    const char *second;       /* the second report of compare */
    char **program;           /* what follows --; ends with NULL */
    uint32_t jobs;            /* -j; 0: not given */
    bool checks_with_capture; /* --check-with capture */
    bool unroll, chart, quiet, help, warn_only, no_plans, update;
    ms_sweep *sweep;
    const char **paths; /* the bare words of merge and calibrate */
    size_t path_count;
    const char *objectives; /* of merge; NULL: the usual ones */
    bool resume, frontier;
    ms_cli_color color;
};

/* Options in any order, `--name value` or `--name=value`; other words go to take_word. */
ms_status ms_cli_parse(int argc, char **argv, const ms_cli_grammar *grammar,
                       ms_cli_settings *settings, ms_error *err);

/* Parses the arguments of that command, then prints its help, complains or calls `run`. Returns the
 * exit code. */
int ms_cli_run(int argc, char **argv, const char *command, ms_cli_settings *settings,
               int (*run)(const ms_cli_settings *settings, ms_error *err));

/* The field an option of that name sets, or NULL. */
const ms_run_field *ms_cli_field_find(const ms_cli_grammar *grammar, const char *name);

/* For rows of options that several commands have. */
ms_status ms_cli_set_format(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_file(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_add_output(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_budgets(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_jobs(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_quiet(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_help(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_color(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_no_color(ms_cli_settings *settings, const char *value, ms_error *err);

/* For grammars with the fields of a run: sets one; takes the bare word as the config. */
ms_status ms_cli_set_run(ms_cli_settings *settings, const char *field, const char *value,
                         ms_error *err);
ms_status ms_cli_take_config(ms_cli_settings *settings, const char *word, ms_error *err);

/* The fields of a run, for such grammars. */
extern const ms_cli_fields ms_cli_run_fields[];

/* Fails unless it is a format of the grammar. */
ms_status ms_cli_check_format(const ms_cli_grammar *grammar, const char *name, ms_error *err);

/* What --format and -o mean together: a file alone has the format its name ends in. */
const char *ms_cli_format(const ms_cli_settings *settings);

/* ---- output ---- */

/* What a file is filled from. `write` writes all of it; that the output failed is seen here. */
typedef struct ms_cli_source ms_cli_source;
struct ms_cli_source {
    ms_status (*write)(FILE *out, const ms_cli_source *source, ms_error *err);
    ms_analysis *analysis;
    const char *format;
    const ms_plan *plan; /* for `plan`, instead of the analysis */
    const ms_fit *fit;   /* for `fit` */
    const ms_comparison *comparison;
    const ms_check *check;
    size_t index;                         /* of a baseline */
    const void *data;                     /* for others */
    const ms_recorded *recorded, *second; /* for `capture` and `compare` */
};

/* Where a result goes. */
typedef struct ms_cli_place {
    bool is_stdout;
    char *target; /* the file to replace, behind every link, for free(); NULL: written in place, as
                     devices and pipes are */
    mode_t mode;  /* of that file, or of a new one */
} ms_cli_place;

/* `path`: "-" or NULL for standard output. Fails where nothing may be written. */
ms_status ms_cli_find_place(const char *path, ms_cli_place *place, ms_error *err);

/* Such a link could become any file before it is written. */
ms_status ms_cli_refuse_link_to_nothing(const char *path, ms_error *err);

/* Writes a file whole or not at all: a temporary file beside it, synced, renamed. What is no
 * regular file (a device, a pipe) is written in place; "-" is stdout, whose reader may go away. */
ms_status ms_cli_write_file(const char *path, const ms_cli_source *source, ms_error *err);

/* Writes to standard error, whose reader may go away. */
ms_status ms_cli_write_stderr(const ms_cli_source *source, ms_error *err);

/* Adds to the end of a file, which is made when it is not there. */
ms_status ms_cli_append_file(const char *path, const ms_cli_source *source, ms_error *err);

/* The same, from rows that take hours to come: they are appended to `PATH.part`, which gets its
 * name when they are all there. Whatever happens, whole rows are on the disk. */
typedef struct ms_cli_rows {
    const char *path; /* NULL: standard output */
    ms_cli_place place;
    char *part; /* NULL: the rows are written in place */
    int fd;
    bool is_whole;  /* no part was there to go on with, but the file itself */
    bool is_closed; /* the reader of the rows is gone */
    uint64_t whole_bytes;
} ms_cli_rows;

/* Opens what the rows go to. With `resume` nothing that is there is lost, else it goes. */
ms_status ms_cli_rows_open(ms_cli_rows *rows, const char *path, bool resume, ms_error *err);
/* What is there already, from its start, to be closed; NULL after a failure. */
FILE *ms_cli_rows_read(const ms_cli_rows *rows, ms_error *err);
/* Keeps that many bytes. */
ms_status ms_cli_rows_cut(ms_cli_rows *rows, uint64_t bytes, ms_error *err);
/* Fits ms_sweep_take. */
ms_status ms_cli_rows_add(void *rows, const char *text, size_t length, ms_error *err);
/* All rows are there. */
ms_status ms_cli_rows_finish(ms_cli_rows *rows, ms_error *err);
void ms_cli_rows_close(ms_cli_rows *rows);

/* Makes the folder and those above it. */
ms_status ms_cli_make_directory(const char *path, ms_error *err);

/* How text on stdout is laid out. */
ms_style ms_cli_style(ms_cli_color color);

/* ---- progress ---- */

/* A bar on standard error where that is a terminal, else nothing. */
typedef struct ms_cli_progress {
    bool is_shown;
    uint64_t first; /* done before */
    double start_s, shown_s;
} ms_cli_progress;

ms_cli_progress ms_cli_progress_begin(bool quiet, uint64_t done);
void ms_cli_progress_show(ms_cli_progress *progress, const ms_sweep_progress *state);
void ms_cli_progress_end(const ms_cli_progress *progress);

/* ---- messages ---- */

/* What ms_printable makes of a text for a message; returns `out`. */
enum { MS_CLI_PRINTABLE_BYTES = 4096 };
const char *ms_cli_printable(const char *text, char out[MS_CLI_PRINTABLE_BYTES]);

/* Prints a line to standard error as ms_printable has it. */
__attribute__((format(printf, 1, 2))) void ms_cli_say(const char *format, ...);

/* Prints the error (file, place, path, text, source line, caret) and returns the exit code. */
int ms_cli_complain(const ms_error *err);

/* The same where memory ran out before there was anything to ask. */
int ms_cli_no_memory(void);

/* Fills err, with `text` as the reason; keeps an error that is already there. Returns its status.
 */
__attribute__((format(printf, 3, 4))) ms_status ms_cli_fail(ms_error *err, ms_status status,
                                                            const char *format, ...);

/* The same for an errno of libc: "cannot read x: No such file or directory". */
ms_status ms_cli_fail_errno(ms_error *err, const char *what, const char *path);

/* Yields names until NULL. */
typedef const char *(*ms_cli_name_at)(const void *list, size_t index);

enum { MS_CLI_HINT_BYTES = 64 };

/* "; did you mean --batch?" when a name is near, else ""; `dashes` go before it. Returns `out`. */
const char *ms_cli_hint(const char *name, ms_cli_name_at name_at, const void *list,
                        const char *dashes, char out[MS_CLI_HINT_BYTES]);

/* ---- help ---- */

void ms_cli_print_short_help(FILE *out);
/* A row for each field and option of a command, but for those that another one hides; `heading`
 * goes before the name of a group. */
/* Calls `visit` for every option, fields first; a letter of 0: it has none. */
typedef void (*ms_cli_visitor)(void *context, char letter, const ms_run_field *row);
void ms_cli_visit_options(const ms_cli_grammar *grammar, ms_cli_visitor visit, void *context);
typedef void (*ms_cli_row_printer)(FILE *out, char letter, const ms_run_field *row);
void ms_cli_print_options(FILE *out, const ms_cli_grammar *grammar, const char *heading,
                          ms_cli_row_printer print);
/* The command's manual page. */
void ms_cli_print_page(FILE *out, const ms_cli_command *command);
/* "zsh" or "fish": the completions of that shell. "words COMMAND --OPTION": what may follow the
 * option, on a line; @models and @devices for those. False: it is none of these. */
bool ms_cli_print_completion(FILE *out, int argc, char **argv);
void ms_cli_print_help(FILE *out, const ms_cli_command *command); /* NULL: the whole program */

#endif
