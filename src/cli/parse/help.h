/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, printed from the tables.
 */
#ifndef MS_CLI_PARSE_HELP_H
#define MS_CLI_PARSE_HELP_H

#include <stdio.h>

#include "cli/parse/command.h"

/* Of a program that was called without arguments. */
void ms_cli_print_short_help(FILE *out);

/* Of the whole program; its examples and exit codes begin with those of the first command. */
void ms_cli_print_help(FILE *out, const ms_cli_command *const *commands);

void ms_cli_print_command_help(FILE *out, const ms_cli_command *command);

/* A row for each option of a command that no other one hides; `heading` goes before the name of a
 * group. A letter of 0: it has none. */
typedef void (*ms_cli_row_printer)(FILE *out, char letter, const ms_run_field *row);
void ms_cli_print_options(FILE *out, const ms_cli_grammar *grammar, const char *heading,
                          ms_cli_row_printer print);

#endif
