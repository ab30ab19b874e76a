/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completions for shells.
 */
#ifndef MS_CLI_PARSE_COMPLETION_H
#define MS_CLI_PARSE_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/parse/command.h"

/* "zsh" or "fish": the completions of that shell. "words COMMAND --OPTION": what may follow the
 * option, on a line; @models and @devices for those. False: the words are none of these. */
bool ms_cli_print_completion(FILE *out, const ms_cli_command *const *commands, int argc,
                             char **argv);

#endif
