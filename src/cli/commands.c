/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <stddef.h>

#include "cli/commands/commands.h"

const ms_cli_command *const ms_cli_commands[] = {
    &ms_cli_analyze, &ms_cli_plan,      &ms_cli_fit,    &ms_cli_diff,
    &ms_cli_check,   &ms_cli_baseline,  &ms_cli_sweep,  &ms_cli_merge,
    &ms_cli_capture, &ms_cli_compare,   &ms_cli_infer,  &ms_cli_stream,
    &ms_cli_probe,   &ms_cli_calibrate, &ms_cli_models, &ms_cli_devices,
    &ms_cli_schema,  &ms_cli_help,      NULL,
};
