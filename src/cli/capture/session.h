/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One capture: a program is run in a folder of its own, and what it left is kept and shown.
 */
#ifndef MS_CLI_CAPTURE_SESSION_H
#define MS_CLI_CAPTURE_SESSION_H

#include "cli/parse/settings.h"

/* Returns the exit code; errors are printed. */
int ms_cli_capture_program(const ms_cli_settings *settings, ms_error *err);

#endif
