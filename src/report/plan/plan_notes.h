/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For the members of a view of these names. In its arena; NULL: out of memory.
 */
#ifndef MS_REPORT_PLAN_PLAN_NOTES_H
#define MS_REPORT_PLAN_PLAN_NOTES_H

#include "report/plan/plan_view.h"

const char *ms_plan_rates_note(const ms_plan_view *view);
const char *ms_plan_link_note(const ms_plan_view *view);
const char *ms_plan_host_note(const ms_plan_view *view);

#endif
