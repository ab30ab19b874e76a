/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of a segment's layers in which their copies wait least.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_ARRANGE_H
#define MS_DECIDE_PLAN_CHOOSE_ARRANGE_H

#include "decide/plan/choose/cost_problem.h"

/* Exchanges options of layers within their segments. A beam search goes through the layers of the
 * pass that waits most by the rows of cost_queues.h; what states of the link are worth there says
 * which beginnings are good. Bytes are not looked at. Does nothing where no row says anything, or
 * where a segment has more options in use than it takes. */
ms_status ms_assignment_arrange(ms_arena *arena, const ms_cost_problem *p,
                                ms_assignment *assignment, ms_error *err);

#endif
