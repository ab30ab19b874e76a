/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * runtime_report.json of a program without PyTorch.
 */
#ifndef MS_CLI_CAPTURE_LEDGER_REPORT_H
#define MS_CLI_CAPTURE_LEDGER_REPORT_H

#include "cli/capture/ledger.h"
#include "cli/capture/program.h"

typedef struct ms_cli_ledger_ending {
    const char *outcome;
    const char *how;  /* how it ended, behind the words "the program"; NULL: as it should */
    bool was_running; /* when it was stopped */
} ms_cli_ledger_ending;

/* Writes FOLDER/STEM.json. */
ms_status ms_cli_ledger_write(const ms_cli_ledger *ledger, const ms_cli_capture_request *request,
                              const ms_cli_ledger_ending *ending, const char *stem, ms_error *err);

#endif
