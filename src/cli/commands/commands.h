/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands, one file and one row each; `memscope help` lists them in the order of
 * cli/commands.c.
 */
#ifndef MS_CLI_COMMANDS_COMMANDS_H
#define MS_CLI_COMMANDS_COMMANDS_H

#include "cli/parse/grammar.h"

extern const ms_cli_command ms_cli_analyze, ms_cli_plan, ms_cli_fit, ms_cli_diff, ms_cli_check,
    ms_cli_baseline, ms_cli_sweep, ms_cli_merge, ms_cli_capture, ms_cli_compare, ms_cli_infer,
    ms_cli_stream, ms_cli_probe, ms_cli_calibrate, ms_cli_models, ms_cli_devices, ms_cli_schema,
    ms_cli_help;

#endif
