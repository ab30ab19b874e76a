/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which items to put in a knapsack: exact, for weights and values that need not be integers.
 */
#ifndef MS_PLAN_SOLVER_KNAPSACK_H
#define MS_PLAN_SOLVER_KNAPSACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limit.h"

typedef struct ms_item {
    double weight, value; /* not negative */
} ms_item;

enum { MS_KNAPSACK_MAX_STATES = 4 << 20 };

/* Sets `taken` for a set of items that is worth most; of equal sets, one that prefers value by
 * weight and then items in front. What is worth nothing stays out. `is_proven` is false when a
 * proof wants more than MS_KNAPSACK_MAX_STATES states, or when `stop`, which may be NULL, is set;
 * then the set is a good one. */
ms_status ms_knapsack(const ms_item *items, uint32_t count, double capacity, const ms_stop *stop,
                      bool *taken, bool *is_proven, ms_error *err);

#endif
