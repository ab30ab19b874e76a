/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Filling the stack.
 */
#ifndef MS_PLAN_COSTS_MEASURE_H
#define MS_PLAN_COSTS_MEASURE_H

#include "plan/costs/stack.h"

/* Puts operators in the place of "selective:0.5" among the run's treatments: those that
 * ms_selective_of_share keeps. Simulates one step if there are any. */
ms_status ms_shares_resolve(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                            ms_error *err);
/* Simulates what it takes. `techniques`: ms_technique bits that options may use. Lives in the
 * arena. */
ms_status ms_stack_measure(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                           uint32_t techniques, ms_stack *stack, ms_error *err);
/* The index of the option with this treatment, which is measured and added when there is none yet.
 * MS_ERR_LIMIT when there is no room. */
ms_status ms_stack_add_option(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, const ms_treatment *treatment,
                              ms_stack *stack, uint32_t *index, ms_error *err);

#endif
