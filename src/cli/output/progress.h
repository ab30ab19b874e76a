/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A bar that shows how far a sweep is.
 */
#ifndef MS_CLI_OUTPUT_PROGRESS_H
#define MS_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "memscope/sweep.h"

/* A bar on standard error where that is a terminal, else nothing. */
typedef struct ms_cli_progress {
    bool is_shown;
    uint64_t first; /* done before */
    double start_s, shown_s;
} ms_cli_progress;

ms_cli_progress ms_cli_progress_begin(bool quiet, uint64_t done);
void ms_cli_progress_show(ms_cli_progress *progress, const ms_sweep_progress *state);
void ms_cli_progress_end(const ms_cli_progress *progress);

#endif
