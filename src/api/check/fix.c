/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/check/fix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decide/advise/advise.h"
#include "base/error.h"
#include "input/config/run/run_config.h"
#include "decide/plan/settings.h"
#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/target.h"
#include "decide/plan/trainers/targets.h"
#include "report/plan/plan_view.h"
#include "report/view/suggestions.h"

/* What the device may show when it is expected to show as much: limits on other figures say
 * nothing of layers. 0: none. */
static uint64_t budget_of_limit(const ms_analysis *a, const ms_verdict *v)
{
    const ms_limits *limits = &v->budget->limits;
    uint64_t band = limits->uses_expected ? 0 : v->report.high_bytes - v->report.expected_bytes;
    if (limits->measure == MS_MEASURE_PEAK)
        return v->limit_bytes > band ? v->limit_bytes - band : 0;
    if (limits->measure == MS_MEASURE_RESERVED)
        return ms_budget_device_bytes(a->run.device, v->limit_bytes).expected;
    return 0;
}

/* And where the run itself must fit, up to its upper end. */
static uint64_t budget_of(const ms_analysis *a, const ms_verdict *v)
{
    uint64_t limit = budget_of_limit(a, v), device = a->run.budget_bytes;
    uint64_t band = v->report.high_bytes - v->report.expected_bytes;
    uint64_t safe = device > band ? device - band : 0;
    bool must_fit = v->by_fit == MS_OUTCOME_OVER && safe > 0;
    return must_fit && (limit == 0 || safe < limit) ? safe : limit;
}

/* ---- the sentence ---- */

static bool same_treatment(const char *a, const char *b)
{
    size_t a_length = strcspn(a, ":"), b_length = strcspn(b, ":");
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static uint32_t layers_of(const ms_decision *d)
{
    return d->first_layer == MS_NONE ? 0 : d->last_layer - d->first_layer + 1;
}

/* "checkpoint 9, offload 4 of 32 layers": decisions of one kind together, in their order. */
static const char *layers_text(ms_arena *arena, const ms_step_plan *plan, uint64_t num_layers)
{
    const char *text = "";
    for (uint32_t i = 0; i < plan->decisions.count && text; i++) {
        const ms_decision *d = &plan->decisions.items[i];
        uint32_t layers = 0;
        bool is_counted = false;
        for (uint32_t k = 0; k < plan->decisions.count; k++) {
            const ms_decision *other = &plan->decisions.items[k];
            bool same = layers_of(other) && same_treatment(other->treatment, d->treatment);
            is_counted = is_counted || (same && k < i);
            layers += same ? layers_of(other) : 0;
        }
        if (layers_of(d) && !is_counted)
            text = ms_arena_printf(arena, "%s%s%.*s %" PRIu32, text, *text ? ", " : "",
                                   (int)strcspn(d->treatment, ":"), d->treatment, layers);
    }
    return text && *text ? ms_arena_printf(arena, "%s of %" PRIu64 " layers", text, num_layers)
                         : text;
}

static const char *loss_text(ms_arena *arena, const ms_step_plan *plan)
{
    for (uint32_t i = 0; i < plan->decisions.count; i++)
        if (layers_of(&plan->decisions.items[i]) == 0)
            return ms_arena_printf(arena, "the loss in chunks (%s)",
                                   plan->decisions.items[i].treatment);
    return "";
}

static ms_status describe(ms_arena *arena, const ms_analysis *a, const ms_step_plan *plan,
                          ms_verdict *v, ms_error *err)
{
    char percent[MS_FIXED_TEXT];
    const char *layers = layers_text(arena, plan, a->model.num_layers);
    const char *loss = loss_text(arena, plan), *time = "";
    double was_ms = v->report.step_ms;
    if (was_ms > 0 && !a->run.device->has_assumed_rates)
        time = ms_arena_printf(arena, ", %s step time",
                               ms_plan_percent(plan->plan.time.step_ms / was_ms - 1, percent));
    v->treat = plan->plan.treat ? ms_arena_strdup(arena, plan->plan.treat) : NULL;
    if (layers && loss && time)
        v->fix = ms_arena_printf(arena, "%s%s%s%s", *layers || *loss ? layers : "keep everything",
                                 *layers && *loss ? ", " : "", loss, time);
    return v->fix ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for a plan");
}

/* ---- the plan ---- */

static ms_status solve(ms_arena *arena, const ms_analysis *a, const ms_run_config *run,
                       uint32_t techniques, ms_verdict *v, ms_error *err)
{
    ms_error reason = {0};
    ms_step_plan plan = {0};
    ms_plan_settings usual;
    ms_status status = ms_plan_settings_init(&usual, arena, err);
    if (status != MS_OK)
        return status;
    const ms_step_task task = {
        .model = &a->model,
        .run = run,
        .planner = MS_PLANNER_MILP,
        .techniques = techniques,
        .gap = usual.gap,
        .time_limit_s = ms_plan_time_limit_s(&usual),
        .gpu_cost_per_hour = usual.gpu_cost_per_hour,
        .target = ms_target_at(0)->name,
        .max_host_bytes = UINT64_MAX,
        .alone = true,
    };
    status = ms_step_plan_solve(arena, &task, &plan, &reason);
    v->has_no_fix = status == MS_ERR_INFEASIBLE;
    if (status == MS_OK)
        status = describe(arena, a, &plan, v, err);
    else if (status == MS_ERR_NOMEM)
        status = ms_fail(err, status, "%s", reason.text);
    ms_step_plan_free(&plan);
    return status;
}

/* ---- changes of the run ---- */

/* Weights, gradients and states alone are too much: no treatment of layers helps. */
static bool keeps_too_much(const ms_analysis *a, const ms_run_config *run)
{
    const ms_kept kept = ms_kept_of(run, &a->simulated.simulation);
    return ms_kept_exceeds(run, ms_kept_bytes(&kept));
}

static ms_status describe_change(ms_arena *arena, const ms_suggestion *s, ms_verdict *v,
                                 ms_error *err)
{
    char size[MS_BYTES_TEXT], percent[MS_FIXED_TEXT];
    const char *time = "", *changes = "";
    if (!isnan(s->added_time))
        time = ms_arena_printf(arena, ", %s step time", ms_added_time(s->added_time, percent));
    if (*s->changes)
        changes = ms_arena_printf(arena, " (%s)", s->changes);
    if (time && changes)
        v->fix = ms_arena_printf(arena, "%s%s: %s%s", s->title, changes,
                                 ms_bytes_text(s->device_bytes, size), time);
    v->option = ms_arena_strdup(arena, s->option);
    return v->fix && v->option ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
}

/* The limit is of the expected value, so what fits just so is enough. */
static ms_status change_run(ms_arena *arena, const ms_analysis *a, ms_run_config *run,
                            ms_verdict *v, ms_error *err)
{
    ms_summary summary = a->simulated.summary;
    ms_suggestions list = {0};
    if (!run->draft)
        return MS_OK;
    run->has_budget = true; /* another device has other limits */
    summary.verdict_reason = MS_FIT_OVER_BUDGET;
    summary.verdict = MS_VERDICT_NO;
    const ms_job job = {.model = &a->model, .run = run};
    const uint32_t events = a->simulated.simulation.trace.events.count;
    ms_status status = ms_advise(&(ms_advised){&job, &summary, events, {0}}, arena, &list, err);
    if (status == MS_OK && list.count && ms_reason_fits(list.items[0].reason))
        status = describe_change(arena, &list.items[0], v, err);
    ms_vec_free(&list);
    return status;
}

ms_status ms_fix_find(ms_arena *arena, const ms_analysis *a, ms_verdict *v, ms_error *err)
{
    ms_run_config run = a->run;
    ms_device device;
    ms_budget_set(&run, budget_of(a, v));
    ms_budget_lift(&run);
    if (run.budget_bytes == 0 || run.device->is_cpu || run.training.eval_batch)
        return MS_OK;
    if (!ms_device_has_rates(run.device)) {
        device = ms_device_assume_rates(run.device);
        run.device = &device;
    }
    ms_status status = MS_ERR_INFEASIBLE;
    const bool is_hopeless = v->has_no_fix = keeps_too_much(a, &run);
    if (!is_hopeless)
        status = solve(arena, a, &run, MS_MAY_CHECKPOINT, v, err);
    if (!is_hopeless && status == MS_ERR_INFEASIBLE)
        status = solve(arena, a, &run, MS_MAY_ALL, v, err);
    if (status == MS_ERR_INFEASIBLE)
        status = change_run(arena, a, &run, v, err);
    return status == MS_ERR_NOMEM ? status
                                  : MS_OK; /* what cannot be planned is checked all the same */
}
