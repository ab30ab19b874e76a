/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The problem. Layers that are alike under every option form a segment; a block is an option in a
 * segment, and its column says how many layers have it.
 *
 * The order of a segment's blocks. While backward runs, each layer takes memory for its peak and
 * leaves the level changed. To keep the highest level low, those that lower it come first, smallest
 * peak first, then those that raise it, largest (peak - change) first. This is the best order for
 * any counts, so the counts are all there is to choose. Backward begins behind the last layer.
 *
 * What each of the blocks may need is in cost_levels.c.
 */
#include "decide/plan/choose/cost_problem.h"

#include <math.h>

#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/choose/cost_queues.h"
#include "decide/plan/solver/problem.h"

/* ---- bytes that a layer adds to the level ---- */

/* After forward. */
static inline double ms_layer_saved_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)ms_layer_saved(c, m);
}

/* Before the end of forward, while autocast's copies exist. */
static inline double ms_layer_made_bytes(const ms_layer_cost *c, uint32_t m)
{
    return ms_layer_saved_bytes(c, m) + (double)c->bytes[m].forward_late;
}

/* At the peak of its backward, including tensors fetched from the host. */
static inline double ms_layer_backward_peak_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_peak + (double)c->sent_bytes;
}

/* After its backward. */
static inline double ms_layer_backward_change_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_end + (double)c->sent_bytes;
}

/* ---- cost levels ---- */

/* Rows: the highest level of the loss, forward and backward; of each block's backward at the
 * layer where the level is highest; of the end of backward. A block's own peak counts only if
 * the block is used, which a binary column states. Rows are never too strict, so the bound
 * holds; where they are not strict enough (forward inside a layer; tensors fetched from the
 * host for the next block), the recount in whole bytes detects it. Few of the blocks' rows are
 * binding, and each has a term for every block. So the problem begins without them, and rows
 * that its solution violates are added: omitting rows only lowers the bound. */

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

/* Adds constraints for the loss, for the end of backward, and for the levels of the blocks' active
 * rows. */
static void cost_levels_add(ms_cost_problem *p)
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

/* ---- cost links ---- */

/* The rows of a cost model's problem for what the step waits for copies of layers. A problem
 * that counts layers does not know their order, so its waiting is at most the step's: - the
 * copies of a run of segments have the time that those layers compute, and the layer above
 * them, beside which they must end; what is longer is waited for; - a layer's own copies have
 * the rest of its pass and the longest that the layer above may take. These sums add up:
 * beside each other, layers whose copies are longer than that share no window more than once,
 * and others are further apart. A copy that is waited for at once is computing time, and
 * leaves the link to itself. */

static bool has_copies(const ms_cost_problem *p)
{
    for (uint32_t i = 0; i < p->block_count; i++)
        if (p->blocks[i].cost->sent_bytes > 0)
            return true;
    return false;
}

/* Columns for the waiting in each pass of each micro-step, and their rows. */
static void cost_links_add_columns(ms_cost_problem *p)
{
    p->has_waits = p->costs->has_exact_waits && has_copies(p);
    double weight = p->task->aim == MS_LEAST_TIME ? 1 : 1e-6;
    for (uint32_t m = 0; m < p->costs->micro_steps && p->has_waits; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++)
            p->wait_columns[m][pass] =
                ms_problem_column(&p->problem, (ms_problem_bounds){0, INFINITY},
                                  p->costs->repeats[m] * weight, false);
}

/* The longest that a layer of the segment computes. */
static double longest(const ms_cost_problem *p, uint32_t segment, uint32_t m, ms_cost_pass pass)
{
    double most = 0;
    for (uint32_t i = 0; i < p->block_count; i++)
        if (p->blocks[i].segment == segment)
            most = fmax(most, ms_layer_pass_times(p->blocks[i].cost, m, pass).compute_ms);
    return most;
}

/* sum (link - compute) - wait <= what the layer above computes, over segments first .. last */
static void add_range_row(ms_cost_problem *p, uint32_t first, uint32_t last, uint32_t m,
                          ms_cost_pass pass)
{
    double above = last + 1 < p->costs->segment_count ? longest(p, last + 1, m, pass) : 0;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, above});
    ms_problem_term(&p->problem, p->wait_columns[m][pass], -1);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        if (b->segment < first || b->segment > last)
            continue;
        ms_pass_times t = ms_layer_pass_times(b->cost, m, pass);
        ms_problem_term(&p->problem, b->count_column, t.link_ms - t.compute_ms);
    }
}

/* sum of what each layer waits for its own copies at the least - wait <= 0 */
static void add_own_row(ms_cost_problem *p, uint32_t m, ms_cost_pass pass)
{
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 0});
    ms_problem_term(&p->problem, p->wait_columns[m][pass], -1);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        bool is_last = b->segment + 1 == p->costs->segment_count;
        double above = longest(p, b->segment, m, pass);
        above = fmax(above, is_last ? 0 : longest(p, b->segment + 1, m, pass));
        ms_pass_times t = ms_layer_pass_times(b->cost, m, pass);
        double wait = t.link_ms - t.own_ms - above;
        if (wait > 0)
            ms_problem_term(&p->problem, b->count_column, wait);
    }
}

/* With more segments only ranges that begin or end with all of them, and single ones. */
enum { FEW_SEGMENTS = 6 };

static void cost_links_add_rows(ms_cost_problem *p)
{
    const uint32_t count = p->costs->segment_count;
    for (uint32_t m = 0; m < p->costs->micro_steps && p->has_waits; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++) {
            for (uint32_t s = 0; s < count; s++)
                for (uint32_t t = s; t < count; t++)
                    if (count <= FEW_SEGMENTS || s == 0 || t + 1 == count || s == t)
                        add_range_row(p, s, t, m, (ms_cost_pass)pass);
            add_own_row(p, m, (ms_cost_pass)pass);
        }
    ms_cost_queues_add_rows(p);
}

/* ---- blocks ---- */

static bool is_dominated(const ms_layer_cost *x, const ms_layer_cost *y, const ms_cost_model *costs)
{
    if (ms_layer_least_ms(costs, y) > ms_layer_least_ms(costs, x) || y->ms > x->ms ||
        y->host_bytes > x->host_bytes || y->sent_bytes > x->sent_bytes)
        return false;
    for (uint32_t m = 0; m < costs->micro_steps; m++)
        if (ms_layer_made_bytes(y, m) > ms_layer_made_bytes(x, m) ||
            ms_layer_saved_bytes(y, m) > ms_layer_saved_bytes(x, m) ||
            ms_layer_saved_bytes(y, m) + ms_layer_backward_change_bytes(y, m) >
                ms_layer_saved_bytes(x, m) + ms_layer_backward_change_bytes(x, m) ||
            ms_layer_backward_peak_bytes(y, m) + ms_layer_saved_bytes(y, m) >
                ms_layer_backward_peak_bytes(x, m) + ms_layer_saved_bytes(x, m) ||
            ms_layer_backward_peak_bytes(y, m) > ms_layer_backward_peak_bytes(x, m) ||
            y->bytes[m].forward_peak > x->bytes[m].forward_peak)
            return false;
    return true;
}

/* Whether another option of the segment is as good in every way; of equals the first stays. */
static bool is_useless(const ms_cost_problem *p, uint32_t option, uint32_t layer)
{
    const ms_cost_option *options = p->costs->options;
    const ms_layer_cost *x = &options[option].layers[layer];
    for (uint32_t o = 0; o < p->costs->option_count; o++) {
        const ms_layer_cost *y = &options[o].layers[layer];
        if (o == option || !ms_treatment_allowed(&options[o].treatment, p->task->techniques) ||
            options[o].fixed_bytes > options[option].fixed_bytes ||
            options[o].shared_bytes > options[option].shared_bytes)
            continue;
        if (is_dominated(x, y, p->costs) && (o < option || !is_dominated(y, x, p->costs)))
            return true;
    }
    return false;
}

/* Backward takes `a` before `b`: see above. The cost model has them the other way round. */
static int in_backward_order(const ms_layer_cost *a, const ms_layer_cost *b, uint32_t m)
{
    double change_a = ms_layer_backward_change_bytes(a, m),
           change_b = ms_layer_backward_change_bytes(b, m);
    bool falls_a = change_a <= 0, falls_b = change_b <= 0;
    if (falls_a != falls_b)
        return falls_a ? -1 : 1;
    double key_a = falls_a ? ms_layer_backward_peak_bytes(a, m)
                           : change_a - ms_layer_backward_peak_bytes(a, m);
    double key_b = falls_b ? ms_layer_backward_peak_bytes(b, m)
                           : change_b - ms_layer_backward_peak_bytes(b, m);
    return key_a < key_b ? -1 : key_a > key_b;
}

static void sort_segment(ms_cost_block *blocks, uint32_t count, uint32_t m)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && in_backward_order(blocks[k - 1].cost, blocks[k].cost, m) < 0;
             k--) {
            ms_cost_block swap = blocks[k];
            blocks[k] = blocks[k - 1];
            blocks[k - 1] = swap;
        }
}

ms_status ms_cost_problem_begin(ms_arena *arena, const ms_choose_task *task, ms_cost_problem *p,
                                ms_error *err)
{
    const ms_cost_model *costs = task->costs;
    *p = (ms_cost_problem){.task = task, .costs = costs};
    p->blocks =
        ms_arena_array(arena, ms_cost_block, (size_t)costs->segment_count * costs->option_count);
    if (!p->blocks)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's blocks");
    for (uint32_t s = 0; s < costs->segment_count; s++) {
        uint32_t first = costs->segments[s], start = p->block_count;
        uint32_t middle = first + (costs->segments[s + 1] - first) / 2;
        for (uint32_t o = 0; o < costs->option_count; o++)
            if (ms_treatment_allowed(&costs->options[o].treatment, p->task->techniques) &&
                !is_useless(p, o, middle))
                p->blocks[p->block_count++] =
                    (ms_cost_block){.segment = s,
                                    .option = o,
                                    .size = costs->segments[s + 1] - first,
                                    .cost = &costs->options[o].layers[middle]};
        sort_segment(p->blocks + start, p->block_count - start, costs->micro_steps - 1);
    }
    return MS_OK;
}

/* ---- columns ---- */

static double cost_of(const ms_cost_problem *p, double ms)
{
    return p->task->aim == MS_LEAST_TIME ? ms : ms * 1e-6; /* of equal peaks the faster */
}

static uint32_t add_binary(ms_problem *q)
{
    return ms_problem_column(q, (ms_problem_bounds){0, 1}, 0, true);
}

static void add_block_columns(ms_cost_problem *p, ms_cost_block *b)
{
    ms_problem *q = &p->problem;
    b->count_column = ms_problem_column(
        q, (ms_problem_bounds){0, b->size},
        cost_of(p, ms_layer_least_ms(p->costs, b->cost) + ms_choose_effort(p->task, b->cost)),
        true);
    bool is_one = b->size == 1, sends = !is_one && b->cost->sent_bytes > 0;
    bool is_needed = b->rows || p->costs->options[b->option].fixed_bytes > 0;
    b->used_column = is_one ? b->count_column : is_needed ? add_binary(q) : MS_NONE;
    b->several_column = sends && b->rows ? add_binary(q) : MS_NONE;
}

static void add_columns(ms_cost_problem *p)
{
    double most_fixed = 0;
    for (uint32_t i = 0; i < p->block_count; i++) {
        add_block_columns(p, &p->blocks[i]);
        most_fixed = fmax(most_fixed, (double)p->costs->options[p->blocks[i].option].fixed_bytes);
    }
    for (uint32_t l = 0; l < p->costs->loss_count; l++) {
        p->loss_columns[l] =
            ms_problem_column(&p->problem, (ms_problem_bounds){0, ms_loss_allowed(p->task, l)},
                              cost_of(p, p->costs->losses[l].ms), true);
        most_fixed = fmax(most_fixed, (double)p->costs->losses[l].fixed_bytes);
    }
    p->may_have_fixed = most_fixed > 0;
    p->fixed_column =
        ms_problem_column(&p->problem, (ms_problem_bounds){0, most_fixed / MS_MIB}, 0, false);
    p->peak_column = ms_problem_column(&p->problem, (ms_problem_bounds){0, INFINITY},
                                       p->task->aim == MS_LEAST_PEAK, false);
    cost_links_add_columns(p);
}

/* ---- rows ---- */

/* Every layer of a segment has one option. */
static void add_segment_rows(ms_cost_problem *p)
{
    for (uint32_t s = 0; s < p->costs->segment_count; s++) {
        double size = p->costs->segments[s + 1] - p->costs->segments[s];
        ms_problem_row(&p->problem, (ms_problem_bounds){size, size});
        for (uint32_t i = 0; i < p->block_count; i++)
            if (p->blocks[i].segment == s)
                ms_problem_term(&p->problem, p->blocks[i].count_column, 1);
    }
    ms_problem_row(&p->problem, (ms_problem_bounds){1, 1});
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        ms_problem_term(&p->problem, p->loss_columns[l], 1);
}

/* count <= size * used; count <= 1 + (size - 1) * several */
static void add_use_rows(ms_cost_problem *p, const ms_cost_block *b)
{
    if (b->size == 1 || b->used_column == MS_NONE)
        return;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 0});
    ms_problem_term(&p->problem, b->count_column, 1);
    ms_problem_term(&p->problem, b->used_column, -(double)b->size);
    if (b->several_column == MS_NONE)
        return;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 1});
    ms_problem_term(&p->problem, b->count_column, 1);
    ms_problem_term(&p->problem, b->several_column, 1 - (double)b->size);
}

/* fixed >= what each option in use brings */
static void add_fixed_rows(ms_cost_problem *p)
{
    for (uint32_t i = 0; i < p->block_count && p->may_have_fixed; i++) {
        double fixed = (double)p->costs->options[p->blocks[i].option].fixed_bytes / MS_MIB;
        if (fixed <= 0)
            continue;
        ms_problem_row(&p->problem, (ms_problem_bounds){0, INFINITY});
        ms_problem_term(&p->problem, p->fixed_column, 1);
        ms_problem_term(&p->problem, p->blocks[i].used_column, -fixed);
    }
    for (uint32_t l = 1; l < p->costs->loss_count && p->may_have_fixed; l++) {
        double fixed = (double)p->costs->losses[l].fixed_bytes / MS_MIB;
        if (fixed <= 0)
            continue;
        ms_problem_row(&p->problem, (ms_problem_bounds){0, INFINITY});
        ms_problem_term(&p->problem, p->fixed_column, 1);
        ms_problem_term(&p->problem, p->loss_columns[l], -fixed);
    }
}

void ms_cost_problem_build(ms_cost_problem *p)
{
    ms_problem_free(&p->problem);
    p->problem = (ms_problem){0};
    add_columns(p);
    add_segment_rows(p);
    for (uint32_t i = 0; i < p->block_count; i++)
        add_use_rows(p, &p->blocks[i]);
    add_fixed_rows(p);
    cost_links_add_rows(p);
    cost_levels_add(p);
}

/* ---- back to layers ---- */

void ms_cost_problem_read(const ms_cost_problem *p, const ms_solution *solution,
                          ms_assignment *assignment)
{
    uint32_t layer = 0;
    double sum = 0; /* of the segment's counts so far */
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        uint32_t first = p->costs->segments[b->segment], end = p->costs->segments[b->segment + 1];
        sum = i > 0 && p->blocks[i - 1].segment == b->segment ? sum : 0;
        sum += solution->values[b->count_column];
        while (layer < end && layer < first + sum - 0.5)
            assignment->options[layer++] = b->option;
    }
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        if (solution->values[p->loss_columns[l]] > 0.5)
            assignment->loss = l;
}

double ms_cost_block_price(const ms_cost_block *b, const ms_solution *relaxed)
{
    double price = fmax(relaxed->prices[b->count_column], 0);
    if (b->used_column != MS_NONE && b->used_column != b->count_column)
        price += fmax(relaxed->prices[b->used_column], 0);
    return price;
}
