/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/solver/outcome.h"

const char *const ms_plan_outcome_names[] = {
    [MS_PLAN_OPTIMAL] = "optimal",
    [MS_PLAN_INFEASIBLE] = "infeasible",
    [MS_PLAN_LIMIT] = "limit",
    [MS_PLAN_STOPPED] = "stopped",
};
