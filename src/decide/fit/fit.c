/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/fit.h"

#include <inttypes.h>

#include "decide/fit/trial.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "run/simulate/change.h"

/* ---- fewest ---- */

/* Finds the fewest GPUs that a training fits on, by simulation: what varies is how many ranks share
 * the parameters. */

enum { MOST_TRIED = 1024 };

typedef enum grade { UNTRIED, NO, TIGHT, SAFE } grade;

typedef struct fewest {
    ms_fit_trials *trials;
    uint64_t step, first, most; /* values are first, first + step, ... up to most */
    uint64_t excluded;          /* neither this number nor any below can fit; 0: unknown */
    grade grades[MOST_TRIED + 1];
} fewest;

static ms_status try_value(fewest *f, uint64_t value)
{
    bool fits = false, is_safe = false;
    if (f->grades[value] != UNTRIED)
        return MS_OK;
    ms_status status = ms_fit_judge(f->trials, value, &fits, &is_safe);
    f->grades[value] = is_safe ? SAFE : fits ? TIGHT : NO;
    if (status == MS_OK && !fits && value > f->excluded &&
        !ms_fit_could_hold(f->trials, f->trials->kept_bytes))
        f->excluded = value;
    return status;
}

/* Afterwards *high has at least that grade and *low, which is below, has not; or *high is 0. *low
 * is 0 where the first value is good. */
static ms_status fewest_bracket(fewest *f, grade least, uint64_t first, uint64_t *low,
                                uint64_t *high)
{
    ms_status status = MS_OK;
    *low = 0;
    for (uint64_t value = first; value <= f->most;) {
        status = try_value(f, value);
        *high = value;
        if (status != MS_OK || f->grades[value] >= least)
            return status;
        *low = value;
        uint64_t twice = f->first + (2 * value - f->first) / f->step * f->step;
        value = value < f->most && twice > f->most ? f->most : twice;
    }
    *high = 0;
    return status;
}

static ms_status fewest_halve(fewest *f, grade least, uint64_t low, uint64_t *high)
{
    ms_status status = MS_OK;
    while (status == MS_OK && low > 0 && *high - low > f->step) {
        uint64_t middle = low + (*high - low) / (2 * f->step) * f->step;
        status = try_value(f, middle);
        *(f->grades[middle] >= least ? high : &low) = middle;
    }
    return status;
}

/* All below *value, from the largest on. */
static ms_status try_fewer(fewest *f, grade least, uint64_t first, uint64_t *value)
{
    ms_fit_answer *answer = f->trials->answer;
    uint32_t left = ms_fit_most_in_turn(f->trials);
    ms_status status = MS_OK;
    for (uint64_t next = *value; status == MS_OK && next > first && next - f->step > f->excluded;) {
        next -= f->step;
        if (f->grades[next] == UNTRIED && left-- == 0) {
            answer->has_all = false;
            return MS_OK;
        }
        status = try_value(f, next);
        if (f->grades[next] >= least)
            *value = next;
        if (next < answer->searched_to)
            answer->searched_to = next;
    }
    return status;
}

/* The fewest GPUs of that grade; 0: none. */
static ms_status find(fewest *f, grade least, uint64_t first, uint64_t *value)
{
    uint64_t low = 0;
    ms_status status = fewest_bracket(f, least, first, &low, value);
    if (status == MS_OK && *value > 0)
        status = fewest_halve(f, least, low, value);
    return status == MS_OK && *value > 0 ? try_fewer(f, least, first, value) : status;
}

/* ---- what can be searched ---- */

static ms_status refuse(const ms_fit_trials *t, const char *why)
{
    return ms_fail(t->err, MS_ERR_USAGE, "what: gpus are not searched with %s", why);
}

static ms_status fewest_check(const ms_fit_trials *t)
{
    const ms_parallel *parallel = &t->question->shared->parallel;
    const ms_layout *layout = &parallel->layout;
    if (layout->kind == MS_PARALLEL_DDP)
        return refuse(t, "dp=N, under which each holds the whole model: give parallel fsdp=N, "
                         "hsdp=RxS, fsdp1=N or zero=STAGE,dp=N");
    if (layout->kind == MS_PARALLEL_TP || layout->kind == MS_PARALLEL_PP)
        return refuse(t, layout->kind == MS_PARALLEL_TP ? "tp=N alone: give tp=N,fsdp=M"
                                                        : "pp=N alone: give fsdp=M as well");
    if (parallel->choice.kind == MS_RANK_ONE)
        return refuse(t, "rank: each rank must fit");
    if (parallel->reshard_ranks > 0)
        return refuse(t, "reshard-ranks, which must divide them");
    if (parallel->build == MS_BUILD_BROADCAST)
        return refuse(t, "build broadcast, which is predicted only for even shards");
    return MS_OK;
}

/* GPUs that are added together: the smallest number by which the layout can grow. */
static uint64_t unit_of(const ms_layout *layout)
{
    return ms_layout_world(layout) / layout->shards * (layout->context > 1 ? layout->context : 1);
}

static uint64_t up_to_multiple(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static ms_status set_range(fewest *f)
{
    const ms_fit_trials *t = f->trials;
    const ms_layout *layout = &t->question->shared->parallel.layout;
    bool has_one = t->question->run->parallel.layout.kind == MS_PARALLEL_NONE;
    uint64_t unit = unit_of(layout), least = layout->context > 1 ? unit : 2 * unit;
    f->step = t->question->step ? t->question->step : unit;
    if (f->step % unit)
        return ms_fail(t->err, MS_ERR_USAGE,
                       "step: %" PRIu64 " GPUs, but this layout grows by %" PRIu64, f->step, unit);
    f->first = up_to_multiple(has_one ? 1 : least, f->step);
    f->most = MOST_TRIED / f->step * f->step;
    if (f->first <= f->most)
        return MS_OK;
    return ms_fail(t->err, MS_ERR_USAGE,
                   "what: gpus are searched up to %d, but this layout starts at %" PRIu64,
                   MOST_TRIED, f->first);
}

static void conclude(const fewest *f)
{
    ms_fit_answer *answer = f->trials->answer;
    answer->step = f->step;
    answer->end = MS_FIT_MEMORY;
    if (answer->value == 0) {
        answer->next = f->most;
        return;
    }
    if (answer->value == f->first)
        answer->end = MS_FIT_LEAST;
    else
        answer->next = answer->value - f->step;
    for (uint64_t more = answer->value + f->step; more <= f->most && !answer->first_gap;
         more += f->step)
        if (f->grades[more] == NO)
            answer->first_gap = more;
}

/* Doubles the number, then bisects, then tries fewer one by one, because padding and fragmentation
 * differ from number to number. Stops where a rank's weights and optimizer states alone exceed the
 * memory, as they do with fewer GPUs, or after a bounded number of trials. The fewest that are safe
 * are searched in the same way, above. Fills value, safe_value, next, end and what of the search
 * they say. Refuses layouts whose ranks cannot be added one by one. */
static ms_status fit_find_fewest(ms_fit_trials *trials)
{
    fewest f = {.trials = trials};
    ms_fit_answer *answer = trials->answer;
    ms_status status = fewest_check(trials);
    if (status == MS_OK)
        status = set_range(&f);
    if (status != MS_OK)
        return status;
    answer->layout = trials->question->shared->parallel.layout;
    answer->has_all = true;
    answer->searched_to = f.most;
    status = find(&f, TIGHT, f.first, &answer->value);
    if (status == MS_OK && answer->value > 0) {
        answer->safe_value = answer->value;
        if (f.grades[answer->value] != SAFE)
            status = find(&f, SAFE, answer->value + f.step, &answer->safe_value);
    }
    conclude(&f);
    return status;
}

/* ---- mixed ---- */

static bool vary(const ms_fit_question *q, const ms_run_config *run, const ms_change *change,
                 ms_arena *arena, ms_variation *v, const char **option)
{
    *v = ms_vary_run(q->model, run, arena);
    return ms_vary_by(v, change, option);
}

/* The same question of the run with the change; no options where it does not apply. */
static ms_status find_changed(ms_arena *arena, const ms_fit_question *question,
                              const ms_change *change, bool is_of_gpus, ms_fit_mixed *answer,
                              ms_error *err)
{
    const char *alone = NULL, *sharing = NULL;
    ms_fit_answer found;
    ms_variation one, shared;
    *answer = (ms_fit_mixed){0};
    if (!vary(question, question->run, change, arena, &one, &alone) ||
        (is_of_gpus && !vary(question, question->shared, change, arena, &shared, &sharing)))
        return MS_OK;
    if (!alone || (is_of_gpus && !sharing))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    const ms_fit_question changed = {question->what, question->step, question->model, &one.run,
                                     is_of_gpus ? &shared.run : question->shared};
    ms_status status = ms_fit_find_value(&changed, &found, err);
    if (status == MS_OK)
        *answer = (ms_fit_mixed){is_of_gpus && found.value != 1 ? sharing : alone, found.value,
                                 found.safe_value};
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE ? MS_OK : status;
}

ms_status ms_fit_find_mixed(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                            ms_error *err)
{
    const bool is_of_gpus = ms_fit_is_of_gpus(answer);
    answer->mixed = answer->prepared = (ms_fit_mixed){0};
    if (question->run->adapter)
        return find_changed(arena, question, &ms_peft_change, is_of_gpus, &answer->prepared, err);
    return answer->value
               ? find_changed(arena, question, &ms_mixed_change, is_of_gpus, &answer->mixed, err)
               : MS_OK;
}

/* ---- fit ---- */

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
    return q->what->kind == MS_FIT_GPUS ? fit_find_fewest(s) : find_largest(s);
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
