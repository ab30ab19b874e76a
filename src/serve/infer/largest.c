/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/largest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/infer/trial.h"

/* ---- largest ---- */

/* The values that are tried, by index: what needs more memory has the larger one. */
typedef struct ladder {
    const char *field;
    uint64_t least, most, step, count;
    bool goes_on;   /* there are larger ones, which are not tried */
    bool has_names; /* in place of numbers, the largest first */
    const char *names[MS_INFER_MOST_QUANTS];
} ladder;

typedef struct searching {
    const ms_infer_input *in;
    ms_infer_answer *a;
    ladder values;
    ms_error refusal; /* of the last trial that the engine refused */
    ms_error *err;
} searching;

/* The last one may be nearer than a step. */
static uint64_t number_at(const ladder *l, uint64_t index)
{
    uint64_t number = l->least + index * l->step;
    return number < l->most ? number : l->most;
}

static const char *value_at(const searching *s, uint64_t index)
{
    const ladder *l = &s->values;
    const char *text = l->has_names
                           ? l->names[l->count - 1 - index]
                           : ms_arena_printf(s->in->arena, "%" PRIu64, number_at(l, index));
    if (!text)
        (void)ms_infer_no_memory(s->err);
    return text;
}

/* ---- values ---- */

static bool take_lever(const ms_infer_result *result, ladder *values)
{
    for (uint32_t i = 0; i < result->levers.count; i++) {
        const ms_infer_lever *lever = &result->levers.items[i];
        if (strcmp(lever->field, values->field) != 0)
            continue;
        values->least = lever->least;
        values->step = lever->step;
        values->most = lever->most;
        values->count = (lever->most - lever->least + lever->step - 1) / lever->step + 1;
        values->goes_on = lever->goes_on;
        return true;
    }
    return false;
}

static bool take_concurrency(const ms_infer_engine *engine, ladder *values)
{
    int row = ms_config_field_find(&ms_infer_table, values->field);
    values->least = values->step = 1;
    values->goes_on = engine->most_sequences == 0;
    values->most = values->count =
        values->goes_on ? (uint64_t)ms_infer_table.rows[row].maximum : engine->most_sequences;
    return true;
}

static ms_status take_quants(searching *s)
{
    size_t count = 0;
    s->values.has_names = true;
    ms_status status =
        ms_infer_quants(s->in, &s->a->settings, s->a->engine, s->values.names, &count, s->err);
    s->values.count = count;
    return status;
}

static ms_status make_values(searching *s)
{
    ms_infer_fit_kind kind = s->a->settings.fit;
    ms_infer_result result;
    s->values = (ladder){.field = ms_infer_fit_names[kind]};
    if (s->in->budget_bytes == 0)
        return ms_fail(s->err, MS_ERR_USAGE, "fit: the memory of %s is not known: give --budget",
                       s->in->device->name);
    if (kind == MS_INFER_FIT_QUANT && !s->in->document)
        return ms_fail(s->err, MS_ERR_USAGE,
                       "fit: the types in a GGUF file are fixed; give the model's config.json");
    ms_status status =
        ms_infer_engine_run(s->in, &s->a->settings, s->a->engine, s->in->arena, &result, s->err);
    if (status != MS_OK)
        return status;
    bool is_quant = kind == MS_INFER_FIT_QUANT, is_there = is_quant && s->a->engine->quants;
    if (is_there)
        status = take_quants(s);
    else if (!is_quant)
        is_there = take_lever(&result, &s->values);
    if (!is_there && kind == MS_INFER_FIT_CONCURRENCY)
        is_there = take_concurrency(s->a->engine, &s->values);
    ms_infer_result_free(&result);
    if (is_there)
        return status;
    return ms_fail(s->err, MS_ERR_USAGE, "fit: with these settings %s has no %s to choose",
                   s->a->engine->name, s->values.field);
}

/* ---- the search ---- */

static bool is_refusal(ms_status status)
{
    return status == MS_ERR_USAGE || status == MS_ERR_CONFIG || status == MS_ERR_LIMIT;
}

/* A value that the engine refuses does not fit, unless it is the least. */
static ms_status try_index(searching *s, uint64_t index, bool only_fits, ms_infer_trial *trial)
{
    const char *value = value_at(s, index);
    ms_error err = {.status = MS_OK};
    *trial = (ms_infer_trial){.fits = false};
    if (!value)
        return MS_ERR_NOMEM;
    s->a->fit.trials++;
    ms_status status = ms_infer_try(s->in, &s->a->settings, s->a->engine, s->values.field, value,
                                    only_fits, trial, &err);
    if (status == MS_OK)
        return MS_OK;
    if (index > 0 && is_refusal(status)) {
        s->refusal = err;
        return MS_OK;
    }
    return ms_fail(s->err, status, "%s", err.text);
}

static bool does_fit(const ms_infer_trial *trial, bool is_safe)
{
    return is_safe ? trial->is_safe : trial->fits;
}

/* Doubles the distance from `low`, which fits, up to `end`; then halves it. */
static ms_status bisect(searching *s, bool is_safe, uint64_t low, uint64_t end, uint64_t *found)
{
    ms_infer_trial trial;
    ms_status status = MS_OK;
    uint64_t high = end;
    for (uint64_t by = 1; low + by < high && status == MS_OK; by *= 2) {
        status = try_index(s, low + by, true, &trial);
        if (status == MS_OK && !does_fit(&trial, is_safe)) {
            high = low + by;
            break;
        }
        low += status == MS_OK ? by : 0;
    }
    while (status == MS_OK && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        status = try_index(s, middle, true, &trial);
        if (does_fit(&trial, is_safe))
            low = middle;
        else
            high = middle;
    }
    *found = low;
    return status;
}

enum { MOST_BEYOND = 64, MOST_OF_SLOW = 2 };

/* A larger value may fit where one does not, as what an allocator arranges differs from value to
 * value: tries them, until what never shrinks is too large. */
static ms_status look_beyond(searching *s, uint64_t *found)
{
    ms_infer_fit *fit = &s->a->fit;
    uint64_t first = *found + 1, most = s->a->engine->is_slow ? MOST_OF_SLOW : MOST_BEYOND;
    fit->has_all = first >= s->values.count && !s->values.goes_on;
    for (uint64_t i = first; i < s->values.count && i - first < most; i++) {
        ms_infer_trial trial;
        ms_status status = try_index(s, i, true, &trial);
        if (status != MS_OK)
            return status;
        if (trial.fits)
            *found = i;
        fit->has_all = !trial.has_floor || (i + 1 == s->values.count && !s->values.goes_on);
        if (!trial.has_floor)
            break;
    }
    return MS_OK;
}

static ms_status find_safe(searching *s, uint64_t value, const ms_infer_trial *at_least)
{
    uint64_t safe = 0;
    if (!at_least->is_safe)
        return MS_OK;
    ms_status status = bisect(s, true, 0, value + 1, &safe);
    s->a->fit.safe = status == MS_OK ? value_at(s, safe) : NULL;
    return status;
}

static ms_status say_next(searching *s, uint64_t index)
{
    ms_infer_fit *fit = &s->a->fit;
    ms_infer_trial trial;
    if (index >= s->values.count)
        return MS_OK;
    s->refusal = (ms_error){.status = MS_OK};
    ms_status status = try_index(s, index, false, &trial);
    if (status != MS_OK)
        return status;
    fit->next = value_at(s, index);
    fit->next_bytes = trial.needed_bytes;
    if (s->refusal.status != MS_OK)
        fit->refusal = ms_arena_strdup(s->in->arena, s->refusal.text);
    return fit->next ? MS_OK : MS_ERR_NOMEM;
}

static ms_status find(searching *s)
{
    ms_infer_fit *fit = &s->a->fit;
    ms_infer_trial least;
    uint64_t found = 0;
    ms_status status = try_index(s, 0, true, &least);
    fit->least = value_at(s, 0);
    if (status != MS_OK || !fit->least)
        return status != MS_OK ? status : MS_ERR_NOMEM;
    if (!least.fits) {
        fit->has_all = !least.has_floor;
        return MS_OK;
    }
    status = bisect(s, false, 0, s->values.count, &found);
    if (status == MS_OK)
        status = look_beyond(s, &found);
    if (status == MS_OK)
        status = say_next(s, found + 1);
    if (status == MS_OK)
        status = find_safe(s, found, &least);
    if (status == MS_OK)
        fit->value = value_at(s, found);
    return status;
}

ms_status ms_infer_find_largest(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    searching s = {.in = in, .a = a, .err = err};
    ms_status status = make_values(&s);
    if (status == MS_OK)
        status = find(&s);
    if (status != MS_OK)
        return status;
    a->fit.what = s.values.field;
    a->fit.step = s.values.step;
    return ms_infer_settings_set(&a->settings, in->arena, s.values.field,
                                 a->fit.value ? a->fit.value : a->fit.least, err);
}

/* ---- levers ---- */

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
