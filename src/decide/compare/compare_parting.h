/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds where two timelines diverge.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_PARTING_H
#define MS_DECIDE_COMPARE_COMPARE_PARTING_H

#include "decide/compare/compare_view.h"

void ms_compare_parting_find(ms_compare_view *view);

#endif
