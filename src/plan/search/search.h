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

/* A choice that was run, and what came of it. */
typedef struct ms_proof {
    const struct ms_proof *before;
    ms_stack_choice choice;
    bool fits;
    uint64_t wanted_bytes;
} ms_proof;

typedef struct ms_search {
    ms_arena *arena;
    const ms_step_task *task;
    ms_step_plan *plan;
    ms_error *err;
    ms_limit limit; /* of all of the search */
    ms_stack stack;
    uint32_t techniques;     /* the task's and the target's */
    uint64_t capacity_bytes; /* what may be allocated; UINT64_MAX: no limit */
    bool is_one_of_many;   /* other searches run beside it: no threads of its own, fewer attempts */
    uint32_t loss;         /* the only way to make it, or MS_ANY_LOSS */
    uint64_t wanted_bytes; /* by the choice that was tried last and did not fit */
    bool is_ruled_out;     /* no choice is within the limit, whatever the allocator does */
    const ms_proof *proofs; /* at this budget, by this search and by those it came from */
    /* the best that was proven */
    bool has_best;
    bool is_best_proven; /* to be the fastest within the limit that it was chosen for */
    ms_stack_choice best;
    double best_ms; /* as counted */
} ms_search;

typedef ms_status (*ms_chooser)(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                                ms_error *err);

/* How many ways to make the loss there are to choose from: the first ones of the stack. */
static inline uint32_t ms_search_loss_count(const ms_search *s)
{
    return s->techniques & MS_MAY_CHUNK_LOSS ? s->stack.loss_count : 1;
}

/* Every layer kept, and every layer checkpointed: what a plan is compared with. */
ms_status ms_search_extremes(ms_search *s);
/* The limits of choosing, as a task. */
ms_choose_task ms_search_task(const ms_search *s, uint64_t limit_bytes);

/* Sets the limit and runs what a plan is compared with. */
ms_status ms_search_compare(ms_search *s, const ms_target *target);
/* Measures the options. */
ms_status ms_search_measure(ms_search *s);
/* Both. */
ms_status ms_search_begin(ms_search *s, const ms_target *target);
/* A search of its own for another thread: what was measured, nothing found yet. `plan` gets the
 * budget and what keeps everything. */
void ms_search_fork(const ms_search *base, const ms_step_task *task, ms_arena *arena,
                    ms_step_plan *plan, ms_error *err, ms_search *fork);
/* Chooses at the full limit: whether there is a choice, and whether it was proven to fit. What
 * would not be the best is not proven. */
ms_status ms_search_try(ms_search *s, ms_chooser with, ms_chosen *chosen, bool *yes);
/* Looks for the fastest choice that is proven to fit; *first: what was chosen at the full limit. */
ms_status ms_search_run(ms_search *s, ms_chooser with, ms_chosen *first);
/* The same, but the loss is made as the choice at each limit has it. */
ms_status ms_search_plainly(ms_search *s, ms_chooser with, ms_chosen *first);
/* Checkpoints of one kind in every layer, the first that fits, when nothing has so far. */
ms_status ms_search_any_checkpoints(ms_search *s);
/* Every layer checkpointed, when that fits and counts as faster than the best so far. */
ms_status ms_search_checkpoints(ms_search *s);
/* The same of this and of what the simpler ways find. */
ms_status ms_search_simpler(ms_search *s);
/* Keeps the choice if it fits and is faster than the best so far. */
ms_status ms_search_consider(ms_search *s, const ms_stack_choice *choice, bool *yes);
/* For any two options, the first layers under one and the others under the other, as few under the
 * first as fit: each one that counts as faster than the best so far, until a step takes no more
 * than enough_ms. */
ms_status ms_search_runs(ms_search *s, double enough_ms);
/* Where the allocator made what was found so far slower than the bound: what simpler ways find, and
 * the further from it, the more. */
ms_status ms_search_elsewhere(ms_search *s, double bound_ms);
/* Offers the choices that peak lowest, for where the allocator refused what is better. */
ms_status ms_search_lowest(ms_search *s);
/* The plan that needs the smallest budget, run into s->plan->plan, and whether it fits after all.
 */
ms_status ms_search_least(ms_search *s);
/* The same of these choices, which lie `stride` bytes apart. */
ms_status ms_search_least_of(ms_search *s, const ms_stack_choice *choices, size_t stride,
                             uint32_t count);
/* The smallest budget under which these treatments run: between what is live, and what the
 * allocator takes when nothing stops it. */
ms_status ms_search_smallest_budget(ms_search *s, const ms_treatments *treatments,
                                    uint64_t live_bytes, uint64_t *budget);
/* Runs the best into s->plan->plan, and sets how far from the bound it may be. */
ms_status ms_search_finish(ms_search *s);
void ms_search_set_gap(ms_search *s, const ms_chosen *first);

#endif
