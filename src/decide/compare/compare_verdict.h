/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verdict of a comparison, and its largest cause.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_VERDICT_H
#define MS_DECIDE_COMPARE_COMPARE_VERDICT_H

#include "decide/compare/compare_view.h"

/* "static", "null", "cuda". */
const char *ms_compare_mode(const ms_recorded *r);
bool ms_compare_verdict_make(ms_compare_view *view);

const char *ms_compare_row_name(const ms_compare_row *row, char text[MS_ROW_TEXT]);

#endif
