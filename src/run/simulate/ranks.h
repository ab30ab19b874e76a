/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which of several ranks needs most: ranks that hold the same are one class, and one rank of each
 * class is simulated.
 */
#ifndef MS_RUN_SIMULATE_RANKS_H
#define MS_RUN_SIMULATE_RANKS_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/notes.h"
#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* Sets run->parallel.rank to the rank that needs most, unless the run names one, and fills
 * run->parallel.ranks, in the arena. Where nobody asked for it and more classes differ than are
 * quick to simulate, the rank stays 0 and the table is empty. Then settles the padding of a run
 * that does not know it (run/simulate/padding.h). */
ms_status ms_ranks_settle(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                          ms_error *err);
/* The same, with a note where ranks were not compared, and where padding makes a difference. */
ms_status ms_ranks_settle_noted(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                                ms_notes *notes, ms_error *err);

#endif
