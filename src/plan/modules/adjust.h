/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small changes to a plan, counted in whole bytes.
 */
#ifndef MS_PLAN_MODULES_ADJUST_H
#define MS_PLAN_MODULES_ADJUST_H

#include "plan/modules/choices.h"

/* Discards more where it costs least until the plan fits; false when that does not do. */
bool ms_choices_repair(const ms_choices *choices, uint32_t *parts);
/* Discards less as long as the plan, which must fit, still does. */
void ms_choices_improve(const ms_choices *choices, uint32_t *parts);
double ms_choices_ms(const ms_choices *choices, const uint32_t *parts);

#endif
