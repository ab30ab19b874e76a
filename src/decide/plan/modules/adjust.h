/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small changes to a plan, counted in whole bytes.
 */
#ifndef MS_DECIDE_PLAN_MODULES_ADJUST_H
#define MS_DECIDE_PLAN_MODULES_ADJUST_H

#include "decide/plan/modules/candidates.h"

/* Discards more where it costs least until the plan fits; false if it cannot. */
bool ms_candidates_repair(const ms_candidates *candidates, uint32_t *parts);
/* Discards less as long as the plan, which must fit, still fits. */
void ms_candidates_improve(const ms_candidates *candidates, uint32_t *parts);
double ms_candidates_ms(const ms_candidates *candidates, const uint32_t *parts);

#endif
