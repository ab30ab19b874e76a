/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands of the program.
 */
#ifndef MS_CLI_PARSE_COMMAND_H
#define MS_CLI_PARSE_COMMAND_H

#include <stddef.h>

#include "cli/parse/grammar.h"
#include "memscope/verdict.h"

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
