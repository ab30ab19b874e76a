/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One capture: runs a program with a temporary folder, keeps its record and shows the report.
 */
#ifndef MS_CLI_CAPTURE_SESSION_H
#define MS_CLI_CAPTURE_SESSION_H

#include "cli/parse/settings.h"

/* Returns the exit code; errors are printed. */
int ms_cli_capture_program(const ms_cli_settings *settings, ms_error *err);

#endif
