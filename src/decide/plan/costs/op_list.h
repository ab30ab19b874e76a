/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operators that a layer's recomputation runs.
 */
#ifndef MS_DECIDE_PLAN_COSTS_OP_LIST_H
#define MS_DECIDE_PLAN_COSTS_OP_LIST_H

#include "decide/plan/costs/cost_model.h"

/* Reads the operators of recomputation from a timed trace with all layers checkpointed. */
ms_status ms_op_list_read(const ms_trace *trace, const ms_device *device, ms_op_list *list,
                          ms_error *err);

/* Whether the results of these operators can be kept: none is changed in place, which PyTorch would
 * refuse. */
bool ms_op_list_may_keep(const ms_op_list *list, const ms_kept_op *kept, uint32_t count);

#endif
