/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shell completions.
 */
#ifndef MS_CLI_PARSE_COMPLETION_H
#define MS_CLI_PARSE_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/parse/grammar.h"

/* "zsh" or "fish": prints the completions of that shell. "words COMMAND --OPTION": prints the
 * values of the option on one line, with @models and @devices for those lists. False: other
 * arguments. */
bool ms_cli_print_completion(FILE *out, const ms_cli_command *const *commands, int argc,
                             char **argv);

#endif
