/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The progress bar of a sweep.
 */
#ifndef MS_CLI_OUTPUT_PROGRESS_H
#define MS_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "memscope/sweep.h"

/* Shown on standard error if that is a terminal. */
typedef struct ms_cli_progress {
    bool is_shown;
    uint64_t first; /* points done by an earlier run */
    double start_s, shown_s;
} ms_cli_progress;

ms_cli_progress ms_cli_progress_begin(bool quiet, uint64_t done);
void ms_cli_progress_show(ms_cli_progress *progress, const ms_sweep_progress *state);
void ms_cli_progress_end(const ms_cli_progress *progress);

#endif
