/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_GATE_FIX_H
#define MS_API_GATE_FIX_H

#include "api/analysis.h"
#include "gate/verdict.h"

/* Finds a plan that brings an exceeded verdict within its limit: with checkpoints only, if they
 * suffice, else with any treatments. Fills fix, treat or has_no_fix; leaves them unset if
 * treatments of layers cannot help, or the planner does not support the run. */
ms_status ms_fix_find(ms_arena *arena, const ms_analysis *analysis, ms_verdict *v, ms_error *err);

#endif
