/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/fewest.h"

#include <inttypes.h>

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
static ms_status bracket(fewest *f, grade least, uint64_t first, uint64_t *low, uint64_t *high)
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

static ms_status halve(fewest *f, grade least, uint64_t low, uint64_t *high)
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
    ms_status status = bracket(f, least, first, &low, value);
    if (status == MS_OK && *value > 0)
        status = halve(f, least, low, value);
    return status == MS_OK && *value > 0 ? try_fewer(f, least, first, value) : status;
}

/* ---- what can be searched ---- */

static ms_status refuse(const ms_fit_trials *t, const char *why)
{
    return ms_fail(t->err, MS_ERR_USAGE, "what: gpus are not searched with %s", why);
}

static ms_status check(const ms_fit_trials *t)
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
        return refuse(t, "build broadcast, which is predicted for even shards alone");
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
                   "what: gpus are searched up to %d, but this layout begins with %" PRIu64,
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

ms_status ms_fit_find_fewest(ms_fit_trials *trials)
{
    fewest f = {.trials = trials};
    ms_fit_answer *answer = trials->answer;
    ms_status status = check(trials);
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
