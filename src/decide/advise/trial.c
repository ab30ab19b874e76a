/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/trial.h"

#include "base/threads.h"
#include "decide/advise/estimate.h"
#include "run/simulate/ranks.h"

/* ---- larger device ---- */

ms_status ms_other_devices_load(ms_arena *arena, const ms_run_config *run, ms_other_devices *others,
                                ms_error *err)
{
    *others = (ms_other_devices){0};
    if (run->device->is_cpu || run->has_budget || run->calibration)
        return MS_OK;
    *others = (ms_other_devices){run->devices, run->device_count};
    return run->devices ? MS_OK : ms_devices_load(arena, &others->items, &others->count, err);
}

const ms_device *ms_larger_device(const ms_other_devices *others, const ms_run_config *run,
                                  uint64_t needed_bytes)
{
    const ms_device *next = NULL;
    const uint64_t present = ms_device_usable_bytes(run->device);
    for (uint32_t i = 0; i < others->count; i++) {
        const ms_device *d = &others->items[i];
        const uint64_t usable = ms_device_usable_bytes(d);
        bool is_alike = !d->compute_capability == !run->device->compute_capability;
        if (!d->is_cpu && is_alike && usable > present && usable >= needed_bytes &&
            (!next || usable < ms_device_usable_bytes(next)))
            next = d;
    }
    return next;
}

/* ---- trial ---- */

void ms_trials_free(ms_trials *trials)
{
    ms_vec_free(&trials->known);
}

bool ms_trials_count(const ms_trials *trials, const ms_trial *trial)
{
    if (trial->is_open && !trials->asks_fit)
        return false;
    return !trials->is_exact || !trial->is_provisional || (trial->is_certain && !trials->is_whole);
}

const ms_trial *ms_trials_find(const ms_trials *trials, ms_candidate_set set)
{
    for (uint32_t i = 0; i < trials->known.count; i++)
        if (trials->known.items[i].set == set && ms_trials_count(trials, &trials->known.items[i]))
            return &trials->known.items[i];
    return NULL;
}

bool ms_trials_is_open(const ms_trials *trials, ms_candidate_set set)
{
    bool is_open = false;
    for (uint32_t i = 0; i < trials->known.count; i++)
        is_open = is_open || (trials->known.items[i].set == set && trials->known.items[i].is_open);
    return is_open;
}

/* What a run cannot be, is not offered; anything else is a failure. */
static bool is_refusal(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE || status == MS_ERR_LIMIT ||
           status == MS_ERR_OVERFLOW;
}

/* Alone in its thread. */
typedef struct task {
    const ms_job *job;
    bool is_exact, asks_fit; /* as of the trials */
    ms_trial trial;
    ms_status status;
    ms_error err;
} task;

/* What comes near the budget is likely to be asked for in full. */
static ms_status simulate(task *t, const ms_variation *v, bool is_near)
{
    const ms_job job = ms_variation_job(v);
    ms_simulated simulated;
    ms_status status =
        ms_simulate(&job, is_near ? MS_SIMULATE_TIME : MS_SIMULATE_FIT, &simulated, &t->err);
    if (status != MS_OK)
        return status;
    t->trial.reason = simulated.judgement.reason;
    t->trial.wanted_bytes = ms_simulated_wanted_bytes(&simulated);
    t->trial.least_bytes = ms_simulated_least_bytes(&simulated);
    const ms_kept kept = ms_kept_of(&v->run, &simulated.simulation);
    t->trial.kept_bytes = ms_kept_bytes(&kept);
    t->trial.has_effect = is_near;
    t->trial.effect = ms_effect_of(&simulated);
    ms_simulated_free(&simulated);
    return MS_OK;
}

static bool has_ranks(const ms_run_config *run)
{
    return run->parallel.layout.kind != MS_PARALLEL_NONE;
}

static void leave_open(ms_trial *trial)
{
    trial->is_open = trial->is_estimate = true;
    trial->reason = MS_FIT_UPPER_END;
}

/* In the first pass of several ranks the one that needs most of the unchanged run is taken. */
static ms_status measure(task *t, ms_arena *arena)
{
    ms_variation v;
    const char *option;
    ms_status status =
        ms_combination_apply(t->job, t->trial.set, NULL, arena, &v, &option, &t->err);
    if (status != MS_OK)
        return status;
    if (t->is_exact)
        status = ms_ranks_settle(arena, v.model, &v.run, &t->err);
    bool is_estimated = !t->is_exact && ms_trial_may_be_estimated(&v);
    if (status == MS_OK && is_estimated)
        status = ms_trial_estimate(&v, arena, &t->trial, &t->err);
    if (status == MS_OK && t->asks_fit && t->trial.cannot_fit && !t->trial.is_estimate)
        leave_open(&t->trial);
    t->trial.is_provisional = t->trial.is_estimate || (!t->is_exact && has_ranks(&v.run));
    if (status != MS_OK || t->trial.is_estimate)
        return status;
    return simulate(t, &v, is_estimated && !has_ranks(&v.run));
}

static void run(task *t)
{
    ms_arena *arena = ms_arena_create(0);
    t->status = MS_ERR_NOMEM;
    if (arena)
        t->status = measure(t, arena);
    ms_arena_free(arena);
    t->trial.is_refused = is_refusal(t->status);
    if (t->trial.is_refused)
        t->status = MS_OK;
}

static void work(void *context, uint32_t index)
{
    run(&((task *)context)[index]);
}

static ms_status fail(const ms_trials *trials, const task *t)
{
    return ms_fail(trials->err, t->status, "%s",
                   t->err.text[0] ? t->err.text : "no memory for a suggestion");
}

static ms_status keep(ms_trials *trials, const task *t)
{
    if (t->status != MS_OK)
        return fail(trials, t);
    return ms_vec_push(&trials->known, t->trial)
               ? MS_OK
               : ms_fail(trials->err, MS_ERR_NOMEM, "no memory for a suggestion");
}

enum { MOST_AT_ONCE = 8 };

ms_status ms_trials_run(ms_trials *trials, const ms_candidate_set *sets, uint32_t count)
{
    task tasks[MOST_AT_ONCE];
    ms_status status = MS_OK;
    for (uint32_t first = 0; first < count && status == MS_OK;) {
        uint32_t wanted = 0;
        for (; first < count && wanted < MOST_AT_ONCE; first++)
            if (!ms_trials_find(trials, sets[first]))
                tasks[wanted++] = (task){.job = trials->job,
                                         .is_exact = trials->is_exact,
                                         .asks_fit = trials->asks_fit,
                                         .trial = {.set = sets[first]}};
        ms_threads_run(wanted, work, tasks);
        for (uint32_t i = 0; i < wanted && status == MS_OK; i++)
            status = keep(trials, &tasks[i]);
    }
    return status;
}

ms_status ms_trials_one(ms_trials *trials, ms_candidate_set set, ms_trial *trial)
{
    ms_status status = ms_trials_run(trials, &set, 1);
    if (status == MS_OK)
        *trial = *ms_trials_find(trials, set);
    return status;
}

static uint32_t list_near(const ms_trials *trials, const ms_trial *least, ms_candidate_set *sets)
{
    enum { NEAR = 10 }; /* a tenth more */
    const uint64_t limit = least->least_bytes + least->least_bytes / NEAR;
    uint32_t count = 0;
    for (uint32_t i = 0; i < trials->known.count && count < MOST_AT_ONCE; i++) {
        const ms_trial *t = &trials->known.items[i];
        if (t->set && t->is_certain && t->least_bytes <= limit &&
            ms_combination_cost(t->set) == ms_combination_cost(least->set))
            sets[count++] = t->set;
    }
    return count;
}

ms_status ms_trials_refine(ms_trials *trials, ms_trial *least)
{
    ms_candidate_set sets[MOST_AT_ONCE] = {0};
    const uint32_t count = list_near(trials, least, sets);
    trials->is_whole = true;
    ms_status status = ms_trials_run(trials, sets, count);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        const ms_trial *t = ms_trials_find(trials, sets[i]);
        if (!t->is_refused && (least->is_certain || t->wanted_bytes < least->wanted_bytes))
            *least = *t;
    }
    trials->is_whole = false;
    return status;
}

ms_status ms_trials_resolve(const ms_trials *trials, ms_candidate_set set, bool *is_refused)
{
    ms_error err = {0};
    ms_variation v;
    const char *option;
    ms_arena *arena = ms_arena_create(0);
    ms_status status = MS_ERR_NOMEM;
    if (arena)
        status = ms_combination_apply(trials->job, set, NULL, arena, &v, &option, &err);
    ms_arena_free(arena);
    *is_refused = is_refusal(status);
    return status == MS_OK || *is_refused
               ? MS_OK
               : ms_fail(trials->err, status, "no memory for a suggestion");
}

ms_status ms_trials_candidates(const ms_trials *trials, ms_candidate_set among,
                               ms_candidate_set *applicable)
{
    ms_status status = MS_OK;
    *applicable = 0;
    for (uint32_t i = 0; ms_candidate_at(i) && status == MS_OK; i++) {
        bool is_refused = true;
        if (!(among & ms_bit(i)) || !ms_candidate_at(i)->applies(trials->job))
            continue;
        status = ms_trials_resolve(trials, ms_bit(i), &is_refused);
        *applicable |= is_refused ? 0 : ms_bit(i);
    }
    return status;
}
