/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of a comparison.
 */
#ifndef MS_COMPARE_COMPARE_ROWS_H
#define MS_COMPARE_COMPARE_ROWS_H

#include "compare/compare_view.h"

/* Parts of it, each in a file of its own. */
bool ms_compare_rows_make(ms_compare_view *view);
/* b - a, as far as it can be represented. */
int64_t ms_compare_residual(uint64_t a, uint64_t b);

#endif
