/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mixed-integer problem of a cost model: how many layers of each segment use which option.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_COST_PROBLEM_H
#define MS_DECIDE_PLAN_CHOOSE_COST_PROBLEM_H

#include "decide/plan/choose/choose.h"
#include "decide/plan/choose/cost_passes.h"

/* An option in a segment. */
typedef struct ms_cost_block {
    uint32_t segment, option, size;
    const ms_layer_cost *cost; /* of one layer */
    uint32_t count_column;
    uint32_t used_column,
        several_column; /* MS_NONE: not needed; used_column is count_column if size is 1 */
    uint8_t rows;       /* its active constraints, a bit each: see cost_levels.c */
} ms_cost_block;

typedef struct ms_cost_problem {
    const ms_choose_task *task;
    const ms_cost_model *costs;
    ms_problem problem;
    ms_cost_block *blocks; /* usable ones, in the order of the layers */
    uint32_t block_count;
    uint32_t loss_columns[MS_COST_MOST_LOSSES];
    uint32_t fixed_column, peak_column;
    bool may_have_fixed;
    bool has_waits; /* columns for waiting, in ms: see cost_links.h */
    uint32_t wait_columns[MS_COST_MICRO_STEPS][MS_COST_PASSES];
    struct ms_cost_queue *queues; /* rows for waiting: see cost_queues.h; in the arena */
    uint32_t queue_count;
} ms_cost_problem;

/* Lists the blocks, in the arena, without dominated ones. */
ms_status ms_cost_problem_begin(ms_arena *arena, const ms_choose_task *task, ms_cost_problem *p,
                                ms_error *err);
/* Rebuilds columns and rows for the blocks and their active constraints. Free p->problem. */
void ms_cost_problem_build(ms_cost_problem *p);
/* Reads an assignment from a solution; fractional counts are rounded. */
void ms_cost_problem_read(const ms_cost_problem *p, const ms_solution *solution,
                          ms_assignment *assignment);
/* A lower bound of the cost, above the relaxed problem's, of an assignment that uses this block. */
double ms_cost_block_price(const ms_cost_block *b, const ms_solution *relaxed);

/* ---- cost levels ---- */

/* The constraints of a cost problem that limit its memory level. */

/* Activates the constraints of blocks that the solution violates most. Returns how many; 0: none is
 * violated. */
uint32_t ms_cost_levels_unmet(ms_cost_problem *p, const ms_solution *solution);

#endif
