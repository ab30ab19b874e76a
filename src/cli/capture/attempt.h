/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run of the program, with a temporary folder: keeps its record and shows the report.
 */
#ifndef MS_CLI_CAPTURE_ATTEMPT_H
#define MS_CLI_CAPTURE_ATTEMPT_H

#include "cli/capture/program.h"
#include "cli/parse/settings.h"
#include "memscope/ranks.h"

typedef struct ms_cli_attempt {
    const ms_cli_settings *settings;
    const char *out;                /* where the record goes */
    ms_cli_capture_request request; /* all but the folder */
    ms_rank *rank;                  /* filled, in place of showing the report; NULL: it is shown */
    bool kept;                      /* whether the record went to `out` */
} ms_cli_attempt;

/* The status says how the program ended. */
ms_status ms_cli_attempt_run(ms_cli_attempt *attempt, ms_error *err);

bool ms_cli_has_report(const char *out);

/* Shows a report on the console. */
ms_status ms_cli_show_record(const ms_cli_settings *settings, ms_recorded *recorded, ms_error *err);

#endif
