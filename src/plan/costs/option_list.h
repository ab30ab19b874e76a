/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which treatments are worth measuring for a run.
 */
#ifndef MS_PLAN_COSTS_OPTION_LIST_H
#define MS_PLAN_COSTS_OPTION_LIST_H

#include "plan/costs/cost_model.h"

/* From a timed trace in which every layer is checkpointed. */
ms_status ms_op_list_read(const ms_trace *trace, const ms_device *device, ms_op_list *list,
                          ms_error *err);

/* The operators that spare most time when their results, together at most `share` of all results'
 * bytes, are kept; a plain checkpoint when there are none. Random ones are always recomputed. */
ms_status ms_selective_of_share(ms_arena *arena, const ms_op_list *ops, double share,
                                ms_treatment *treatment, ms_error *err);

typedef struct ms_option_list {
    ms_treatment options[MS_COST_MOST_OPTIONS];
    uint32_t losses[MS_COST_MOST_LOSSES]; /* chunks */
    uint32_t option_count, loss_count;
} ms_option_list;

/* What may be tried in addition to keep and checkpoint, which the cost model has. */
ms_status ms_option_list_make(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, uint32_t techniques,
                              const ms_cost_model *costs, ms_option_list *list, ms_error *err);

/* Bits of techniques that the model, or its loss, has no place for. */
uint32_t ms_techniques_impossible(const ms_model_config *model, const ms_run_config *run);

/* The shares of what a layer saves that are worth offloading, once all of it has been measured. */
void ms_option_list_make_shares(const ms_cost_model *costs, ms_option_list *list);

#endif
