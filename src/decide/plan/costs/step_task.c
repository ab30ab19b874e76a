/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/step_task.h"

#include <stddef.h>

const char *const ms_planner_names[] = {
    [MS_PLANNER_MILP] = "milp",       [MS_PLANNER_GREEDY] = "greedy", [MS_PLANNER_RULES] = "rules",
    [MS_PLANNER_UNIFORM] = "uniform", [MS_PLANNER_NONE] = "none",     [MS_PLANNER_COUNT] = NULL,
};
