/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The answer of a report, in words.
 */
#ifndef MS_REPORT_VIEW_VERDICT_H
#define MS_REPORT_VIEW_VERDICT_H

#include "report/view/view.h"

/* "fits: 71.31 of 79.25 GiB on a100-80gb". NULL: out of memory. */
const char *ms_view_verdict(const ms_view *view);
/* Why the step needs that much, and why the verdict is not a plain one; needs the view's peak_why.
 * NULL: out of memory. */
const char *ms_view_why(const ms_view *view);

#endif
