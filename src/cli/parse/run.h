/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parsing and running a call.
 */
#ifndef MS_CLI_PARSE_RUN_H
#define MS_CLI_PARSE_RUN_H

#include "cli/parse/grammar.h"
#include "cli/parse/settings.h"

/* What a command does; returns the exit code. */
typedef int (*ms_cli_work)(const ms_cli_settings *settings, ms_error *err);

/* Parses the arguments: options in any order, `--name value` or `--name=value`; other words are
 * passed to take_word of the grammar. Then prints the command's help, reports an error, or calls
 * `work`. Returns the exit code. */
int ms_cli_run(const ms_cli_call *call, ms_cli_settings *settings, ms_cli_work work);

/* The same with settings that have only a run, or only room for the bare words. */
int ms_cli_run_with_run(const ms_cli_call *call, ms_cli_work work);
int ms_cli_run_with_paths(const ms_cli_call *call, ms_cli_work work);

/* For commands without options that print a table, which `write` writes. */
int ms_cli_print_table(const ms_cli_call *call, ms_status (*write)(FILE *out, ms_error *err));

/* The same for those that print what one word names, or without it NULL; `takes` says what it is:
 * "one name". */
int ms_cli_print_named(const ms_cli_call *call, const char *takes,
                       ms_status (*write)(const char *name, FILE *out, ms_error *err));

#endif
