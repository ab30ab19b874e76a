/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan needs at run time, for people and as JSON: the call that holds PyTorch's
 * allocator to its limit, what it takes without that, retries, and the link to the host. JSON has
 * the steep end too. Nothing is written for a plan that needs nothing.
 */
#ifndef MS_REPORT_PLAN_PLAN_NEEDS_H
#define MS_REPORT_PLAN_PLAN_NEEDS_H

#include "base/json/write.h"
#include "report/kit/tree/tree.h"
#include "report/plan/plan_view.h"

void ms_plan_needs_tree(ms_tree *tree, const ms_plan_view *view);
/* False: out of memory. */
bool ms_plan_needs_json(ms_json_writer *w, const ms_plan_view *view);

#endif
