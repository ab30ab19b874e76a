/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan's step takes where the link to the host has half the rate.
 */
#ifndef MS_PLAN_SEARCH_SLOW_LINK_H
#define MS_PLAN_SEARCH_SLOW_LINK_H

#include "plan/search/step_plan.h"

/* Sets `slow_link_ms` of a plan that copies to or from the host, by simulating its step once more.
 */
ms_status ms_step_plan_time_slow_link(const ms_step_task *task, ms_step_plan *plan, ms_error *err);

#endif
