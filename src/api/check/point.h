/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a budgets file has what went wrong.
 */
#ifndef MS_API_CHECK_POINT_H
#define MS_API_CHECK_POINT_H

#include "decide/check/budgets.h"

/* Gives an error that has no line of its own a place in the budgets file, `path`: the text of the
 * budget's run or deployment that names the error's file, otherwise `place`. */
void ms_budget_point(ms_arena *arena, const char *path, const ms_budget *b, const ms_error *place,
                     ms_error *err);

#endif
