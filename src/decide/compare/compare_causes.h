/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names ordinary causes of a difference: what both reports say of how the step was run, where the
 * figures show it.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_CAUSES_H
#define MS_DECIDE_COMPARE_COMPARE_CAUSES_H

#include "decide/compare/compare_view.h"

/* Fills the causes of a view that has tables and a residual. False when out of memory. */
bool ms_compare_causes_find(ms_compare_view *view);

#endif
