/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Walks the modules in the order of forward: either a module is a unit, and the walk continues
 * after it, or it is not, and the walk continues inside. Backward meets the units in reverse. While
 * a unit computes, forward gathers the next; backward gathers the next and scatters the gradients
 * of the one before. Communication that takes longer than the computation is exposed, and so are
 * the first gather, the last scatter and both of the root, which has all parameters of no other
 * unit.
 *
 * A state is a walk up to a module. Only the last two units matter to what follows; among states
 * equal in these and in the module, dominated ones are dropped.
 */
#include "decide/plan/modules/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decide/plan/modules/candidates.h"

#define NONE UINT32_MAX
/* Sums in another order differ by less. */
#define NOISE (1 + 1e-12)
enum { CLOCK_STATES = 256, MOST_GUESSES = 8 };

typedef struct state {
    double exposed_ms;                /* without the root's */
    uint64_t param_bytes, grad_bytes; /* of the units */
    uint64_t need_bytes, largest_bytes;
    uint32_t last, before_last; /* units */
    uint32_t parent;            /* the state when `last` was not yet a unit */
    uint32_t next;              /* at the same module */
} state;

typedef struct search {
    const ms_shard_task *task;
    ms_shard_plan *plan; /* the best so far */
    bool has_plan, is_late;
    ms_deadline limit;
    uint64_t *params_ahead, *grads_ahead; /* by module: the most that units from there on hold */
    uint64_t *base;       /* bytes at the peak of a module's backward without any parameters */
    uint64_t *inner_base; /* the most of them in it and its descendants */
    uint32_t *at;         /* by module, and one at the end: first state */
    ms_vec(state) states;
    bool no_memory;
} search;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the units");
}

static const ms_module *module_of(const search *s, uint32_t index)
{
    return &s->task->graph->modules[index];
}

static double transfer_ms(const search *s, uint64_t bytes)
{
    return s->task->latency_ms + (double)bytes / s->task->bytes_per_ms;
}

static double gather_ms(const search *s, uint32_t unit)
{
    return unit == NONE ? 0 : transfer_ms(s, module_of(s, unit)->param_bytes);
}

static double scatter_ms(const search *s, uint32_t unit)
{
    return unit == NONE ? 0 : transfer_ms(s, module_of(s, unit)->grad_bytes);
}

static double over(double transfers_ms, double computing_ms)
{
    return transfers_ms > computing_ms ? transfers_ms - computing_ms : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t rest_of(uint64_t all, uint64_t in_units)
{
    return all > in_units ? all - in_units : 0;
}

/* ---- the cost of a state when nothing more becomes a unit ---- */

static double total_ms(const search *s, const state *x)
{
    const ms_module *root = module_of(s, 0);
    double ms = x->exposed_ms;
    if (x->last != NONE)
        ms += over(gather_ms(s, x->before_last), module_of(s, x->last)->backward_ms);
    return ms + transfer_ms(s, rest_of(root->param_bytes, x->param_bytes)) +
           transfer_ms(s, rest_of(root->grad_bytes, x->grad_bytes));
}

static uint64_t peak_of(const search *s, const state *x)
{
    const ms_module *root = module_of(s, 0);
    uint64_t params = rest_of(root->param_bytes, x->param_bytes);
    uint64_t grads = rest_of(root->grad_bytes, x->grad_bytes);
    return x->need_bytes + params + grads + 2 * larger(x->largest_bytes, params);
}

/* ---- steps ---- */

/* 1: a is no worse than b in anything. */
static bool covers(const state *a, const state *b)
{
    return a->exposed_ms <= b->exposed_ms && a->param_bytes >= b->param_bytes &&
           a->grad_bytes >= b->grad_bytes && a->need_bytes <= b->need_bytes &&
           a->largest_bytes <= b->largest_bytes;
}

/* Whether the best that can still come of it is over the budget, or worse than the best so far. */
static bool is_hopeless(const search *s, uint32_t module, const state *x)
{
    state best = *x;
    best.param_bytes += s->params_ahead[module];
    best.grad_bytes += s->grads_ahead[module];
    if (peak_of(s, &best) > s->task->budget_bytes)
        return true;
    best.last = NONE; /* what it will show is not known */
    return s->has_plan && total_ms(s, &best) > s->plan->exposed_ms * NOISE;
}

static void look_at_clock(search *s)
{
    if (s->states.count % CLOCK_STATES == 0)
        s->is_late |= ms_deadline_reached(&s->limit);
}

static void add(search *s, uint32_t module, state x)
{
    if (is_hopeless(s, module, &x))
        return;
    for (uint32_t *link = &s->at[module]; *link != NONE;) {
        state *y = &s->states.items[*link];
        bool is_rival = y->last == x.last && y->before_last == x.before_last;
        if (is_rival && covers(y, &x))
            return;
        if (is_rival && covers(&x, y))
            *link = y->next;
        else
            link = &y->next;
    }
    x.next = s->at[module];
    look_at_clock(s);
    s->is_late |= s->states.count >= MS_SHARDS_MAX_STATES;
    if (s->is_late)
        return;
    if (!ms_vec_push(&s->states, x))
        s->no_memory = true;
    else
        s->at[module] = s->states.count - 1;
}

static void pass(search *s, uint32_t module, uint32_t from)
{
    state x = s->states.items[from];
    x.need_bytes = larger(x.need_bytes, s->base[module]);
    add(s, module + 1, x);
}

static void take(search *s, uint32_t module, uint32_t from)
{
    const ms_module *m = module_of(s, module);
    state x = s->states.items[from];
    if (x.last == NONE)
        x.exposed_ms += gather_ms(s, module) + scatter_ms(s, module);
    else
        x.exposed_ms += over(gather_ms(s, module), module_of(s, x.last)->forward_ms) +
                        over(gather_ms(s, x.before_last) + scatter_ms(s, module),
                             module_of(s, x.last)->backward_ms);
    x.param_bytes += m->param_bytes;
    x.grad_bytes += m->grad_bytes;
    x.need_bytes = larger(x.need_bytes, s->inner_base[module] + m->param_bytes + m->grad_bytes);
    x.largest_bytes = larger(x.largest_bytes, m->param_bytes);
    x.before_last = x.last;
    x.last = module;
    x.parent = from;
    add(s, m->after, x);
}

static void choose(search *s)
{
    ms_shard_plan *plan = s->plan;
    uint32_t best = NONE, count = s->task->graph->count;
    for (uint32_t i = s->at[count]; i != NONE; i = s->states.items[i].next) {
        const state *x = &s->states.items[i];
        double ms = total_ms(s, x);
        uint64_t peak = peak_of(s, x);
        bool is_better = !s->has_plan || ms < plan->exposed_ms ||
                         (ms <= plan->exposed_ms && peak < plan->peak_bytes);
        if (peak > s->task->budget_bytes || !is_better)
            continue;
        best = i;
        s->has_plan = true;
        plan->exposed_ms = ms;
        plan->peak_bytes = peak;
    }
    if (best == NONE)
        return;
    memset(plan->units, 0, count * sizeof *plan->units);
    plan->units[0] = true;
    for (; s->states.items[best].last != NONE; best = s->states.items[best].parent)
        plan->units[s->states.items[best].last] = true;
}

static void walk(search *s, const bool *fixed)
{
    const ms_graph *g = s->task->graph;
    s->states.count = 0;
    for (uint32_t i = 0; i <= g->count; i++)
        s->at[i] = NONE;
    add(s, 1, (state){.need_bytes = s->base[0], .last = NONE, .before_last = NONE, .parent = NONE});
    for (uint32_t i = 1; i < g->count && !s->no_memory; i++)
        for (uint32_t from = s->at[i]; from != NONE && !s->is_late;
             from = s->states.items[from].next) {
            if (!fixed || !fixed[i])
                pass(s, i, from);
            if (fixed ? fixed[i] : g->modules[i].param_bytes > 0)
                take(s, i, from);
        }
    choose(s);
}

/* Units all at one depth, for something to beat; then any. */
static void search_all(search *s, bool *guess)
{
    const ms_graph *g = s->task->graph;
    for (uint32_t wanted = 1; wanted <= MOST_GUESSES && !s->no_memory; wanted++) {
        bool is_deep = false;
        for (uint32_t i = 1; i < g->count; i++) {
            uint32_t depth = 0;
            for (uint32_t a = i; a != 0 && depth <= wanted; a = g->modules[a].parent)
                depth++;
            bool is_last = g->modules[i].after == i + 1 && depth < wanted;
            is_deep |= depth == wanted;
            guess[i] = (depth == wanted || is_last) && g->modules[i].param_bytes > 0;
        }
        if (!is_deep)
            break;
        walk(s, guess);
    }
    walk(s, NULL);
}

/* ---- preparing ---- */

/* Backward must enter modules in the reverse order of forward. */
static ms_status check_reverse(const ms_graph *g, ms_error *err)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const ms_module *m = &g->modules[i];
        const ms_module *parent = i > 0 ? &g->modules[m->parent] : NULL;
        uint32_t expected = parent ? parent->entered_backward + 1 + (parent->after - m->after) : 0;
        if (m->entered_backward != expected)
            return ms_fail(err, MS_ERR_CONFIG,
                           "bw_pre_order is not the reverse of forward at module \"%.100s\"",
                           m->fqn);
    }
    return MS_OK;
}

static ms_status check_nesting(const ms_shard_task *task, ms_error *err)
{
    const ms_graph *g = task->graph;
    for (uint32_t i = 1; task->fixed && i < g->count; i++)
        for (uint32_t a = g->modules[i].parent; task->fixed[i] && a != 0; a = g->modules[a].parent)
            if (task->fixed[a])
                return ms_fail(err, MS_ERR_USAGE, "fsdp-units: %.100s is inside %.100s",
                               g->modules[i].fqn, g->modules[a].fqn);
    return MS_OK;
}

static ms_status prepare(search *s, ms_arena *arena, ms_shard_plan *plan, ms_error *err)
{
    const ms_graph *g = s->task->graph;
    s->base = ms_arena_array(arena, uint64_t, g->count);
    s->inner_base = ms_arena_array(arena, uint64_t, g->count);
    s->at = ms_arena_array(arena, uint32_t, g->count + (size_t)1);
    plan->units = ms_arena_array(arena, bool, g->count);
    s->params_ahead = ms_arena_array(arena, uint64_t, g->count + (size_t)1);
    s->grads_ahead = ms_arena_array(arena, uint64_t, g->count + (size_t)1);
    if (!s->base || !s->inner_base || !s->at || !plan->units || !s->params_ahead || !s->grads_ahead)
        return no_memory(err);
    ms_checkpoint_task kept = {.graph = g, .world_size = s->task->world_size};
    for (uint32_t i = g->count; i-- > 0;) {
        const ms_module *m = &g->modules[i];
        s->params_ahead[i] =
            larger(s->params_ahead[i + 1], m->param_bytes + s->params_ahead[m->after]);
        s->grads_ahead[i] = larger(s->grads_ahead[i + 1], m->grad_bytes + s->grads_ahead[m->after]);
        s->base[i] = ms_checkpoint_kept_bytes(&kept, i);
        s->inner_base[i] = larger(s->inner_base[i], s->base[i]);
        if (i > 0) {
            uint64_t *outer = &s->inner_base[g->modules[i].parent];
            *outer = larger(*outer, s->inner_base[i]);
        }
    }
    ms_status status = check_reverse(g, err);
    return status == MS_OK ? check_nesting(s->task, err) : status;
}

ms_status ms_shards_plan(ms_arena *arena, const ms_shard_task *task, ms_shard_plan *plan,
                         ms_error *err)
{
    *plan = (ms_shard_plan){.outcome = MS_PLAN_INFEASIBLE};
    search s = {.task = task, .plan = plan};
    ms_status status = prepare(&s, arena, plan, err);
    bool *guess = ms_arena_array(arena, bool, task->graph->count);
    if (status == MS_OK && (!guess || !ms_vec_reserve(&s.states)))
        status = no_memory(err);
    if (status == MS_OK) {
        s.limit = ms_deadline_begin(task->time_limit_s, task->stop);
        if (task->fixed)
            walk(&s, task->fixed);
        else
            search_all(&s, guess);
        if (s.no_memory)
            status = no_memory(err);
        plan->outcome = s.is_late && ms_deadline_stopped(&s.limit) ? MS_PLAN_STOPPED
                        : s.is_late                                ? MS_PLAN_LIMIT
                        : s.has_plan                               ? MS_PLAN_OPTIMAL
                                                                   : MS_PLAN_INFEASIBLE;
    }
    ms_vec_free(&s.states);
    return status;
}
