/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost model counts live bytes; the allocator needs more, and how much more depends on the
 * plan. So an assignment is simulated with the allocator and the available memory. If it does not
 * fit, the limit of the cost model is lowered by the missing bytes, then raised by bisection. The
 * allocator's overhead depends mostly on the largest tensors, which are those of the loss: each
 * option of the loss is tried.
 */
#include "decide/plan/search/search.h"

#include <string.h>

#include "base/deadline.h"
#include "base/threads.h"
#include "run/simulate/variation.h"

/* Attempts at lowering the limit, and halvings once something fits. */
enum { MOST_STEPS = 8, MOST_HALVINGS = 4 };

/* Nodes of the solver's search: for assignments on the way, and for the bound that is reported. */
enum { FEW_NODES = 50, BOUND_NODES = 300, BOUND_NODES_OF_MANY = 100 };

/* ---- choosing and proving ---- */

static const ms_proof *find_proof(const ms_search *s, const ms_assignment *assignment)
{
    size_t size = s->costs.layer_count * sizeof *assignment->options;
    const ms_proof *proof = s->proofs;
    while (proof && (proof->assignment.loss != assignment->loss ||
                     memcmp(proof->assignment.options, assignment->options, size) != 0))
        proof = proof->before;
    return proof;
}

static ms_status run_proof(ms_search *s, const ms_assignment *assignment, ms_proof *proof)
{
    ms_variation v = ms_vary_run(s->task->model, s->task->run, s->arena);
    const ms_job job = ms_variation_job(&v);
    ms_simulated simulated;
    ms_status status =
        ms_assignment_treatments(s->arena, &s->costs, assignment, &v.run.treatments, s->err);
    s->plan->simulations++;
    if (status == MS_OK)
        status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, s->err);
    if (status != MS_OK)
        return status;
    proof->fits = ms_reason_fits(simulated.judgement.reason);
    proof->has_retries = simulated.usage.retries > 0;
    proof->retry_ms = ms_usage_retry_ms(&simulated.usage);
    proof->wanted_bytes = ms_simulated_wanted_bytes(&simulated);
    ms_simulated_free(&simulated);
    return ms_assignment_copy(s->arena, &s->costs, assignment, &proof->assignment, s->err);
}

/* *proof: of the assignment, also if it was simulated before. */
static ms_status prove(ms_search *s, const ms_assignment *assignment, const ms_proof **proof)
{
    *proof = find_proof(s, assignment);
    if (!*proof) {
        ms_proof *made = ms_arena_array(s->arena, ms_proof, 1);
        if (!made)
            return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a proof");
        ms_status status = run_proof(s, assignment, made);
        if (status != MS_OK)
            return status;
        made->before = s->proofs;
        *proof = s->proofs = made;
    }
    s->wanted_bytes = (*proof)->wanted_bytes;
    return MS_OK;
}

bool ms_search_knows(const ms_search *s, const ms_assignment *assignment)
{
    return find_proof(s, assignment) != NULL;
}

/* Keeps the assignment if it fits and is faster than the best so far. */
ms_status ms_search_consider(ms_search *s, const ms_assignment *assignment, bool *yes)
{
    const ms_proof *proof;
    ms_status status = prove(s, assignment, &proof);
    *yes = status == MS_OK && proof->fits && (!proof->has_retries || ms_search_takes_retries(s));
    if (!*yes)
        return status;
    double ms = ms_assignment_sum(&s->costs, assignment).step_ms + proof->retry_ms;
    if (!s->has_best || ms < s->best_ms) {
        s->has_best = true;
        s->best = *assignment;
        s->best_ms = ms;
        s->retry_ms = proof->retry_ms;
    }
    return MS_OK;
}

ms_choose_task ms_search_task(const ms_search *s, uint64_t limit_bytes)
{
    return (ms_choose_task){.costs = &s->costs,
                            .aim = MS_LEAST_TIME,
                            .limit_bytes = limit_bytes,
                            .loss_limit_bytes = UINT64_MAX,
                            .techniques = s->techniques,
                            .loss = s->loss,
                            .gap = s->task->gap,
                            .time_limit_s = ms_deadline_left_s(&s->limit),
                            .best_ms = s->has_best ? s->best_ms : 0,
                            .is_rough = true,
                            .has_no_queues = s->has_no_queues,
                            .nodes = FEW_NODES,
                            .stop = s->task->stop};
}

/* Whether there is an assignment, and whether it was proven to fit. What would not be the best is
 * not proven. */
static ms_status try_task(ms_search *s, ms_choose_fn with, const ms_choose_task *task,
                          ms_chosen *chosen, bool *yes)
{
    *yes = false;
    *chosen = (ms_chosen){0};
    s->wanted_bytes = 0;
    ms_status status = with(s->arena, task, chosen, s->err);
    *yes = ms_chosen_is_no_better(task, chosen); /* lowering the limit further is no use */
    if (status != MS_OK || !chosen->has_assignment || *yes)
        return status;
    ms_cost_sum sum = ms_assignment_sum(&s->costs, &chosen->assignment);
    *yes = s->has_best && sum.step_ms >= s->best_ms;
    if (*yes)
        return MS_OK;
    if (sum.peak_bytes > s->capacity_bytes) {
        s->wanted_bytes = sum.peak_bytes;
        return MS_OK;
    }
    return ms_search_consider(s, &chosen->assignment, yes);
}

ms_status ms_search_try(ms_search *s, ms_choose_fn with, ms_chosen *chosen, bool *yes)
{
    ms_choose_task task = ms_search_task(s, s->capacity_bytes);
    if (s->loss == MS_ANY_LOSS && !s->is_aside) {
        task.is_rough = false;
        task.nodes = s->is_one_of_many ? BOUND_NODES_OF_MANY : BOUND_NODES;
    }
    return try_task(s, with, &task, chosen, yes);
}

/* Of a limit: where an assignment did not fit, where one did, where there is none. Of the level of
 * live bytes first; where gradients and states alone make that, of the loss's level. */
typedef struct bracket {
    uint64_t fails, works, too_low;
    double fails_ms; /* as counted, of the assignment that did not fit */
    double saved_ms_per_mib;
    bool is_of_loss;
} bracket;

/* Down to its own level a lower limit would have chosen the same. */
static void set_failed(const ms_search *s, uint64_t limit_bytes, const ms_chosen *chosen,
                       bracket *b)
{
    ms_cost_sum sum = ms_assignment_sum(&s->costs, &chosen->assignment);
    uint64_t level = b->is_of_loss ? sum.loss_bytes : sum.level_bytes;
    b->fails = level < limit_bytes ? level : limit_bytes;
    b->fails_ms = sum.step_ms;
}

static ms_status try_within(ms_search *s, ms_choose_fn with, uint64_t limit_bytes, bracket *b)
{
    ms_choose_task task = ms_search_task(s, b->is_of_loss ? s->capacity_bytes : limit_bytes);
    ms_chosen chosen;
    bool yes = false;
    task.saved_ms_per_mib = b->saved_ms_per_mib;
    if (b->is_of_loss)
        task.loss_limit_bytes = limit_bytes;
    ms_status status = try_task(s, with, &task, &chosen, &yes);
    if (status != MS_OK)
        return status;
    if (yes)
        b->works = limit_bytes;
    else if (chosen.has_assignment)
        set_failed(s, limit_bytes, &chosen, b);
    else
        b->too_low = limit_bytes;
    return MS_OK;
}

/* Lowers the limit until an assignment fits; where nothing can be chosen it was lowered too far. */
static ms_status lower_limit(ms_search *s, ms_choose_fn with, bracket *b)
{
    uint64_t least_step = s->capacity_bytes / 400 + 1;
    ms_status status = MS_OK;
    for (int i = 0;
         i < MOST_STEPS && status == MS_OK && b->works == 0 && !ms_deadline_reached(&s->limit);
         i++) {
        uint64_t step =
            s->wanted_bytes > s->capacity_bytes ? s->wanted_bytes - s->capacity_bytes : 0;
        step = step > least_step ? step : least_step;
        uint64_t limit = step < b->fails ? b->fails - step : 0;
        if (limit <= b->too_low)
            limit = b->too_low + (b->fails - b->too_low) / 2;
        if (limit == 0 || b->fails - b->too_low <= s->capacity_bytes / 1000)
            break;
        status = try_within(s, with, limit, b);
        least_step *= 2;
    }
    return status;
}

/* Raises it by halves while there is something to gain. */
static ms_status raise_limit(ms_search *s, ms_choose_fn with, bracket *b)
{
    int halvings = s->is_one_of_many ? 1 : MOST_HALVINGS;
    uint64_t near = s->capacity_bytes / (s->is_one_of_many ? 100 : 1000);
    ms_status status = MS_OK;
    for (int i = 0;
         i < halvings && status == MS_OK && b->works > 0 && !ms_deadline_reached(&s->limit); i++) {
        bool has_gain = s->best_ms - b->fails_ms > s->task->gap * s->best_ms;
        if (b->fails <= b->works + near || !has_gain)
            break;
        status = try_within(s, with, b->works + (b->fails - b->works) / 2, b);
    }
    return status;
}

/* Where about as fast an assignment is to be had that saves less, it is taken: this much of the
 * step's time may be lost. */
static const double worth_saving_less = 0.0003;

/* What `first` chose at the full limit did not fit. */
static ms_status search_below(ms_search *s, ms_choose_fn with, const ms_chosen *first)
{
    const uint64_t wanted = s->wanted_bytes;
    const ms_cost_sum sum = ms_assignment_sum(&s->costs, &first->assignment);
    bracket b = {.saved_ms_per_mib =
                     worth_saving_less * sum.step_ms / ((double)sum.level_bytes / MS_MIB)};
    const int ways = with == ms_choose_milp && !s->has_best ? 2 : 1;
    ms_status status = try_within(s, with, s->capacity_bytes, &b);
    for (int i = 0; i < ways && status == MS_OK && b.works == 0; i++) {
        b.is_of_loss = i == 1;
        b.too_low = 0;
        s->wanted_bytes = wanted;
        set_failed(s, s->capacity_bytes, first, &b);
        status = lower_limit(s, with, &b);
    }
    return status == MS_OK ? raise_limit(s, with, &b) : status;
}

static ms_status search_loss(ms_search *s, ms_choose_fn with, ms_chosen *first)
{
    bool yes;
    ms_status status = ms_search_try(s, with, first, &yes);
    if (status == MS_OK && first->has_assignment && !yes)
        status = search_below(s, with, first);
    return status;
}

ms_status ms_search_run_as_chosen(ms_search *s, ms_choose_fn with, ms_chosen *first)
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
    ms_choose_fn with;
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
    s->retry_ms = b->search.retry_ms;
    return ms_assignment_copy(s->arena, &s->costs, &b->search.best, &s->best, s->err);
}

/* The other ways to make the loss side by side; all know what was found with this one. */
static ms_status search_branches(ms_search *s, ms_choose_fn with, uint32_t found_loss)
{
    uint32_t losses = ms_search_loss_count(s), count = 0;
    branch *branches = ms_arena_array(s->arena, branch, losses);
    ms_status status =
        branches ? MS_OK : ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    for (uint32_t l = 0; l < losses && status == MS_OK; l++) {
        branch *b = &branches[count];
        if (l == found_loss)
            continue;
        *b = (branch){.with = with};
        ms_search_fork(s, s->task, ms_arena_create(0), &b->plan, &b->err, &b->search);
        b->search.loss = l;
        b->search.has_best = s->has_best;
        b->search.is_one_of_many = false; /* few enough */
        if (b->search.arena)
            count++;
        else
            status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    }
    if (status == MS_OK)
        ms_threads_run(count, search_branch, branches);
    for (uint32_t i = 0; i < count; i++) {
        if (status == MS_OK)
            status = join_branch(s, &branches[i]);
        ms_arena_free(branches[i].search.arena);
    }
    return status;
}

/* One of many searches looks no further when its plan is this near to the bound. */
static const double near_bound = 1.01;

/* One after the other: what one finds spares the next work. */
static ms_status search_in_turn(ms_search *s, ms_choose_fn with, uint32_t found_loss,
                                double bound_ms)
{
    uint32_t losses = ms_search_loss_count(s);
    ms_status status = MS_OK;
    if (s->has_best && s->best_ms < near_bound * bound_ms)
        return MS_OK;
    for (uint32_t l = 0; l < losses && status == MS_OK; l++) {
        ms_chosen chosen;
        s->loss = l;
        if (l != found_loss)
            status = search_loss(s, with, &chosen);
    }
    return status;
}

ms_status ms_search_run(ms_search *s, ms_choose_fn with, ms_chosen *first)
{
    bool yes;
    s->loss = MS_ANY_LOSS;
    if (s->costs.losses[0].fixed_peak > s->capacity_bytes) {
        *first = (ms_chosen){.outcome = MS_SOLVER_INFEASIBLE};
        s->is_ruled_out = true;
        return MS_OK;
    }
    ms_status status = ms_search_try(s, with, first, &yes);
    s->is_ruled_out = status == MS_OK && first->outcome == MS_SOLVER_INFEASIBLE;
    if (status != MS_OK || !first->has_assignment || s->has_best)
        return status;
    uint32_t loss = s->loss = first->assignment.loss;
    status = search_below(s, with, first);
    if (status == MS_OK)
        status = s->is_one_of_many ? search_in_turn(s, with, loss, first->bound)
                                   : search_branches(s, with, loss);
    s->loss = MS_ANY_LOSS;
    return status;
}
