/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/check/verdict.h"

#include <string.h>

#include "input/config/load/locate.h"
#include "base/text/size.h"
#include "model/families.h"

const char *const ms_outcome_names[] = {
    [MS_OUTCOME_SKIPPED] = "skipped", [MS_OUTCOME_PASSED] = "passed",
    [MS_OUTCOME_WARNED] = "warned",   [MS_OUTCOME_UNKNOWN] = "unknown",
    [MS_OUTCOME_OVER] = "over",       [MS_OUTCOME_FAILED] = "failed",
};

/* ---- figures ---- */

static uint64_t sum_of(const ms_report_parts *parts, const char *a, const char *b)
{
    return ms_report_part_bytes(parts, a) + ms_report_part_bytes(parts, b);
}

static uint64_t measured(const ms_report *r, const ms_limits *limits, bool expected)
{
    switch (limits->measure) {
    case MS_MEASURE_PEAK:
        return expected ? r->expected_bytes : r->high_bytes;
    case MS_MEASURE_FORWARD:
    case MS_MEASURE_BACKWARD:
    case MS_MEASURE_OPTIMIZER:
        return ms_report_part_bytes(&r->phases, ms_measure_names[limits->measure]);
    case MS_MEASURE_WEIGHTS:
        return r->is_inference ? ms_report_part_bytes(&r->categories, "weights")
                               : sum_of(&r->categories, "weight", "buffer");
    case MS_MEASURE_ACTIVATIONS:
        return sum_of(&r->categories, "activation", "input");
    case MS_MEASURE_RESERVED:
        return r->reserved_bytes;
    case MS_MEASURE_COUNT:
        break;
    }
    return 0;
}

/* ---- limits ---- */

static ms_status fail_at(ms_error *err, const ms_error *place, const char *text)
{
    if (err->status != MS_OK)
        return err->status;
    ms_error_set(err, MS_ERR_CONFIG, "%s", text);
    ms_error_copy_place(err, place);
    return MS_ERR_CONFIG;
}

static void add_breach(ms_verdict *v, const char *key, const ms_budget_limit *limit, uint64_t bytes,
                       bool is_warning)
{
    if (!is_warning && (v->limit_bytes == 0 || bytes < v->limit_bytes))
        v->limit_bytes = bytes;
    if (v->used_bytes > bytes)
        v->breaches[v->breach_count++] = (ms_breach){key, limit, bytes, is_warning};
}

static ms_status judge_absolute(ms_verdict *v, const char *key, const ms_budget_limit *limit,
                                bool is_warning, ms_error *err)
{
    if (!limit->text)
        return MS_OK;
    if (limit->amount.has_share && v->device_bytes == 0)
        return fail_at(err, limit->place, "this device's capacity is not known; give a size");
    uint64_t bytes = limit->amount.has_share ? ms_share_of(v->device_bytes, limit->amount.share)
                                             : limit->amount.bytes;
    add_breach(v, key, limit, bytes, is_warning);
    return MS_OK;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static ms_status judge_increase(ms_verdict *v, ms_error *err)
{
    const ms_budget_limit *limit = &v->budget->limits.increase;
    const ms_amount *amount = &limit->amount;
    if (!limit->text)
        return MS_OK;
    if (!v->has_before)
        return fail_at(err, limit->place, "max_increase needs a baseline to compare with");
    uint64_t by_share = ms_share_of(v->before_bytes, amount->share), more = amount->bytes;
    if (amount->has_share && !amount->has_bytes)
        more = by_share;
    else if (amount->has_share && (amount->needs_both ? by_share > more : by_share < more))
        more = by_share;
    add_breach(v, "max_increase", limit, add(v->before_bytes, more), false);
    return MS_OK;
}

/* What is tight, or does not fit, is a warning unless the budget says what it must be. */
static ms_outcome judge_fit(const ms_verdict *v)
{
    static const ms_fit_verdict least[] = {[MS_REQUIRE_NOTHING] = MS_VERDICT_NO,
                                           [MS_REQUIRE_TIGHT] = MS_VERDICT_TIGHT,
                                           [MS_REQUIRE_FITS] = MS_VERDICT_FITS};
    ms_require require = v->budget->limits.require;
    if (!v->report.has_reason)
        return MS_OUTCOME_PASSED;
    ms_fit_verdict is = ms_reason_verdict(v->report.reason);
    if (require == MS_REQUIRE_UNSAID)
        return is < MS_VERDICT_FITS ? MS_OUTCOME_WARNED : MS_OUTCOME_PASSED;
    return is < least[require] ? MS_OUTCOME_OVER : MS_OUTCOME_PASSED;
}

/* What only adds cannot make a run pass that does not, and what only saves cannot make one fail. */
static ms_outcome with_left_out(const ms_report *r, ms_outcome outcome)
{
    const bool is_open = outcome == MS_OUTCOME_OVER ? r->left_out.saves : r->left_out.adds;
    return outcome != MS_OUTCOME_SKIPPED && is_open ? MS_OUTCOME_UNKNOWN : outcome;
}

static ms_outcome outcome_of(const ms_verdict *v)
{
    const ms_limits *l = &v->budget->limits;
    bool has_limit = l->max.text || l->warn.text || l->increase.text || l->require;
    ms_outcome worst = has_limit ? v->by_fit : MS_OUTCOME_SKIPPED;
    for (uint32_t i = 0; i < v->breach_count; i++) {
        ms_outcome this = v->breaches[i].is_warning ? MS_OUTCOME_WARNED : MS_OUTCOME_OVER;
        worst = this > worst ? this : worst;
    }
    return with_left_out(&v->report, worst);
}

ms_status ms_verdict_judge(ms_arena *arena, ms_verdict *v, ms_error *err)
{
    const ms_limits *limits = &v->budget->limits;
    bool expected = limits->uses_expected;
    v->expected_bytes = measured(&v->report, limits, true);
    v->upper_bytes = measured(&v->report, limits, false);
    v->used_bytes = expected ? v->expected_bytes : v->upper_bytes;
    if (v->has_before) {
        v->before_bytes = measured(&v->before, limits, expected);
        ms_status status = ms_diff_make(arena, &v->before, &v->report, &v->diff, err);
        if (status != MS_OK)
            return status;
    }
    ms_status status = judge_absolute(v, "max", &limits->max, false, err);
    if (status == MS_OK)
        status = judge_increase(v, err);
    if (status == MS_OK)
        status = judge_absolute(v, "warn", &limits->warn, true, err);
    v->by_fit = judge_fit(v);
    v->outcome = outcome_of(v);
    return status;
}

/* ---- places ---- */

/* Copies of what is found, in a list beside the rows. */
static ms_status
locate_rows(ms_arena *arena, const ms_run_files *files, const ms_field_change *rows, uint32_t count,
            bool (*find)(ms_arena *, const ms_run_files *, const char *, ms_error *),
            const ms_error ***places, ms_error *err)
{
    *places = ms_arena_array(arena, const ms_error *, count);
    for (uint32_t i = 0; *places && i < count; i++) {
        ms_error place;
        if (!find(arena, files, rows[i].name, &place)) {
            if (place.status == MS_ERR_NOMEM)
                return ms_fail(err, MS_ERR_NOMEM, "out of memory for places");
            continue;
        }
        ms_error *copy = ms_arena_array(arena, ms_error, 1);
        if (!copy)
            break;
        *copy = place;
        (*places)[i] = copy;
    }
    return ms_arena_has_failed(arena) ? ms_fail(err, MS_ERR_NOMEM, "out of memory for places")
                                      : MS_OK;
}

static const ms_error *first_place(const ms_error *const *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (places[i])
            return places[i];
    return NULL;
}

ms_status ms_verdict_locate(ms_arena *arena, ms_verdict *v, const char *path, ms_error *err)
{
    const ms_run_files files = {.families = ms_families(),
                                .config = v->budget->config,
                                .run = v->budget->run,
                                .path = path};
    const ms_diff *d = &v->diff;
    v->place = v->breach_count                   ? v->breaches[0].limit->place
               : v->budget->limits.require_place ? v->budget->limits.require_place
                                                 : v->budget->place;
    if (!v->has_before || v->budget->infer.document)
        return MS_OK;
    ms_status status = locate_rows(arena, &files, d->config, d->config_count, ms_model_locate,
                                   &v->config_places, err);
    if (status == MS_OK)
        status = locate_rows(arena, &files, d->settings, d->settings_count, ms_run_locate,
                             &v->setting_places, err);
    if (status != MS_OK)
        return status;
    const ms_error *changed = first_place(v->config_places, d->config_count);
    if (!changed)
        changed = first_place(v->setting_places, d->settings_count);
    v->place = changed ? changed : v->place;
    return MS_OK;
}

/* ---- order ---- */

/* How full the limit is, in thousandths; what has none is empty. */
static uint64_t fullness(const ms_verdict *v)
{
    if (v->limit_bytes == 0)
        return 0;
    return v->used_bytes > UINT64_MAX / 1000 ? v->used_bytes / v->limit_bytes * 1000
                                             : v->used_bytes * 1000 / v->limit_bytes;
}

int ms_verdict_order(const ms_verdict *a, const ms_verdict *b)
{
    if (a->outcome != b->outcome)
        return a->outcome > b->outcome ? -1 : 1;
    uint64_t a_full = fullness(a), b_full = fullness(b);
    if (a_full != b_full)
        return a_full > b_full ? -1 : 1;
    return a->budget < b->budget ? -1 : a->budget > b->budget;
}

int ms_verdicts_exit_code(const ms_verdict *verdicts, uint32_t count, bool warn_only)
{
    bool over = false, hopeless = false, unknown = false;
    for (uint32_t i = 0; i < count; i++) {
        if (verdicts[i].outcome == MS_OUTCOME_FAILED)
            return ms_status_exit_code(verdicts[i].error.status) == 70 ? 70 : 2;
        over = over || verdicts[i].outcome == MS_OUTCOME_OVER;
        unknown = unknown || verdicts[i].outcome == MS_OUTCOME_UNKNOWN;
        hopeless = hopeless || (verdicts[i].outcome == MS_OUTCOME_OVER && verdicts[i].has_no_fix);
    }
    if (warn_only || !(over || unknown))
        return 0;
    return !over ? 4 : hopeless ? 3 : 1;
}
