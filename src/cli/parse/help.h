/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, generated from the tables.
 */
#ifndef MS_CLI_PARSE_HELP_H
#define MS_CLI_PARSE_HELP_H

#include <stdio.h>

#include "cli/parse/grammar.h"

/* For a call without arguments. */
void ms_cli_print_short_help(FILE *out);

/* Help of the whole program, with examples and exit codes of the first command. */
void ms_cli_print_help(FILE *out, const ms_cli_command *const *commands);

void ms_cli_print_command_help(FILE *out, const ms_cli_command *command);

/* ---- man ---- */

/* Manual pages of the commands. */

/* Prints the page of section 1. */
void ms_cli_print_page(FILE *out, const ms_cli_command *command);

#endif
