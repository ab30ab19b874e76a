/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/levers.h"

#include <inttypes.h>
#include <stdio.h>

#include "serve/infer/trial.h"

/* What the engine refuses does not fit. */
static ms_status try_setting(const ms_infer_input *in, const ms_infer_answer *a, const char *field,
                             const char *value, bool *does_fit, ms_error *err)
{
    ms_infer_trial trial = {.fits = false};
    ms_error reason = {0};
    ms_status status =
        ms_infer_try(in, &a->settings, a->engine, field, value, true, &trial, &reason);
    *does_fit = status == MS_OK && trial.is_safe;
    if (status == MS_OK || status == MS_ERR_CONFIG || status == MS_ERR_USAGE)
        return MS_OK;
    *err = reason;
    return status;
}

static ms_status try_value(const ms_infer_input *in, const ms_infer_answer *a,
                           const ms_infer_lever *lever, uint64_t value, bool *does_fit,
                           ms_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return try_setting(in, a, lever->field, text, does_fit, err);
}

/* The largest value from `low`, which fits, to `high`, in steps; `low` where no other fits. */
static ms_status search(const ms_infer_input *in, const ms_infer_answer *a,
                        const ms_infer_lever *lever, uint64_t low, uint64_t high, uint64_t *value,
                        ms_error *err)
{
    ms_status status = MS_OK;
    while (low < high && status == MS_OK) {
        uint64_t steps = (high - low + lever->step) / lever->step;
        uint64_t middle = low + (steps + 1) / 2 * lever->step;
        bool does_fit = false;
        if (middle > high)
            break;
        status = try_value(in, a, lever, middle, &does_fit, err);
        if (does_fit)
            low = middle;
        else
            high = middle - lever->step;
    }
    *value = low;
    return status;
}

/* What coarser trials found, as a run with it has it: steps down from there to `least` until it
 * fits, and tells nothing where it soon does not. */
static ms_status confirm(const ms_infer_input *in, ms_infer_answer *a, const ms_infer_lever *lever,
                         uint64_t least, ms_error *err)
{
    enum { MOST_STEPS = 4 };
    ms_status status = MS_OK;
    for (int i = 0; i < MOST_STEPS && a->engine->is_slow && status == MS_OK; i++) {
        ms_infer_trial trial = {.fits = false};
        char text[24];
        const ms_infer_setting setting = {lever->field, text};
        snprintf(text, sizeof text, "%" PRIu64, a->lever_value);
        status = ms_infer_try_exactly(in, &a->settings, a->engine, &setting, &trial, err);
        if (status != MS_OK || trial.is_safe)
            return status;
        if (a->lever_value < least + lever->step)
            break;
        a->lever_value -= lever->step;
    }
    if (a->engine->is_slow)
        a->lever = NULL;
    return status;
}

ms_status ms_infer_find_less(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < a->result.levers.count && status == MS_OK; i++) {
        const ms_infer_lever *lever = &a->result.levers.items[i];
        bool does_fit = false;
        if (lever->value <= lever->least)
            continue;
        status = try_value(in, a, lever, lever->least, &does_fit, err);
        if (status != MS_OK || !does_fit)
            continue;
        a->lever = lever->field;
        status = search(in, a, lever, lever->least, lever->value - 1, &a->lever_value, err);
        return status == MS_OK ? confirm(in, a, lever, lever->least, err) : status;
    }
    return status;
}

static ms_status take_if_fits(const ms_infer_input *in, ms_infer_answer *a,
                              const ms_infer_setting *setting, ms_error *err)
{
    bool does_fit = false;
    ms_status status = try_setting(in, a, setting->field, setting->value, &does_fit, err);
    if (does_fit)
        a->other = *setting;
    return status;
}

ms_status ms_infer_find_other(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    ms_status status = MS_OK;
    if (a->fits)
        return MS_OK;
    if (a->result.other.field)
        status = take_if_fits(in, a, &a->result.other, err);
    bool is_left = !a->lever && !a->fit.value;
    for (uint32_t i = 0; i < a->result.remedies.count && is_left && !a->other.field; i++) {
        if (status == MS_OK)
            status = take_if_fits(in, a, &a->result.remedies.items[i], err);
    }
    return status;
}

/* The largest value that is of use. */
static uint64_t most_useful(const ms_infer_lever *lever)
{
    return lever->useful && lever->useful < lever->most ? lever->useful : lever->most;
}

static const ms_infer_lever *last_with_more(const ms_infer_result *result)
{
    for (uint32_t i = result->levers.count; i-- > 0;)
        if (result->levers.items[i].value < most_useful(&result->levers.items[i]))
            return &result->levers.items[i];
    return NULL;
}

/* The last lever of which there can be more is the one of which more is of use. Nothing is said
 * where the run fits only just. */
ms_status ms_infer_find_more(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    int full;
    if (a->result.levers.count == 0 || in->budget_bytes == 0 ||
        !ms_infer_result_fits(in, &a->result, !a->result.takes_all, &full))
        return MS_OK;
    const ms_infer_lever *lever = last_with_more(&a->result);
    if (!lever)
        return MS_OK;
    uint64_t low = lever->value - lever->value % lever->step;
    uint64_t least = low > lever->least ? low : lever->least;
    a->lever = lever->field;
    ms_status status = search(in, a, lever, least, most_useful(lever), &a->lever_value, err);
    return status == MS_OK ? confirm(in, a, lever, least, err) : status;
}
