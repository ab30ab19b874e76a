/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "largest/fit.h"

#include <inttypes.h>
#include <string.h>

#include "config/adapter/adapter_match.h"
#include "config/model/model_keys.h"
#include "config/model/model_read.h"
#include "plan/costs/measure.h"
#include "plan/search/simulate.h"
#include "simulate/ranks.h"
#include "text/nearest.h"
#include "config/run/budget.h"
#include "plan/search/search.h"
#include "plan/costs/cost_model.h"

enum { MOST_BATCH = 1 << 20, MOST_TOKENS = 1 << 24, MOST_RANK = 1 << 16, MOST_LAYERS = 4096 };

static const ms_fit_what whats[] = {
    {"batch", "sequences per micro-batch", 1, MOST_BATCH},
    {"seq", "tokens per sequence", 64, MOST_TOKENS},
    {"rank", "of the adapter", 1, MOST_RANK},
    {"layers", "like this model's own", 1, MOST_LAYERS},
};
enum { BATCH, SEQ, RANK, LAYERS };

const char *const ms_fit_end_names[] = {
    [MS_FIT_MEMORY] = "memory", [MS_FIT_POSITIONS] = "positions", [MS_FIT_MOST] = "most"};

const ms_fit_what *ms_fit_what_at(size_t index)
{
    return index < sizeof whats / sizeof whats[0] ? &whats[index] : NULL;
}

ms_status ms_fit_what_find(const char *name, const ms_fit_what **what, ms_error *err)
{
    char hint[64];
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; (*what = ms_fit_what_at(i)) != NULL; i++) {
        if (ms_name_equal((*what)->name, name))
            return MS_OK;
        ms_nearest_offer(&nearest, (*what)->name);
    }
    return ms_fail(err, MS_ERR_USAGE, "what: '%.40s' is not one of batch, seq, rank and layers%s",
                   name, ms_nearest_hint(&nearest, hint, sizeof hint));
}

/* A search under way. A trial has its own arena, so that many of them need no more than one. */
typedef struct search {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_fit_answer *answer;
    ms_error *err;
    uint64_t least_bytes; /* of the last value that did not fit: see ms_simulated_least_bytes */
    uint64_t refused;     /* the smallest value that did not fit; UINT64_MAX: none */
} search;

/* ---- one value ---- */

ms_status ms_fit_apply(const ms_job *job, const ms_fit_what *what, uint64_t value, ms_arena *arena,
                       ms_variation *v, ms_error *err)
{
    *v = ms_vary(job, arena);
    bool done = ms_vary_treatments(v) != NULL;
    switch (what - whats) {
    case BATCH:
        v->run.batch = value;
        break;
    case SEQ:
        if (v->run.parallel.splits_sequence || v->run.parallel.layout.context > 1)
            return ms_fail(err, MS_ERR_USAGE,
                           "what: seq is not searched with %s, which splits it evenly: give seq",
                           v->run.parallel.splits_sequence ? "sequence-parallel"
                                                           : "context parallelism");
        v->run.seq_tokens = value;
        break;
    case RANK:
        done = done && ms_vary_rank(v, value);
        break;
    default:
        if (ms_layout_has_stages(&v->run.parallel.layout))
            return ms_fail(err, MS_ERR_USAGE,
                           "what: layers are not searched with pp=N, whose stages need one each: "
                           "change the model's config");
        done = done && ms_vary_layers(v, value);
        break;
    }
    if (!done)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a run");
    ms_status status = ms_shares_resolve(arena, &v->model, &v->run, err);
    return status == MS_OK ? ms_ranks_settle(arena, &v->model, &v->run, err) : status;
}

static ms_status apply(search *s, ms_arena *arena, uint64_t value, ms_variation *v)
{
    const ms_job job = {.model = s->model, .run = s->run};
    return ms_fit_apply(&job, s->answer->what, value, arena, v, s->err);
}

/* One simulation of the value; what is not tight is noted. */
static ms_status judge(search *s, uint64_t value, bool *yes)
{
    ms_variation v;
    ms_simulated simulated = {.judgement.reason = MS_FIT_NO_ROOM};
    ms_fit_answer *answer = s->answer;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a run");
    ms_status status = apply(s, arena, value, &v);
    const ms_job job = ms_variation_job(&v);
    if (status == MS_OK)
        status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, s->err);
    answer->simulations++;
    *yes = ms_reason_fits(simulated.judgement.reason);
    if (!*yes)
        s->least_bytes = ms_simulated_least_bytes(&simulated);
    if (!*yes && value < s->refused)
        s->refused = value;
    if (ms_reason_verdict(simulated.judgement.reason) == MS_VERDICT_FITS &&
        value > answer->safe_value)
        answer->safe_value = value;
    if (status == MS_OK)
        ms_simulated_free(&simulated);
    ms_arena_free(arena);
    return status;
}

/* Whether the last value that did not fit could under an allocator that wastes nothing. */
static bool could_fit(const search *s)
{
    return ms_budget_device_bytes(s->run->device, s->least_bytes).expected <= s->run->budget_bytes;
}

/* In full, for the report. */
static ms_status look(search *s, ms_arena *arena, uint64_t value, ms_step_figures *figures)
{
    ms_variation v;
    ms_status status = apply(s, arena, value, &v);
    if (status != MS_OK)
        return status;
    s->answer->simulations++;
    return ms_step_plan_simulate(arena, &v.model, &v.run, &v.run.treatments, figures, s->err);
}

/* ---- searching ---- */

/* The largest value that may be tried, and why nothing larger is. */
static uint64_t most_of(const search *s, ms_fit_end *end)
{
    const ms_fit_what *what = s->answer->what;
    uint64_t most = what->most;
    *end = MS_FIT_MOST;
    if (what - whats == SEQ && ms_model_learns_positions(s->model->family) &&
        s->model->max_positions < most) {
        most = s->model->max_positions;
        *end = MS_FIT_POSITIONS;
    }
    return most / s->answer->step * s->answer->step;
}

/* Afterwards `low` fits (or is 0), and `high` does not, or is past `most`. */
static ms_status bracket(search *s, uint64_t most, uint64_t *low, uint64_t *high)
{
    uint64_t step = s->answer->step;
    bool yes = true;
    ms_status status = MS_OK;
    *low = 0;
    *high = step;
    while (status == MS_OK && *high <= most) {
        status = judge(s, *high, &yes);
        if (!yes)
            return status;
        *low = *high;
        *high = *high == most ? most + step : *high > most / 2 ? most : 2 * *high;
    }
    return status;
}

static ms_status halve(search *s, uint64_t most, uint64_t *low, uint64_t *high)
{
    uint64_t step = s->answer->step;
    ms_status status = MS_OK;
    while (status == MS_OK && *high <= most && *high - *low > step) {
        uint64_t middle = *low + (*high - *low) / (2 * step) * step;
        bool yes = false;
        status = judge(s, middle, &yes);
        *(yes ? low : high) = middle;
    }
    return status;
}

/* How many values are tried one by one, upwards (and on, while they fit) and downwards: of deep
 * models fewer. */
static uint32_t most_in_turn(const search *s)
{
    enum { LAYERS_IN_TURN = 2048, LEAST = 8, MOST = 64 };
    uint64_t count = LAYERS_IN_TURN / s->model->num_layers;
    return count < LEAST ? LEAST : count > MOST ? MOST : (uint32_t)count;
}

/* Past `high`, which does not fit. Afterwards *low is the largest that does. */
static ms_status go_on(search *s, uint64_t most, uint64_t *low, uint64_t high)
{
    ms_fit_answer *answer = s->answer;
    ms_status status = MS_OK;
    bool yes = false;
    answer->searched_to = high > most ? most : high;
    answer->has_all = high > most || !could_fit(s);
    for (uint32_t i = most_in_turn(s); i > 0 && !answer->has_all && status == MS_OK; i--) {
        uint64_t value = answer->searched_to + answer->step;
        answer->has_all = value > most;
        if (answer->has_all)
            break;
        status = judge(s, value, &yes);
        answer->searched_to = value;
        if (yes)
            *low = value;
        if (yes && i == 1)
            i++;
        answer->has_all = !yes && !could_fit(s);
    }
    return status;
}

/* The largest value that is not tight, of those up to `tight`, which is: first one below it, with
 * one above that is, then all between, from the largest on. */
static ms_status find_safe(search *s, uint64_t tight)
{
    ms_fit_answer *answer = s->answer;
    uint64_t step = answer->step, value = tight;
    uint32_t left = most_in_turn(s);
    ms_status status = MS_OK;
    bool yes;
    while (status == MS_OK && tight - answer->safe_value > step) {
        uint64_t low = answer->safe_value, middle = low + (tight - low) / (2 * step) * step;
        status = judge(s, middle, &yes);
        if (answer->safe_value < middle)
            tight = middle;
    }
    for (; left > 0 && status == MS_OK && value > tight + step && answer->safe_value < value;
         left--) {
        value -= step;
        status = judge(s, value, &yes);
    }
    answer->has_all = answer->has_all && (answer->safe_value >= value || value <= tight + step);
    return status;
}

static ms_status check(const search *s)
{
    const ms_adapter *adapter = s->run->adapter;
    uint64_t step = s->answer->step;
    if (s->answer->what - whats == SEQ && s->model->image_tokens)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "what: the sequence follows from the image: %" PRIu64 " tokens",
                       s->model->image_tokens);
    if (s->answer->what - whats == RANK &&
        (!adapter || adapter->kind != MS_ADAPTER_LORA || adapter->rank_count > 0))
        return ms_fail(s->err, MS_ERR_USAGE, "what: rank needs a LoRA adapter of one rank");
    if (s->answer->what - whats == LAYERS && !ms_adapter_is_uniform(adapter))
        return ms_fail(s->err, MS_ERR_USAGE,
                       "what: layers, but the adapter treats this model's layers differently");
    if (step > s->answer->what->most)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "step: %" PRIu64 " is more than the largest value that is tried", step);
    if (s->run->budget_bytes == 0)
        return ms_fail(s->err, MS_ERR_USAGE, "the capacity of %s is not known: give a budget",
                       s->run->device->name);
    return MS_OK;
}

ms_status ms_fit_find_value(const ms_model_config *model, const ms_run_config *run,
                            const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                            ms_error *err)
{
    *answer = (ms_fit_answer){.what = what, .step = step ? step : what->step};
    search s = {model, run, answer, err, 0, UINT64_MAX};
    uint64_t low = 0, high = 0;
    ms_status status = check(&s);
    if (status != MS_OK)
        return status;
    uint64_t most = most_of(&s, &answer->end);
    if (most == 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "step: %" PRIu64 " is more than the %" PRIu64
                       " positions the model has learned",
                       answer->step, model->max_positions);
    status = bracket(&s, most, &low, &high);
    if (status == MS_OK)
        status = halve(&s, most, &low, &high);
    if (status == MS_OK)
        status = go_on(&s, most, &low, high);
    if (status == MS_OK)
        status = find_safe(&s, low);
    answer->value = low;
    answer->first_gap = s.refused < low ? s.refused : 0;
    if (low + answer->step <= most) {
        answer->next = low + answer->step;
        answer->end = MS_FIT_MEMORY;
    }
    return status;
}

ms_status ms_fit_search(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                        const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                        ms_error *err)
{
    search s = {model, run, answer, err, 0, UINT64_MAX};
    ms_status status = ms_fit_find_value(model, run, what, step, answer, err);
    if (status == MS_OK && answer->next > 0)
        status = look(&s, arena, answer->next, &answer->at_next);
    if (status == MS_OK && answer->value > 0)
        status = look(&s, arena, answer->value, &answer->at_value);
    answer->at_safe = answer->at_value;
    if (status == MS_OK && answer->safe_value > 0 && answer->safe_value < answer->value)
        status = look(&s, arena, answer->safe_value, &answer->at_safe);
    return status;
}
