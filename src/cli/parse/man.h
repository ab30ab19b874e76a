/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manual pages of the commands.
 */
#ifndef MS_CLI_PARSE_MAN_H
#define MS_CLI_PARSE_MAN_H

#include <stdio.h>

#include "cli/parse/command.h"

/* Prints the page of section 1. */
void ms_cli_print_page(FILE *out, const ms_cli_command *command);

#endif
