/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The search for one plan: what is measured, what has been proven so far.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_H
#define MS_PLAN_SEARCH_SEARCH_H

#include "base/limit.h"
#include "plan/costs/choose.h"
#include "plan/search/step_plan.h"
#include "plan/trainers/target.h"

/* An assignment that was run, and what came of it. */
typedef struct ms_proof {
    const struct ms_proof *before;
    ms_assignment assignment;
    bool fits;
    uint64_t wanted_bytes;
} ms_proof;

typedef struct ms_search {
    ms_arena *arena;
    const ms_step_task *task;
    ms_step_plan *plan;
    ms_error *err;
    ms_limit limit; /* of all of the search */
    ms_cost_model costs;
    uint32_t techniques;     /* the task's and the target's */
    uint64_t capacity_bytes; /* what may be allocated; UINT64_MAX: no limit */
    bool is_one_of_many;   /* other searches run beside it: no threads of its own, fewer attempts */
    uint32_t loss;         /* the only way to make it, or MS_ANY_LOSS */
    uint64_t wanted_bytes; /* by the assignment that was tried last and did not fit */
    bool is_ruled_out;     /* no assignment is within the limit, whatever the allocator does */
    const ms_proof *proofs; /* at this budget, by this search and by those it came from */
    /* the best that was proven */
    bool has_best;
    bool is_best_proven; /* to be the fastest within the limit that it was chosen for */
    ms_assignment best;
    double best_ms; /* as counted */
} ms_search;

typedef ms_status (*ms_choose_fn)(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                                  ms_error *err);

/* How many ways to make the loss there are to choose from: the first ones of the cost model. */
static inline uint32_t ms_search_loss_count(const ms_search *s)
{
    return s->techniques & MS_MAY_CHUNK_LOSS ? s->costs.loss_count : 1;
}

/* The limits of choosing, as a task. */
ms_choose_task ms_search_task(const ms_search *s, uint64_t limit_bytes);

/* A search of its own for another thread: what was measured, nothing found yet. `plan` gets the
 * budget and what keeps everything. */
void ms_search_fork(const ms_search *base, const ms_step_task *task, ms_arena *arena,
                    ms_step_plan *plan, ms_error *err, ms_search *fork);
/* Chooses at the full limit: whether there is an assignment, and whether it was proven to fit. What
 * would not be the best is not proven. */
ms_status ms_search_try(ms_search *s, ms_choose_fn with, ms_chosen *chosen, bool *yes);
/* Looks for the fastest assignment that is proven to fit; *first: what was chosen at the full
 * limit. */
ms_status ms_search_run(ms_search *s, ms_choose_fn with, ms_chosen *first);
/* The same, but the loss is made as the assignment at each limit has it. */
ms_status ms_search_run_as_chosen(ms_search *s, ms_choose_fn with, ms_chosen *first);
/* Keeps the assignment if it fits and is faster than the best so far. */
ms_status ms_search_consider(ms_search *s, const ms_assignment *assignment, bool *yes);

#endif
