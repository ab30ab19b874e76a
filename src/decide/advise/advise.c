/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/threads.h"
#include "run/simulate/ranks.h"

/* ---- suggestion ---- */

/* The figures and texts of one suggestion. */

/* What it comes to, beside the unchanged run. */
static void suggestion_read(const ms_summary *before, const ms_effect *o, ms_suggestion *s)
{
    s->device_bytes = o->device_bytes;
    s->saved_device_bytes = (int64_t)(before->expected_device_bytes - o->device_bytes);
    s->saved_peak_bytes = (int64_t)(before->peak_memory_bytes - o->peak_bytes);
    s->host_bytes = o->host_bytes;
    s->reason = o->reason;
    s->told = o->told;
    s->step_ms = o->step_ms > 0 ? o->step_ms : 0;
    s->added_time =
        o->step_ms > 0 && before->step_time_ms > 0 ? o->step_ms / before->step_time_ms - 1 : NAN;
}

/* What another device takes, in what time is not asked. */
static void suggestion_read_device(const ms_effect *o, ms_suggestion *s)
{
    s->device_bytes = o->device_bytes;
    s->host_bytes = o->host_bytes;
    s->reason = o->reason;
    s->told = o->told;
    s->added_time = NAN;
}

/* From what was found, and the option; in the arena. False when out of memory. */
static bool suggestion_fill_texts(ms_suggestion *s, ms_arena *arena)
{
    s->option = ms_arena_strdup(arena, s->option);
    const char *device = s->found.device;
    s->found.device = device ? ms_arena_strdup(arena, device) : NULL;
    s->title = device ? ms_arena_printf(arena, "a larger device, %s", device)
                      : ms_combination_title(s->found.set, arena);
    s->changes = ms_combination_changes(s->found.set, arena);
    s->count = device ? 1 : ms_combination_count(s->found.set);
    s->cost = device ? MS_COST_DEVICE : ms_combination_cost(s->found.set);
    return s->option && s->title && s->changes && (!device || s->found.device);
}

/* ---- advise ---- */

/* What needs more of the device is useless. */
typedef struct limit {
    uint64_t bytes; /* 0: nothing is */
    bool is_low;    /* most that is tried needs more */
} limit;

/* A suggestion while it is simulated, alone in its thread. */
typedef struct attempt {
    const ms_advised *advised;
    const ms_other_devices *others;
    const ms_trial *known; /* or NULL */
    limit limit;
    ms_suggestion suggestion;
    ms_arena *arena;
    bool is_left_out; /* such a run cannot be */
    bool is_useless;  /* no device is large enough */
    ms_status status;
    ms_error err;
} attempt;

/* The run of a suggestion, as the rank that needs most of it then. */
static ms_status apply(const ms_job *job, const ms_found *found, ms_arena *arena, ms_variation *v,
                       const char **option, ms_error *err)
{
    ms_status status = ms_combination_apply(job, found->set, found->device, arena, v, option, err);
    return status == MS_OK ? ms_ranks_settle(arena, v->model, &v->run, err) : status;
}

ms_status ms_suggestion_apply(const ms_job *job, const ms_suggestion *suggestion, ms_arena *arena,
                              ms_variation *v, ms_error *err)
{
    const char *option;
    return apply(job, &suggestion->found, arena, v, &option, err);
}

bool ms_suggestion_helps(const ms_suggestion *suggestion, ms_fit_verdict verdict)
{
    return ms_reason_verdict(suggestion->reason) > verdict;
}

/* Where most needs too much, it is found out first whether it does, then its time. */
static ms_status run_job(attempt *a, const ms_job *job, bool is_timed, ms_effect *effect)
{
    if (is_timed && a->limit.is_low && ms_job_has_limit(job)) {
        ms_status status = ms_effect_simulate(job, false, effect, &a->err);
        if (status != MS_OK || effect->is_beyond)
            return status;
    }
    return ms_effect_simulate(job, is_timed, effect, &a->err);
}

static ms_status simulate_found(attempt *a, const ms_found *found)
{
    ms_variation v;
    ms_effect effect;
    const char *option;
    const ms_unchanged *unchanged = &a->advised->unchanged;
    ms_status status = apply(a->advised->job, found, a->arena, &v, &option, &a->err);
    if (status != MS_OK)
        return status;
    ms_job job = ms_variation_job(&v);
    if (a->limit.bytes)
        job.limit_bytes = ms_device_reservable_bytes(job.run->device, a->limit.bytes);
    bool is_timed = !found->device || job.run->training.eval_batch > 0;
    if (ms_combination_is_of_allocator(found->set) && !found->device &&
        ms_unchanged_has(unchanged, job.run))
        status = ms_unchanged_play(unchanged, job.run, &effect, &a->err);
    else
        status = run_job(a, &job, is_timed, &effect);
    if (status != MS_OK)
        return status;
    a->suggestion.found = *found;
    a->suggestion.option = option;
    a->is_useless = effect.is_beyond;
    if (found->device)
        suggestion_read_device(&effect, &a->suggestion);
    else
        suggestion_read(a->advised->summary, &effect, &a->suggestion);
    return MS_OK;
}

enum { MOST_DEVICES = 6 };

static bool cannot_be(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE || status == MS_ERR_LIMIT ||
           status == MS_ERR_OVERFLOW;
}

/* The smallest device that is large enough for what the run took on its own, which may be less than
 * it wants, and from there the next larger ones, until it fits. Those that cannot run it are
 * passed; where it fits none, the last on which it is tight stands. */
static ms_status simulate_devices(attempt *a)
{
    const ms_advised *advised = a->advised;
    uint64_t needed_bytes = advised->summary->high_device_bytes;
    bool has_figures = false;
    for (int i = 0; i < MOST_DEVICES; i++) {
        const ms_device *next = ms_larger_device(a->others, advised->job->run, needed_bytes);
        if (!next)
            break;
        ms_status status = simulate_found(a, &(ms_found){0, next->name});
        if (status != MS_OK && !cannot_be(status))
            return status;
        has_figures |= status == MS_OK;
        if (status == MS_OK && ms_reason_verdict(a->suggestion.reason) == MS_VERDICT_FITS)
            return MS_OK;
        needed_bytes = ms_device_usable_bytes(next) + 1;
    }
    a->is_useless = !has_figures || !ms_suggestion_helps(&a->suggestion, advised->summary->verdict);
    return MS_OK;
}

static ms_status simulate(attempt *a)
{
    const ms_found found = a->suggestion.found;
    if (found.device)
        return simulate_devices(a);
    if (!a->known)
        return simulate_found(a, &found);
    ms_variation v;
    ms_status status = ms_combination_apply(a->advised->job, found.set, NULL, a->arena, &v,
                                            &a->suggestion.option, &a->err);
    if (status == MS_OK)
        suggestion_read(a->advised->summary, &a->known->effect, &a->suggestion);
    return status;
}

static void work(void *context, uint32_t index)
{
    attempt *a = &((attempt *)context)[index];
    a->arena = ms_arena_create(0);
    a->status = a->arena ? simulate(a) : MS_ERR_NOMEM;
    a->is_left_out = cannot_be(a->status);
}

/* ---- the list ---- */

static int by_number(double x, double y)
{
    return x < y ? -1 : x > y;
}

enum { WORTH = 100, MOST_SINGLES = 6 };

static bool is_worth(const attempt *a)
{
    const ms_suggestion *s = &a->suggestion;
    const ms_summary *before = a->advised->summary;
    uint64_t least = before->expected_device_bytes / WORTH;
    bool saves = s->saved_device_bytes > 0 && (uint64_t)s->saved_device_bytes >= least;
    return !a->is_left_out && !a->is_useless && (saves || s->found.device);
}

static ms_status collect(attempt *attempts, uint32_t count, ms_arena *arena, ms_suggestions *list,
                         ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        attempt *a = &attempts[i];
        if (a->status != MS_OK && !a->is_left_out)
            status = ms_fail(err, a->status, "%s",
                             a->err.text[0] ? a->err.text : "no memory for a suggestion");
        else if (is_worth(a) && (!suggestion_fill_texts(&a->suggestion, arena) ||
                                 !ms_vec_push(list, a->suggestion)))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
    }
    for (uint32_t i = 0; i < count; i++)
        ms_arena_free(attempts[i].arena);
    return status;
}

/* Simulates in full what was found, and appends what is worth it. */
static ms_status add(const ms_advised *advised, const ms_trials *trials, const ms_found *found,
                     uint32_t count, limit most, ms_arena *arena, ms_suggestions *list)
{
    ms_error *err = trials->err;
    attempt *attempts = calloc(count ? count : 1, sizeof *attempts);
    if (!attempts)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
    for (uint32_t i = 0; i < count; i++) {
        const ms_trial *known = found[i].device ? NULL : ms_trials_find(trials, found[i].set);
        attempts[i] = (attempt){.advised = advised,
                                .others = &trials->others,
                                .known = known && known->has_effect ? known : NULL,
                                .limit = most,
                                .suggestion.found = found[i]};
    }
    ms_threads_run(count, work, attempts);
    ms_status status = collect(attempts, count, arena, list, err);
    free(attempts);
    return status;
}

/* Who has room does not look for another training. */
static bool is_offered_alone(const ms_candidate *c, ms_fit_verdict verdict)
{
    return verdict == MS_VERDICT_NO || (c->cost < MS_COST_RESULT && !(c->traits & MS_IS_VARIANT));
}

static int by_saving(const void *a, const void *b)
{
    const ms_suggestion *x = a, *y = b;
    int order = by_number((double)y->saved_device_bytes, (double)x->saved_device_bytes);
    return order ? order : strcmp(x->title, y->title);
}

static void keep_best(ms_suggestions *list, uint32_t first)
{
    if (list->count > first + 1)
        qsort(list->items + first, list->count - first, sizeof *list->items, by_saving);
    if (list->count > first + MOST_SINGLES)
        list->count = first + MOST_SINGLES;
}

/* What saves too little is not listed, nor what saves less than enough others. */
static limit limit_of(const ms_summary *before, const ms_suggestions *list, uint32_t first)
{
    uint64_t worth = before->expected_device_bytes - before->expected_device_bytes / WORTH;
    bool is_full = list->count == first + MOST_SINGLES;
    uint64_t last = is_full ? list->items[list->count - 1].device_bytes : worth;
    return (limit){last < worth ? last : worth, is_full};
}

static bool is_listed(const ms_suggestions *list, ms_candidate_set set)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].found.set == set && !list->items[i].found.device)
            return true;
    return false;
}

/* Those that save most: first those that save much as a rule, beside which others need less. */
static ms_status add_singles(const ms_advised *advised, const ms_trials *trials,
                             ms_candidate_set applicable, ms_arena *arena, ms_suggestions *list)
{
    const uint32_t first = list->count;
    const ms_summary *before = advised->summary;
    ms_status status = MS_OK;
    for (int round = 0; round < 2 && status == MS_OK; round++) {
        ms_found singles[MS_MOST_CANDIDATES];
        uint32_t count = 0;
        for (uint32_t i = 0; ms_candidate_at(i); i++) {
            const ms_candidate *c = ms_candidate_at(i);
            bool is_first = c->traits & (MS_IS_OF_KEPT | MS_IS_FIRST);
            if ((applicable & ms_bit(i)) && is_first == (round == 0) &&
                is_offered_alone(c, before->verdict) && !is_listed(list, ms_bit(i)))
                singles[count++] = (ms_found){ms_bit(i), NULL};
        }
        status = add(advised, trials, singles, count, limit_of(before, list, first), arena, list);
        keep_best(list, first);
    }
    return status;
}

static int by_cost(const void *a, const void *b)
{
    const ms_suggestion *x = a, *y = b;
    bool x_fits = ms_reason_fits(x->reason), y_fits = ms_reason_fits(y->reason);
    if (x_fits != y_fits)
        return x_fits ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    int order =
        isnan(x->added_time) || isnan(y->added_time) ? 0 : by_number(x->added_time, y->added_time);
    if (order == 0)
        order = by_number((double)x->device_bytes, (double)y->device_bytes);
    return order ? order : strcmp(x->title, y->title);
}

/* What is known of the unchanged run. */
static bool begin(const ms_advised *advised, ms_trials *trials)
{
    const ms_summary *s = advised->summary;
    const ms_simulation figures = {.weight_bytes = s->weight_memory_bytes,
                                   .gradient_bytes = s->grad_memory_bytes,
                                   .optimizer_state_bytes = s->optimizer_memory_bytes};
    trials->kept = ms_kept_of(advised->job->run, &figures);
    return ms_vec_push(&trials->known, (ms_trial){.reason = s->verdict_reason,
                                                  .wanted_bytes = s->reserved_memory_bytes,
                                                  .kept_bytes = ms_kept_bytes(&trials->kept)});
}

static bool is_answered(const ms_suggestions *list, ms_fit_verdict verdict)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (ms_suggestion_helps(&list->items[i], verdict) && !list->items[i].found.device)
            return true;
    return false;
}

/* Whether a run with it fits worse than the search took it to. */
static bool is_worse(const ms_trials *trials, const ms_suggestion *s)
{
    const ms_trial *t = s->found.device ? NULL : ms_trials_find(trials, s->found.set);
    return t && ms_reason_verdict(s->reason) < ms_reason_verdict(t->reason);
}

/* Whether all that was found does in full what the search took it to do. */
static bool is_as_found(const ms_trials *trials, const ms_found_list *found,
                        const ms_suggestions *list, ms_fit_verdict verdict)
{
    uint32_t as_found = 0;
    for (uint32_t k = 0; k < list->count; k++)
        as_found +=
            ms_suggestion_helps(&list->items[k], verdict) && !is_worse(trials, &list->items[k]);
    return as_found == found->count;
}

/* Where an estimate misled the search, or another rank needs more then, it is done again without;
 * so it is where nothing was found. */
static ms_status add_combinations(const ms_advised *advised, ms_trials *trials,
                                  ms_candidate_set applicable, ms_arena *arena,
                                  ms_suggestions *list)
{
    const ms_summary *s = advised->summary;
    ms_status status =
        ms_other_devices_load(arena, advised->job->run, &trials->others, trials->err);
    bool is_done = false;
    for (int i = 0; i < 2 && status == MS_OK && !is_done; i++) {
        ms_found_list found;
        trials->is_exact = i > 0;
        list->count = 0;
        status =
            ms_search_combinations(trials, applicable, s->verdict, s->high_device_bytes, &found);
        if (!trials->is_exact && (found.count == 0 || found.items[0].device))
            continue;
        if (status == MS_OK)
            status = add(advised, trials, found.items, found.count, (limit){0}, arena, list);
        is_done = is_as_found(trials, &found, list, s->verdict);
    }
    return status;
}

/* What rounds otherwise has to be faster than what does not. */
static bool is_outdone(const ms_suggestions *list, const ms_suggestion *s)
{
    bool is_dear = s->cost == MS_COST_ROUNDING && !isnan(s->added_time);
    for (uint32_t i = 0; i < list->count && is_dear; i++) {
        const ms_suggestion *other = &list->items[i];
        if (other->cost < s->cost && other->added_time <= s->added_time &&
            ms_reason_verdict(other->reason) == MS_VERDICT_FITS)
            return true;
    }
    return false;
}

static void drop_outdone(ms_suggestions *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!is_outdone(list, &list->items[i]))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

static ms_candidate_set tried_of(const ms_advised *advised)
{
    ms_candidate_set tried = 0;
    for (uint32_t i = 0; ms_candidate_at(i); i++)
        if (advised->events <= MS_QUICK_EVENTS || (ms_candidate_at(i)->traits & MS_IS_FIRST))
            tried |= ms_bit(i);
    return tried;
}

ms_status ms_advise(const ms_advised *advised, ms_arena *arena, ms_suggestions *list, ms_error *err)
{
    const ms_summary *summary = advised->summary;
    ms_trials trials = {.job = advised->job, .err = err};
    ms_candidate_set applicable = 0;
    if (!advised->job->run->draft || advised->events > MS_MOST_ADVISED_EVENTS)
        return MS_OK;
    ms_status status = MS_OK;
    if (begin(advised, &trials))
        status = ms_trials_candidates(&trials, tried_of(advised), &applicable);
    else
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
    if (status == MS_OK && summary->verdict != MS_VERDICT_FITS)
        status = add_combinations(advised, &trials, applicable, arena, list);
    if (status == MS_OK && !is_answered(list, summary->verdict))
        status = add_singles(advised, &trials, applicable, arena, list);
    if (status == MS_OK && list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, by_cost);
    if (summary->verdict != MS_VERDICT_FITS)
        drop_outdone(list);
    ms_trials_free(&trials);
    return status;
}
