/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_FIX_H
#define MS_API_FIX_H

#include "api/analysis.h"
#include "gate/verdict.h"

/* What would bring a verdict that is over back within its limit: checkpoints alone if they do, else
 * any mix. Fills fix, treat or has_no_fix; leaves them where layers do not help, or the
 * planner does not know the run. */
ms_status ms_fix_find(ms_arena *arena, const ms_analysis *analysis, ms_verdict *v, ms_error *err);

#endif
