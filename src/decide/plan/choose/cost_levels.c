/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows: the highest level of the loss, forward and backward; of each block's backward at the layer
 * where the level is highest; of the end of backward. A block's own peak counts only if the block
 * is used, which a binary column states. Rows are never too strict, so the bound holds; where they
 * are not strict enough (forward inside a layer; tensors fetched from the host for the next block),
 * the recount in whole bytes detects it.
 *
 * Few of the blocks' rows are binding, and each has a term for every block. So the problem begins
 * without them, and rows that its solution violates are added: omitting rows only lowers the bound.
 */
#include "decide/plan/choose/cost_levels.h"

#include <math.h>

#include "decide/plan/solver/problem.h"

/* Of sums in MiB, so that what fits to the byte is not refused. */
static const double rounding = 1e-4;
/* How many are added at a time. */
enum { MOST_ADDED = 8 };

/* What a level has in addition to the layers, for each way to compute the loss. */
typedef int64_t constants[MS_COST_MOST_LOSSES];

/* Begins a row "level <= limit", with what depends on the loss. */
static void begin_level(ms_cost_problem *p, uint64_t limit_bytes, const int64_t *ends)
{
    bool limited = p->task->aim == MS_LEAST_TIME;
    double limit = limited ? (double)limit_bytes / MS_MIB + rounding : 0;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, limit});
    if (!limited)
        ms_problem_term(&p->problem, p->peak_column, -1);
    if (p->may_have_fixed)
        ms_problem_term(&p->problem, p->fixed_column, 1);
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        ms_problem_term(&p->problem, p->loss_columns[l], (double)ends[l] / MS_MIB);
}

/* ---- sums over all layers ---- */

typedef double (*layer_term)(const ms_layer_cost *cost, uint32_t m);

static double left(const ms_layer_cost *c, uint32_t m)
{
    return ms_layer_saved_bytes(c, m) + ms_layer_backward_change_bytes(c, m);
}

static void add_sum_row(ms_cost_problem *p, uint32_t m, uint64_t limit_bytes, const int64_t *ends,
                        layer_term term)
{
    begin_level(p, limit_bytes, ends);
    for (uint32_t i = 0; i < p->block_count; i++)
        ms_problem_term(&p->problem, p->blocks[i].count_column,
                        term(p->blocks[i].cost, m) / MS_MIB);
}

static void add_sum_rows(ms_cost_problem *p, uint32_t m)
{
    constants loss = {0}, loss_backward = {0}, after = {0};
    for (uint32_t l = 0; l < p->costs->loss_count; l++) {
        const ms_outer_cost *ends = &p->costs->losses[l];
        loss[l] = ends->loss_peak[m];
        loss_backward[l] = ends->loss_backward_peak[m];
        after[l] = ends->after_peak[m];
    }
    uint64_t limit = p->task->limit_bytes, loss_limit = p->task->loss_limit_bytes;
    loss_limit = loss_limit < limit ? loss_limit : limit;
    add_sum_row(p, m, loss_limit, loss, ms_layer_made_bytes);
    add_sum_row(p, m, loss_limit, loss_backward, ms_layer_saved_bytes);
    add_sum_row(p, m, limit, after, left);
}

/* ---- a block's backward ---- */

/* The level while block `at` runs backward, at its last layer (which comes first) or at its first.
 */
typedef struct level {
    uint32_t m, at;
    bool at_first;
} level;

_Static_assert(2 * MS_COST_MICRO_STEPS <= 8, "a block has as many rows as an uint8_t has bits");

static uint8_t bit_of(const level *l)
{
    return (uint8_t)(1u << (2 * l->m + l->at_first));
}

/* Where a block raises the level as it goes on, its first layer sees the highest. */
static bool has_level(const ms_cost_problem *p, const level *l)
{
    const ms_cost_block *b = &p->blocks[l->at];
    return !l->at_first || (b->size > 1 && ms_layer_backward_change_bytes(b->cost, l->m) > 0);
}

/* What the block takes at its peak, in addition to all of its layers. */
static double once(const ms_cost_problem *p, const level *l)
{
    const ms_layer_cost *cost = p->blocks[l->at].cost;
    double peak = ms_layer_backward_peak_bytes(cost, l->m);
    return l->at_first ? peak - ms_layer_backward_change_bytes(cost, l->m) : peak;
}

/* What each layer of block `i` adds, be it that it has run backward or that it has not. */
static double each(const ms_cost_problem *p, const level *l, uint32_t i)
{
    const ms_layer_cost *cost = p->blocks[i].cost;
    bool has_run = i > l->at || (i == l->at && l->at_first);
    return ms_layer_saved_bytes(cost, l->m) +
           (has_run ? ms_layer_backward_change_bytes(cost, l->m) : 0);
}

static void set_ends(const ms_cost_problem *p, uint32_t m, int64_t *ends)
{
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        ends[l] = p->costs->losses[l].before_backward[m];
}

static void add_level(ms_cost_problem *p, const level *l)
{
    const ms_cost_block *own = &p->blocks[l->at];
    constants ends = {0};
    set_ends(p, l->m, ends);
    begin_level(p, p->task->limit_bytes, ends);
    for (uint32_t i = 0; i < p->block_count; i++) {
        bool is_one = i == l->at && own->used_column == own->count_column;
        ms_problem_term(&p->problem, p->blocks[i].count_column,
                        (each(p, l, i) + (is_one ? once(p, l) : 0)) / MS_MIB);
    }
    if (own->used_column != own->count_column)
        ms_problem_term(&p->problem, own->used_column, once(p, l) / MS_MIB);
    if (own->several_column != MS_NONE && !l->at_first)
        ms_problem_term(&p->problem, own->several_column, (double)own->cost->sent_bytes / MS_MIB);
}

void ms_cost_levels_add(ms_cost_problem *p)
{
    for (uint32_t m = 0; m < p->costs->micro_steps; m++) {
        add_sum_rows(p, m);
        for (uint32_t i = 0; i < 2 * p->block_count; i++) {
            const level l = {m, i / 2, i % 2};
            if (p->blocks[l.at].rows & bit_of(&l))
                add_level(p, &l);
        }
    }
}

/* ---- rows that a solution does not meet ---- */

typedef struct unmet {
    uint32_t count;
    level levels[MOST_ADDED];
    double excess[MOST_ADDED]; /* MiB */
} unmet;

/* The levels that are exceeded most stay. */
static void offer(unmet *u, const level *l, double excess)
{
    uint32_t at = u->count, least = 0;
    if (u->count < MOST_ADDED) {
        u->count++;
    } else {
        for (uint32_t i = 1; i < MOST_ADDED; i++)
            least = u->excess[i] < u->excess[least] ? i : least;
        if (u->excess[least] >= excess)
            return;
        at = least;
    }
    u->levels[at] = *l;
    u->excess[at] = excess;
}

/* Of what is outside the layers, over the limit: MiB. */
static double excess_outside(const ms_cost_problem *p, uint32_t m, const double *values)
{
    constants ends = {0};
    set_ends(p, m, ends);
    bool limited = p->task->aim == MS_LEAST_TIME;
    double sum = values[p->fixed_column] -
                 (limited ? (double)p->task->limit_bytes / MS_MIB : values[p->peak_column]);
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        sum += values[p->loss_columns[l]] * (double)ends[l] / MS_MIB;
    return sum;
}

/* Of what the block takes once, be its columns for that there or not: MiB. */
static double once_used(const ms_cost_problem *p, const level *l, const ms_solution *solution)
{
    const ms_cost_block *b = &p->blocks[l->at];
    double count = solution->values[b->count_column], most = b->size, used = count / most,
           several = most > 1 ? fmax(count - 1, 0) / (most - 1) : 0;
    if (!solution->prices) { /* whole layers */
        used = count > 0.5;
        several = count > 1.5;
    }
    double sum = used * once(p, l);
    if (!l->at_first)
        sum += several * (double)b->cost->sent_bytes;
    return sum / MS_MIB;
}

/* The blocks from the last to the first, as backward takes them. */
static void find_unmet(const ms_cost_problem *p, uint32_t m, const ms_solution *solution, unmet *u)
{
    const double *values = solution->values;
    double excess = excess_outside(p, m, values);
    for (uint32_t i = 0; i < p->block_count; i++)
        excess +=
            values[p->blocks[i].count_column] * ms_layer_saved_bytes(p->blocks[i].cost, m) / MS_MIB;
    for (uint32_t i = p->block_count; i-- > 0;) {
        const ms_cost_block *b = &p->blocks[i];
        double change =
            values[b->count_column] * ms_layer_backward_change_bytes(b->cost, m) / MS_MIB;
        for (uint32_t k = 0; k < 2; k++) {
            const level l = {m, i, k == 1};
            double here = excess + (l.at_first ? change : 0) + once_used(p, &l, solution);
            if (here > rounding && has_level(p, &l) && !(b->rows & bit_of(&l)))
                offer(u, &l, here);
        }
        excess += change;
    }
}

uint32_t ms_cost_levels_unmet(ms_cost_problem *p, const ms_solution *solution)
{
    unmet u = {.count = 0};
    for (uint32_t m = 0; m < p->costs->micro_steps; m++)
        find_unmet(p, m, solution, &u);
    for (uint32_t i = 0; i < u.count; i++)
        p->blocks[u.levels[i].at].rows |= bit_of(&u.levels[i]);
    return u.count;
}
