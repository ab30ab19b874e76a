/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/fit.h"

#include <inttypes.h>

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "decide/fit/fewest.h"
#include "decide/fit/trial.h"

typedef ms_fit_trials search;

/* What is not tight is noted. */
static ms_status judge(search *s, uint64_t value, bool *yes)
{
    bool is_safe = false;
    ms_status status = ms_fit_judge(s, value, yes, &is_safe);
    if (is_safe && value > s->answer->safe_value)
        s->answer->safe_value = value;
    return status;
}

/* Whether the last value that did not fit could under an allocator that wastes nothing. */
static bool could_fit(const search *s)
{
    return ms_fit_could_hold(s, s->least_bytes);
}

/* The largest value that may be tried, and why nothing larger is. */
static uint64_t most_of(const search *s, ms_fit_end *end)
{
    const ms_fit_what *what = s->answer->what;
    uint64_t most = what->most;
    *end = MS_FIT_MOST;
    uint64_t learned = ms_model_learned_positions(s->question->model);
    if (what->kind == MS_FIT_SEQ && learned < most) {
        most = learned;
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

/* Past `high`, which does not fit. Afterwards *low is the largest that does. */
static ms_status go_on(search *s, uint64_t most, uint64_t *low, uint64_t high)
{
    ms_fit_answer *answer = s->answer;
    ms_status status = MS_OK;
    bool yes = false;
    answer->searched_to = high > most ? most : high;
    answer->has_all = high > most || !could_fit(s);
    for (uint32_t i = ms_fit_most_in_turn(s); i > 0 && !answer->has_all && status == MS_OK; i--) {
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
    uint32_t left = ms_fit_most_in_turn(s);
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
    const ms_adapter *adapter = s->question->run->adapter;
    uint64_t step = s->answer->step;
    if (s->answer->what->kind == MS_FIT_SEQ && s->question->model->image_tokens)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "what: the sequence follows from the image: %" PRIu64 " tokens",
                       s->question->model->image_tokens);
    if (s->answer->what->kind == MS_FIT_RANK &&
        (!adapter || adapter->kind != MS_ADAPTER_LORA || adapter->rank_count > 0))
        return ms_fail(s->err, MS_ERR_USAGE, "what: rank needs a LoRA adapter of one rank");
    if (s->answer->what->kind == MS_FIT_LAYERS && !ms_adapter_is_uniform(adapter))
        return ms_fail(s->err, MS_ERR_USAGE,
                       "what: layers, but the adapter treats this model's layers differently");
    if (step > s->answer->what->most)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "step: %" PRIu64 " is more than the largest value that is tried", step);
    if (s->question->run->budget_bytes == 0)
        return ms_fail(s->err, MS_ERR_USAGE, "the capacity of %s is not known: give a budget",
                       s->question->run->device->name);
    return MS_OK;
}

static ms_status find_largest(search *s)
{
    ms_fit_answer *answer = s->answer;
    uint64_t low = 0, high = 0, most = most_of(s, &answer->end);
    if (most == 0)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "step: %" PRIu64 " is more than the %" PRIu64
                       " positions the model has learned",
                       answer->step, ms_model_learned_positions(s->question->model));
    ms_status status = bracket(s, most, &low, &high);
    if (status == MS_OK)
        status = halve(s, most, &low, &high);
    if (status == MS_OK)
        status = go_on(s, most, &low, high);
    if (status == MS_OK)
        status = find_safe(s, low);
    answer->value = low;
    answer->first_gap = s->refused < low ? s->refused : 0;
    if (low + answer->step <= most) {
        answer->next = low + answer->step;
        answer->end = MS_FIT_MEMORY;
    }
    return status;
}

static ms_status find_value(search *s)
{
    const ms_fit_question *q = s->question;
    *s->answer = (ms_fit_answer){.what = q->what, .step = q->step ? q->step : q->what->step};
    ms_status status = check(s);
    if (status != MS_OK)
        return status;
    return q->what->kind == MS_FIT_GPUS ? ms_fit_find_fewest(s) : find_largest(s);
}

static search begin(const ms_fit_question *question, ms_fit_answer *answer, ms_error *err)
{
    return (search){.question = question, .answer = answer, .err = err, .refused = UINT64_MAX};
}

ms_status ms_fit_find_value(const ms_fit_question *question, ms_fit_answer *answer, ms_error *err)
{
    search s = begin(question, answer, err);
    return find_value(&s);
}

ms_status ms_fit_search(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                        ms_error *err)
{
    search s = begin(question, answer, err);
    ms_status status = find_value(&s);
    if (status == MS_OK && answer->next > 0)
        status = ms_fit_look(&s, arena, answer->next, &answer->at_next);
    if (status == MS_OK && answer->value > 0)
        status = ms_fit_look(&s, arena, answer->value, &answer->at_value);
    answer->at_safe = answer->at_value;
    if (status == MS_OK && answer->safe_value > 0 && answer->safe_value != answer->value)
        status = ms_fit_look(&s, arena, answer->safe_value, &answer->at_safe);
    return status;
}
