/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing counts live bytes; the allocator needs more, how much more depends on the plan. So a
 * choice is run under the allocator with no more memory than there is; when it does not fit, the
 * limit for choosing is lowered by what the allocator wanted more, then raised by halves. What it
 * wants beside live bytes depends most on the largest tensors, and these are the loss's: each way
 * to make the loss is tried.
 */
#include "plan/search.h"

#include <math.h>

#include "base/limit.h"
#include "base/parallel.h"
#include "plan/option_list.h"

/* Attempts at lowering the limit, and halvings once something fits. */
enum { MOST_STEPS = 8, MOST_HALVINGS = 4, MOST_UNIFORM = 8 };

/* For choices on the way: nodes of the solver's search. */
enum { FEW_NODES = 600 };

static bool is_stopped(const ms_step_task *task)
{
    return ms_stop_asked(task->stop);
}

/* ---- choosing and proving ---- */

static ms_status prove(ms_search *s, const ms_stack_choice *choice, bool *yes)
{
    s->wanted_bytes = 0;
    ms_treatments treatments;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, choice, &treatments, s->err);
    s->plan->simulations++;
    return status == MS_OK ? ms_step_plan_fits(s->task->model, s->task->run, &treatments, yes,
                                               &s->wanted_bytes, s->err)
                           : status;
}

/* Keeps the choice if it fits and is faster than the best so far. */
ms_status ms_search_consider(ms_search *s, const ms_stack_choice *choice, bool *yes)
{
    ms_status status = prove(s, choice, yes);
    double ms = ms_stack_count(&s->stack, choice).step_ms;
    if (status == MS_OK && *yes && (!s->has_best || ms < s->best_ms)) {
        s->has_best = true;
        s->best = *choice;
        s->best_ms = ms;
    }
    return status;
}

ms_choose_task ms_search_task(const ms_search *s, uint64_t limit_bytes)
{
    return (ms_choose_task){.stack = &s->stack,
                            .aim = MS_LEAST_TIME,
                            .limit_bytes = limit_bytes,
                            .techniques = s->techniques,
                            .loss = s->loss,
                            .gap = s->task->gap,
                            .time_limit_s = ms_limit_left_s(&s->limit),
                            .nodes = FEW_NODES,
                            .stop = s->task->stop};
}

/* One limit: whether there is a choice, and whether it was proven to fit. What would not be the
 * best is not proven. */
static ms_status try_limit(ms_search *s, ms_chooser with, uint64_t limit_bytes, ms_chosen *chosen,
                           bool *yes)
{
    ms_choose_task task = ms_search_task(s, limit_bytes);
    if (limit_bytes == s->limit_bytes && s->loss == MS_ANY_LOSS)
        task.nodes = 0; /* the one whose bound is told */
    *yes = false;
    *chosen = (ms_chosen){0};
    s->wanted_bytes = 0;
    ms_status status = with(s->arena, &task, chosen, s->err);
    if (status != MS_OK || !chosen->has_choice)
        return status;
    ms_stack_sum sum = ms_stack_count(&s->stack, &chosen->choice);
    if (s->has_best && sum.step_ms >= s->best_ms) {
        *yes = true; /* as good as: lowering the limit further is no use */
        return MS_OK;
    }
    if (sum.peak_bytes > s->limit_bytes) {
        s->wanted_bytes = sum.peak_bytes;
        return MS_OK;
    }
    status = ms_search_consider(s, &chosen->choice, yes);
    if (status == MS_OK && *yes)
        s->is_best_proven = with == ms_choose_milp && chosen->outcome == MS_SOLVER_PROVEN;
    return status;
}

/* Lowers the limit until a choice fits, then raises it by halves. Where nothing can be chosen it
 * was lowered too far. */
static ms_status lower_limit(ms_search *s, ms_chooser with)
{
    uint64_t fails = s->limit_bytes, works = 0, too_low = 0;
    uint64_t least_step = s->limit_bytes / 400 + 1;
    ms_chosen chosen;
    bool yes = false;
    ms_status status = MS_OK;
    for (int i = 0; i < MOST_STEPS && status == MS_OK && !yes && !is_stopped(s->task); i++) {
        uint64_t step = s->wanted_bytes > s->limit_bytes ? s->wanted_bytes - s->limit_bytes : 0;
        step = step > least_step ? step : least_step;
        uint64_t limit = step < fails ? fails - step : 0;
        if (limit <= too_low)
            limit = too_low + (fails - too_low) / 2;
        if (limit == 0 || fails - too_low <= s->limit_bytes / 1000)
            break;
        status = try_limit(s, with, limit, &chosen, &yes);
        if (yes)
            works = limit;
        else if (chosen.has_choice)
            fails = limit;
        else
            too_low = limit;
        least_step *= 2;
    }
    int halvings = s->is_one_of_many ? 1 : MOST_HALVINGS;
    for (int i = 0; i < halvings && status == MS_OK && works > 0 && !is_stopped(s->task); i++) {
        uint64_t middle = works + (fails - works) / 2;
        if (fails - works <= s->limit_bytes / (s->is_one_of_many ? 100 : 1000))
            break;
        status = try_limit(s, with, middle, &chosen, &yes);
        if (yes)
            works = middle;
        else
            fails = middle;
    }
    return status;
}

static ms_status search_loss(ms_search *s, ms_chooser with, ms_chosen *first)
{
    bool yes;
    ms_status status = try_limit(s, with, s->limit_bytes, first, &yes);
    if (status == MS_OK && first->has_choice && !yes)
        status = lower_limit(s, with);
    return status;
}

ms_status ms_search_plainly(ms_search *s, ms_chooser with, ms_chosen *first)
{
    s->loss = MS_ANY_LOSS;
    return search_loss(s, with, first);
}

void ms_search_fork(const ms_search *base, const ms_step_task *task, ms_arena *arena,
                    ms_step_plan *plan, ms_error *err, ms_search *fork)
{
    *plan =
        (ms_step_plan){.budget_bytes = base->plan->budget_bytes, .keep_all = base->plan->keep_all};
    *fork = *base;
    fork->task = task;
    fork->arena = arena;
    fork->plan = plan;
    fork->err = err;
    fork->has_best = false;
    fork->is_one_of_many = true;
}

/* The search with one way to make the loss, alone in its thread. */
typedef struct branch {
    ms_search search;
    ms_step_plan plan; /* counts simulations, nothing else */
    ms_chooser with;
    ms_status status;
    ms_error err;
} branch;

static void search_branch(void *context, uint32_t index)
{
    branch *b = &((branch *)context)[index];
    ms_chosen chosen;
    b->status = search_loss(&b->search, b->with, &chosen);
}

/* The best of the branches becomes the search's. */
static ms_status join_branch(ms_search *s, const branch *b)
{
    s->plan->simulations += b->plan.simulations;
    if (b->status != MS_OK && s->err && s->err->status == MS_OK)
        *s->err = b->err;
    if (b->status != MS_OK || !b->search.has_best ||
        (s->has_best && b->search.best_ms >= s->best_ms))
        return b->status;
    s->has_best = true;
    s->best_ms = b->search.best_ms;
    s->is_best_proven = b->search.is_best_proven;
    return ms_stack_copy(s->arena, &s->stack, &b->search.best, &s->best, s->err);
}

static ms_status search_branches(ms_search *s, ms_chooser with)
{
    uint32_t count = s->techniques & MS_MAY_CHUNK_LOSS ? s->stack.loss_count : 1;
    branch branches[MS_STACK_MOST_LOSSES];
    ms_status status = MS_OK;
    for (uint32_t l = 0; l < count; l++) {
        branch *b = &branches[l];
        *b = (branch){.with = with};
        ms_search_fork(s, s->task, ms_arena_create(0), &b->plan, &b->err, &b->search);
        b->search.loss = l;
        b->search.is_one_of_many = false; /* few enough */
        if (!b->search.arena)
            status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    }
    if (status == MS_OK)
        ms_parallel_run(count, search_branch, branches);
    for (uint32_t l = 0; l < count; l++) {
        if (status == MS_OK)
            status = join_branch(s, &branches[l]);
        ms_arena_free(branches[l].search.arena);
    }
    return status;
}

/* One way to make the loss after the other, `first_loss` first: what it finds spares the others
 * work.
 */
static ms_status search_in_turn(ms_search *s, ms_chooser with, uint32_t first_loss)
{
    uint32_t count = s->techniques & MS_MAY_CHUNK_LOSS ? s->stack.loss_count : 1;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i <= count && status == MS_OK; i++) {
        ms_chosen chosen;
        s->loss = i == 0 ? first_loss : i - 1;
        if (i == 0 || s->loss != first_loss)
            status = search_loss(s, with, &chosen);
    }
    s->loss = MS_ANY_LOSS;
    return status;
}

ms_status ms_search_run(ms_search *s, ms_chooser with, ms_chosen *first)
{
    bool yes;
    s->loss = MS_ANY_LOSS;
    ms_status status = try_limit(s, with, s->limit_bytes, first, &yes);
    s->is_ruled_out = status == MS_OK && first->outcome == MS_SOLVER_INFEASIBLE;
    if (status != MS_OK || !first->has_choice || s->has_best)
        return status;
    return s->is_one_of_many ? search_in_turn(s, with, first->choice.loss)
                             : search_branches(s, with);
}

ms_status ms_search_checkpoints(ms_search *s)
{
    ms_stack_choice choice;
    bool yes;
    if (!(s->techniques & MS_MAY_CHECKPOINT))
        return MS_OK;
    ms_status status = ms_choice_checkpoints(s->arena, &s->stack, 0, &choice, s->err);
    if (status != MS_OK)
        return status;
    ms_stack_sum sum = ms_stack_count(&s->stack, &choice);
    if (sum.peak_bytes > s->limit_bytes || (s->has_best && sum.step_ms >= s->best_ms))
        return MS_OK;
    status = ms_search_consider(s, &choice, &yes);
    if (status == MS_OK && yes)
        s->is_best_proven = false;
    return status;
}

ms_status ms_search_any_checkpoints(ms_search *s)
{
    ms_stack_choice choice;
    uint32_t losses = s->techniques & MS_MAY_CHUNK_LOSS ? s->stack.loss_count : 1;
    ms_status status = MS_OK;
    for (uint32_t o = 0; o < s->stack.option_count && status == MS_OK; o++) {
        const ms_treatment *t = &s->stack.options[o].treatment;
        if (t->kind != MS_TREAT_CHECKPOINT || !ms_treatment_allowed(t, s->techniques))
            continue;
        for (uint32_t l = 0; l < losses && status == MS_OK && !s->has_best; l++) {
            bool yes;
            status = ms_choice_new(s->arena, &s->stack, &choice, s->err);
            for (uint32_t i = 0; status == MS_OK && i < s->stack.layer_count; i++)
                choice.options[i] = o;
            choice.loss = l;
            if (status == MS_OK && ms_stack_count(&s->stack, &choice).peak_bytes <= s->limit_bytes)
                status = ms_search_consider(s, &choice, &yes);
        }
    }
    return status;
}

/* The fastest of those that treat every layer alike and are not tried yet: slower than `after_ms`.
 */
static bool next_uniform(const ms_search *s, double after_ms, ms_stack_choice *tried,
                         ms_stack_choice *next, double *next_ms)
{
    const ms_choose_task task = ms_search_task(s, s->limit_bytes);
    bool found = false;
    for (uint32_t o = 0; o < s->stack.option_count; o++) {
        if (!ms_treatment_allowed(&s->stack.options[o].treatment, s->techniques))
            continue;
        for (uint32_t i = 0; i < s->stack.layer_count; i++)
            tried->options[i] = o;
        for (tried->loss = 0; tried->loss < s->stack.loss_count; tried->loss++) {
            ms_stack_sum sum = ms_stack_count(&s->stack, tried);
            if (!ms_loss_allowed(&task, tried->loss) || sum.peak_bytes > s->limit_bytes ||
                sum.step_ms <= after_ms || (found && sum.step_ms >= *next_ms))
                continue;
            found = true;
            *next_ms = sum.step_ms;
            next->loss = tried->loss;
            next->options[0] = o;
        }
    }
    for (uint32_t i = 1; found && i < s->stack.layer_count; i++)
        next->options[i] = next->options[0];
    return found;
}

/* Where the allocator refuses what counts as best, layers that are alike often fit. */
static ms_status try_uniform(ms_search *s)
{
    ms_stack_choice tried, next;
    double ms = 0;
    bool yes = false;
    ms_status status = ms_choice_new(s->arena, &s->stack, &tried, s->err);
    for (int i = 0; i < MOST_UNIFORM && status == MS_OK && !yes && !is_stopped(s->task); i++) {
        status = ms_choice_new(s->arena, &s->stack, &next, s->err);
        if (status != MS_OK || !next_uniform(s, ms, &tried, &next, &ms) ||
            (s->has_best && ms >= s->best_ms))
            break;
        status = ms_search_consider(s, &next, &yes);
        if (yes)
            s->is_best_proven = false;
    }
    return status;
}

ms_status ms_search_simpler(ms_search *s)
{
    ms_chosen chosen;
    bool yes;
    ms_status status = try_limit(s, ms_choose_greedy, s->limit_bytes, &chosen, &yes);
    if (status == MS_OK)
        status = try_uniform(s);
    return status == MS_OK ? ms_search_checkpoints(s) : status;
}

ms_status ms_search_finish(ms_search *s)
{
    ms_treatments treatments;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, &s->best, &treatments, s->err);
    s->plan->simulations++;
    if (status == MS_OK)
        status = ms_step_plan_simulate(s->arena, s->task->model, s->task->run, &treatments,
                                       &s->plan->plan, s->err);
    return status;
}

void ms_search_set_gap(ms_search *s, const ms_chosen *first)
{
    double ms = s->plan->plan.time.step_ms;
    /* Who was stopped before there was a bound knows at least this one. */
    bool has_bound = isfinite(first->bound) && first->bound > 0;
    double bound = has_bound ? first->bound : s->plan->keep_all.time.step_ms;
    s->plan->bound_ms = fmin(bound, ms);
    s->plan->gap = ms > 0 ? fmax(0, (ms - bound) / ms) : 0;
    bool is_proven = s->is_best_proven && !is_stopped(s->task);
    s->plan->outcome = is_proven ? MS_PLAN_OPTIMAL : MS_PLAN_LIMIT;
}

ms_status ms_search_compare(ms_search *s, const ms_target *target)
{
    s->techniques =
        s->task->techniques & target->techniques & ~ms_techniques_impossible(s->task->model);
    s->stack.layer_count = (uint32_t)s->task->model->num_layers;
    ms_search_set_limit(s);
    return ms_search_extremes(s);
}

ms_status ms_search_measure(ms_search *s)
{
    const ms_step_task *task = s->task;
    ms_status status =
        ms_stack_measure(s->arena, task->model, task->run, s->techniques, &s->stack, s->err);
    s->plan->simulations += s->stack.simulations;
    return status;
}

ms_status ms_search_begin(ms_search *s, const ms_target *target)
{
    ms_status status = ms_search_compare(s, target);
    return status == MS_OK ? ms_search_measure(s) : status;
}
