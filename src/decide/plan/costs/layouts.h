/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layouts of several ranks: what a plan may do to their layers.
 */
#ifndef MS_DECIDE_PLAN_COSTS_LAYOUTS_H
#define MS_DECIDE_PLAN_COSTS_LAYOUTS_H

#include "base/error.h"
#include "input/config/run/run_config.h"

/* Refuses, in a sentence, a run whose layout has no plans. */
ms_status ms_layout_check_plan(const ms_run_config *run, ms_error *err);
/* ms_technique bits that a plan may use in the run's layout: their bytes and times are exact. */
uint32_t ms_plan_techniques(const ms_run_config *run);

#endif
