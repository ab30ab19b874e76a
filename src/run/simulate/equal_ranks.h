/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranks of a pipeline that do the same: they have as many layers of the same kind, neither end of
 * the model more than the other, and the schedule runs the same passes in the same order.
 */
#ifndef MS_RUN_SIMULATE_EQUAL_RANKS_H
#define MS_RUN_SIMULATE_EQUAL_RANKS_H

#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"

/* Whether the ranks, numbered as in ms_parallel.rank, are known to need the same: of other layouts
 * than pipelines none are. */
bool ms_ranks_are_equal(const ms_model_config *model, const ms_run_config *run, uint64_t a,
                        uint64_t b);

#endif
