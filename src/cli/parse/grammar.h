/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options and words that a command accepts.
 */
#ifndef MS_CLI_PARSE_GRAMMAR_H
#define MS_CLI_PARSE_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memscope/memscope.h"

typedef struct ms_cli_settings ms_cli_settings;

/* How an option that is not a field is set. */
typedef enum ms_cli_kind {
    MS_CLI_APPLIES,   /* by a function of its own */
    MS_CLI_IS_FLAG,   /* a bool becomes true */
    MS_CLI_IS_TEXT,   /* a const char *: the value, as given */
    MS_CLI_IS_PATH,   /* a const char *: the value as a path; "-" is standard output */
    MS_CLI_IS_CHOICE, /* a const char *: one of the names of `choice_at`, as given */
    MS_CLI_IS_NUMBER  /* a uint64_t from 1 to `most` */
} ms_cli_kind;

/* An option that is not a field. parse/options.h has macros for the members from `apply` on. */
typedef struct ms_cli_option {
    const char *name;       /* "format" */
    char letter;            /* 'o', or 0 */
    const char *value_name; /* NULL: a flag */
    const char *help;       /* NULL, of --format: the formats that there are */
    ms_status (*apply)(ms_cli_settings *settings, const char *value, ms_error *err); /* or NULL */
    ms_cli_kind kind;
    size_t member;                          /* of ms_cli_settings: its offset */
    uint64_t most;                          /* of a number; UINT64_MAX: unbounded */
    const char *needs;                      /* of a text that may not be empty: "a file"; or NULL */
    const char *(*choice_at)(size_t index); /* of a choice: its names; NULL past the last */
} ms_cli_option;

/* Fields that are options, and their setter; one without value_name is a flag, set to "true". */
typedef struct ms_cli_fields {
    const ms_run_field *(*list)(size_t *count);
    ms_status (*set)(ms_cli_settings *settings, const char *field, const char *value,
                     ms_error *err);
    bool adds;                  /* what is given again is added to what was given */
    const char *const *without; /* names that are not options, ended by NULL; NULL: none */
    /* What a field may have, NULL past the last, where it is not what that name has elsewhere. */
    const char *(*choice_at)(const char *field, size_t index);
} ms_cli_fields;

/* A name means the first option or field with that name, in this order. */
typedef struct ms_cli_grammar {
    const ms_cli_option *options; /* ends with a name of NULL */
    const ms_cli_fields *fields;  /* ends with a list of NULL */
    ms_status (*take_word)(ms_cli_settings *settings, const char *word, ms_error *err);
    const char *(*format_at)(size_t index); /* values of --format; NULL past the last */
    const char *notes;                      /* text below the options in the help, or NULL */
    bool has_sides;    /* options after -- are of the second side; else what follows is no option */
    bool takes_launch; /* several words after -- are the launch of a training */
} ms_cli_grammar;

/* An option of a grammar: one of its own, or a field. */
typedef struct ms_cli_choice {
    const char *name, *value_name;
    const ms_cli_option *option; /* or NULL */
    const ms_run_field *field;   /* or NULL */
    const ms_cli_fields *fields; /* of the field */
} ms_cli_choice;

/* The name of the option at `index`; NULL past the last. An ms_cli_name_at. */
const char *ms_cli_choice_name(const void *grammar, size_t index);

/* Find an option by the first `length` bytes of `name`, or by letter. */
bool ms_cli_find_option(const ms_cli_grammar *grammar, const char *name, size_t length,
                        ms_cli_choice *found);
bool ms_cli_find_letter(const ms_cli_grammar *grammar, char letter, ms_cli_choice *found);

/* Calls `visit` for every option that is not hidden by another of the same name, fields first;
 * letter 0: none. */
typedef void (*ms_cli_visitor)(void *context, char letter, const ms_run_field *row);
void ms_cli_visit_options(const ms_cli_grammar *grammar, ms_cli_visitor visit, void *context);

/* ---- command ---- */

/* Commands of the program. */

enum {
    EXIT_FITS = 0,
    EXIT_OVER_BUDGET = 1,
    EXIT_USAGE = 2,
    EXIT_UNKNOWN = 4, /* settings that are not predicted decide */
    EXIT_INTERNAL = 70
};
/* The exit code of a verdict. */
int ms_cli_exit_code_of(ms_fit_verdict verdict);
enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1 };

typedef struct ms_cli_command ms_cli_command;

/* A call of a command: the arguments after its name, and all commands in the order of the help,
 * ended by NULL. */
typedef struct ms_cli_call {
    const ms_cli_command *const *commands;
    const ms_cli_command *command;
    int argc;
    char **argv;
} ms_cli_call;

struct ms_cli_command {
    const char *name;
    const char *arguments;               /* "[options] [CONFIG]" */
    const char *help;                    /* one line */
    const char *const *examples;         /* command, explanation, ..., NULL */
    const ms_cli_grammar *grammar;       /* its options; NULL: it has none */
    const char *outcomes;                /* lines about its exit codes; NULL: none */
    int (*run)(const ms_cli_call *call); /* returns the exit code */
};

/* The command of that name, or NULL. */
const ms_cli_command *ms_cli_command_find(const ms_cli_command *const *commands, const char *name);

/* Whether the word asks for help. */
bool ms_cli_is_help(const char *word);

/* Reports an unknown command; returns the exit code. */
int ms_cli_no_command(const ms_cli_command *const *commands, const char *name);

#endif
