/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The knapsack problem, solved exactly, for real weights and values.
 */
#ifndef MS_DECIDE_PLAN_SOLVER_KNAPSACK_H
#define MS_DECIDE_PLAN_SOLVER_KNAPSACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/deadline.h"

typedef struct ms_item {
    double weight, value; /* not negative */
} ms_item;

enum { MS_KNAPSACK_MAX_STATES = 4 << 20 };

/* Sets `taken` to a set of items with the largest value. Among equal sets, it prefers items with
 * more value per weight, then earlier ones. Items of value 0 are not taken. `is_proven` is false
 * when a proof needs more than MS_KNAPSACK_MAX_STATES states, or when `stop`, which may be NULL, is
 * set; the set is then a good one, but possibly not the best. */
ms_status ms_knapsack(const ms_item *items, uint32_t count, double capacity, const ms_stop *stop,
                      bool *taken, bool *is_proven, ms_error *err);

#endif
