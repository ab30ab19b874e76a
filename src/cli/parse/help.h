/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, generated from the tables.
 */
#ifndef MS_CLI_PARSE_HELP_H
#define MS_CLI_PARSE_HELP_H

#include <stdio.h>

#include "cli/parse/command.h"

/* For a call without arguments. */
void ms_cli_print_short_help(FILE *out);

/* Help of the whole program, with examples and exit codes of the first command. */
void ms_cli_print_help(FILE *out, const ms_cli_command *const *commands);

void ms_cli_print_command_help(FILE *out, const ms_cli_command *command);

/* Prints a row for each option of a command, without hidden ones; `heading` precedes the name of a
 * group. Letter 0: none. */
typedef void (*ms_cli_row_printer)(FILE *out, char letter, const ms_run_field *row);
void ms_cli_print_options(FILE *out, const ms_cli_grammar *grammar, const char *heading,
                          ms_cli_row_printer print);

#endif
