/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The treatments to measure for a run.
 */
#ifndef MS_DECIDE_PLAN_COSTS_OPTION_LIST_H
#define MS_DECIDE_PLAN_COSTS_OPTION_LIST_H

#include "decide/plan/costs/cost_model.h"

/* ---- op list ---- */

/* The operators that a layer's recomputation runs. */

/* Reads the operators of recomputation from a timed trace with all layers checkpointed. */
ms_status ms_op_list_read(const ms_trace *trace, const ms_device *device, ms_op_list *list,
                          ms_error *err);

/* Whether the results of these operators can be kept: none is changed in place, which PyTorch would
 * refuse. */
bool ms_op_list_may_keep(const ms_op_list *list, const ms_kept_op *kept, uint32_t count);

/* A selective checkpoint that keeps the operators saving most time, with at most `share` of the
 * bytes of all results; a plain checkpoint if there are none. Random operators are always
 * recomputed. */
ms_status ms_selective_of_share(ms_arena *arena, const ms_op_list *ops, double share,
                                ms_treatment *treatment, ms_error *err);

typedef struct ms_option_list {
    ms_treatment options[MS_COST_MOST_OPTIONS];
    uint32_t losses[MS_COST_MOST_LOSSES]; /* chunks */
    uint32_t option_count, loss_count;
} ms_option_list;

/* Lists options besides keep and checkpoint, which every cost model has. */
ms_status ms_option_list_make(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, uint32_t techniques,
                              const ms_cost_model *costs, ms_option_list *list, ms_error *err);

/* ms_technique bits that cannot be applied to the model or its loss, or whose figures are not known
 * under the run's layout. */
uint32_t ms_techniques_impossible(const ms_model_config *model, const ms_run_config *run);

/* The shares of what a layer saves that are worth offloading, once all of it has been measured. */
void ms_option_list_make_shares(const ms_cost_model *costs, ms_option_list *list);

/* ---- layouts ---- */

/* Layouts of several ranks: what a plan may do to their layers. */

/* Refuses, in a sentence, a run whose layout has no plans. */
ms_status ms_layout_check_plan(const ms_run_config *run, ms_error *err);
/* ms_technique bits that a plan may use in the run's layout: their bytes and times are exact. */
uint32_t ms_plan_techniques(const ms_run_config *run);

#endif
