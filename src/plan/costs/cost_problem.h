/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mixed-integer problem of a cost model: how many layers of each segment get which option.
 */
#ifndef MS_PLAN_COSTS_COST_PROBLEM_H
#define MS_PLAN_COSTS_COST_PROBLEM_H

#include "plan/costs/choose.h"

/* An option in a segment. */
typedef struct ms_cost_block {
    uint32_t segment, option, size;
    const ms_layer_cost *cost; /* of one layer */
    uint32_t count_column;
    uint32_t used_column,
        several_column; /* MS_NONE: not needed; used: the count's where size is 1 */
    uint8_t rows;       /* those of its levels that the problem has: see cost_levels.c */
} ms_cost_block;

typedef enum ms_cost_pass { MS_COST_FORWARD, MS_COST_BACKWARD, MS_COST_PASSES } ms_cost_pass;

typedef struct ms_cost_problem {
    const ms_choose_task *task;
    const ms_cost_model *costs;
    ms_problem problem;
    ms_cost_block *blocks; /* in the order of the layers; those that may be used */
    uint32_t block_count;
    uint32_t loss_columns[MS_COST_MOST_LOSSES];
    uint32_t fixed_column, peak_column;
    bool may_have_fixed;
    bool has_waits; /* columns for waiting, in ms: see cost_links.h */
    uint32_t wait_columns[MS_COST_MICRO_STEPS][MS_COST_PASSES];
} ms_cost_problem;

/* Lists the blocks, in the arena, but for those that others are better than in every way. */
ms_status ms_cost_problem_begin(ms_arena *arena, const ms_choose_task *task, ms_cost_problem *p,
                                ms_error *err);
/* Columns and rows anew, for the blocks and the rows of theirs that there are. Free p->problem. */
void ms_cost_problem_build(ms_cost_problem *p);
/* Counts that are no integers are rounded. */
void ms_cost_problem_read(const ms_cost_problem *p, const ms_solution *solution,
                          ms_assignment *assignment);
/* By how much an assignment costs more than the relaxed problem, at the least, once a layer has
 * this. */
double ms_cost_block_price(const ms_cost_block *b, const ms_solution *relaxed);

#endif
