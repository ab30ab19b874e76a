/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two steps side by side.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_H
#define MS_DECIDE_COMPARE_COMPARE_H

#include "decide/compare/compare_view.h"

/* Works out everything that a view has. Borrows both, and puts texts into the arena. */
ms_status ms_compare_view_make(ms_arena *arena, const ms_recorded *first, const ms_recorded *second,
                               ms_compare_view *view, ms_error *err);

#endif
