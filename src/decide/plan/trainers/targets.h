/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainers, one row each, with the names of --target.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_TARGETS_H
#define MS_DECIDE_PLAN_TRAINERS_TARGETS_H

#include "decide/plan/trainers/target.h"

/* By name, or NULL. */
const ms_target *ms_target_find(const char *name);
/* NULL past the last; the first is "free". */
const ms_target *ms_target_at(size_t index);

#endif
