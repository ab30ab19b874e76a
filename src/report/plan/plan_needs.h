/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan needs at run time, in each format: the call that holds PyTorch's allocator to its
 * limit, what it takes without that, retries, and the link to the host. JSON has the steep end too.
 * Each writes nothing for a plan that needs nothing. False: out of memory.
 */
#ifndef MS_REPORT_PLAN_PLAN_NEEDS_H
#define MS_REPORT_PLAN_PLAN_NEEDS_H

#include "base/json/write.h"
#include "report/kit/page.h"
#include "report/plan/plan_view.h"

bool ms_plan_needs_console(const ms_page *p, const ms_plan_view *view);
bool ms_plan_needs_markdown(FILE *out, const ms_plan_view *view);
bool ms_plan_needs_html(FILE *out, const ms_plan_view *view);
bool ms_plan_needs_json(ms_json_writer *w, const ms_plan_view *view);

/* Whether the sections for people are there. */
bool ms_plan_has_needs(const ms_plan_view *view);

#endif
