/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The search for one plan: the cost model and the best assignment verified so far.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_H

#include "base/deadline.h"
#include "decide/plan/choose/choose.h"
#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/target.h"

/* An assignment that was simulated, and the result. */
typedef struct ms_proof {
    const struct ms_proof *before;
    ms_assignment assignment;
    bool fits;
    bool has_retries; /* in any step */
    double retry_ms;  /* of a steady step: its retries */
    uint64_t wanted_bytes;
} ms_proof;

typedef struct ms_search {
    ms_arena *arena;
    const ms_step_task *task;
    ms_step_plan *plan;
    ms_error *err;
    ms_deadline limit; /* for the whole search */
    ms_cost_model costs;
    uint32_t techniques;     /* allowed by the task and the target */
    uint64_t capacity_bytes; /* bytes that may be allocated; UINT64_MAX: no limit */
    bool is_one_of_many;     /* other searches run in parallel: uses no threads, fewer attempts */
    bool is_aside;           /* its bound is not reported: any good plan will do */
    bool has_no_queues;      /* of the tasks: see choose_task.h */
    bool forbids_retries;    /* for now, though the task allows them */
    uint32_t loss;           /* the only option of the loss, or MS_ANY_LOSS */
    uint64_t wanted_bytes;   /* requested by the last assignment that did not fit */
    bool is_ruled_out;       /* no assignment is within the limit, for any allocator */
    const ms_proof *proofs;  /* at this budget, by this search and those it was forked from */
    /* The best assignment verified by simulation: */
    bool has_best;
    ms_assignment best;
    double best_ms;  /* by the cost model, with its retries */
    double retry_ms; /* of that: retries in each step */
} ms_search;

typedef ms_status (*ms_choose_fn)(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                                  ms_error *err);

/* The number of options of the loss that may be used: the first ones of the cost model. */
static inline uint32_t ms_search_loss_count(const ms_search *s)
{
    return s->techniques & MS_MAY_CHUNK_LOSS ? s->costs.loss_count : 1;
}

/* Whether a plan may have retries. */
static inline bool ms_search_takes_retries(const ms_search *s)
{
    return s->task->allows_retries && !s->forbids_retries;
}

/* A selection task with this search's settings. */
ms_choose_task ms_search_task(const ms_search *s, uint64_t limit_bytes);

/* Makes a search for another thread, with the same measurements and no result yet. `plan` gets the
 * budget and the figures with everything kept. */
void ms_search_fork(const ms_search *base, const ms_step_task *task, ms_arena *arena,
                    ms_step_plan *plan, ms_error *err, ms_search *fork);
/* Selects an assignment at the full limit; `chosen` says whether there is one. *yes: lowering the
 * limit is useless, because it fits when simulated, or is not better than the best (and is not
 * simulated), or nothing better exists. */
ms_status ms_search_try(ms_search *s, ms_choose_fn with, ms_chosen *chosen, bool *yes);
/* Finds the fastest assignment that fits by simulation; *first: the one selected at the full limit.
 */
ms_status ms_search_run(ms_search *s, ms_choose_fn with, ms_chosen *first);
/* The same, with the loss's option of the assignment at each limit. */
ms_status ms_search_run_as_chosen(ms_search *s, ms_choose_fn with, ms_chosen *first);
/* Simulates the assignment, and keeps it if it fits and is faster than the best so far. *yes: it
 * fits. */
ms_status ms_search_consider(ms_search *s, const ms_assignment *assignment, bool *yes);
/* Whether it was simulated before. */
bool ms_search_knows(const ms_search *s, const ms_assignment *assignment);

#endif
