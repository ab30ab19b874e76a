/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of commands.
 */
#ifndef MS_CLI_COMMANDS_H
#define MS_CLI_COMMANDS_H

#include "cli/parse/grammar.h"

/* All of them, in the order of the help; NULL past the last. */
extern const ms_cli_command *const ms_cli_commands[];

#endif
