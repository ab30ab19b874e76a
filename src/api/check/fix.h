/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_CHECK_FIX_H
#define MS_API_CHECK_FIX_H

#include "api/analysis.h"
#include "decide/check/verdict.h"

/* Finds a plan that brings an exceeded verdict within its limit: with checkpoints only, if they
 * suffice, else with any treatments; where there is none, the cheapest change of the run that does.
 * Fills fix with treat, or has_no_fix with fix and option where a change was found; leaves them
 * unset if the planner does not support the run. */
ms_status ms_fix_find(ms_arena *arena, const ms_analysis *analysis, ms_verdict *v, ms_error *err);

#endif
