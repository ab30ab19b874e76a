/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring the cost model.
 */
#ifndef MS_DECIDE_PLAN_COSTS_MEASURE_H
#define MS_DECIDE_PLAN_COSTS_MEASURE_H

#include "decide/plan/costs/cost_model.h"

/* Replaces "selective:0.5" in the run's treatments by the operators that ms_selective_of_share
 * selects. Simulates one step if there are any. */
ms_status ms_shares_resolve(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                            ms_error *err);
/* Simulates the options and fills the cost model, in the arena. `techniques`: ms_technique bits
 * that options may use. */
ms_status ms_cost_model_measure(ms_arena *arena, const ms_model_config *model,
                                const ms_run_config *run, uint32_t techniques, ms_cost_model *costs,
                                ms_error *err);
/* The index of the option with this treatment, which is measured and added if missing. MS_ERR_LIMIT
 * when there is no room. */
ms_status ms_cost_model_add_option(ms_arena *arena, const ms_model_config *model,
                                   const ms_run_config *run, const ms_treatment *treatment,
                                   ms_cost_model *costs, uint32_t *index, ms_error *err);

#endif
