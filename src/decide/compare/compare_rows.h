/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of a comparison.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_ROWS_H
#define MS_DECIDE_COMPARE_COMPARE_ROWS_H

#include "decide/compare/compare_view.h"

/* False when out of memory. */
bool ms_compare_rows_make(ms_compare_view *view);
/* b - a, saturating. */
int64_t ms_compare_residual(uint64_t a, uint64_t b);

#endif
