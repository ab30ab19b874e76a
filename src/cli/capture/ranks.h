/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which rank of a program is run, and runs of each of them.
 */
#ifndef MS_CLI_CAPTURE_RANKS_H
#define MS_CLI_CAPTURE_RANKS_H

#include "cli/capture/attempt.h"

typedef struct ms_cli_ranks {
    uint64_t world; /* 0: the program's own affair */
    uint64_t rank;
    bool all;
} ms_cli_ranks;

/* From --world and --rank, and from RANK and WORLD_SIZE of the environment, which a launcher sets:
 * they must not contradict each other. */
ms_status ms_cli_find_ranks(const ms_cli_settings *settings, ms_cli_ranks *ranks, ms_error *err);

/* Runs each rank in turn, with a folder rank-R of its own; then shows the table of ranks and the
 * report of the worst one, which goes to `out`. */
ms_status ms_cli_run_ranks(ms_cli_attempt *attempt, ms_error *err);

#endif
