/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_VIEW_WHY_H
#define MS_REPORT_VIEW_WHY_H

#include "report/view/view.h"

/* Why the step needs what it needs, from its trace: when its peak is, what is alive then and why,
 * and what the allocator adds. A sentence without a full stop, in the view's arena; NULL when out
 * of memory. The view's rows must be filled. */
const char *ms_why_text(const ms_view *view);
/* "in the evaluation": where the most of a job is that is not in its steady step. */
const char *ms_why_job_part(const ms_summary *summary);

#endif
