/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages in a row: load, simulate, play through the allocator, itemise.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "api/run.h"
#include "ledger/advice.h"
#include "ledger/events.h"
#include "ledger/ledger.h"
#include "ledger/usage.h"
#include "plan/stack.h"
#include "report/reporter.h"
#include "step/step.h"

struct ms_analysis {
    ms_arena *arena; /* of the configs */
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_simulation simulation;
    ms_usage usage;
    ms_usage evaluation; /* its last phase is the evaluation */
    ms_ledger ledger;
    ms_advice advice;
    ms_style style;
    uint64_t routing_peaks[MS_ROUTING_COUNT]; /* of eager experts, else 0 */
    /* Which of these are there to be freed. */
    bool has_simulation, has_usage, has_evaluation, has_ledger, has_advice;
};

void ms_analysis_free(ms_analysis *analysis)
{
    if (!analysis)
        return;
    if (analysis->has_advice)
        ms_advice_free(&analysis->advice);
    if (analysis->has_ledger)
        ms_ledger_free(&analysis->ledger);
    if (analysis->has_evaluation)
        ms_usage_free(&analysis->evaluation);
    if (analysis->has_usage)
        ms_usage_free(&analysis->usage);
    if (analysis->has_simulation)
        ms_simulation_free(&analysis->simulation);
    ms_arena_free(analysis->arena);
    free(analysis);
}

static ms_status itemise(ms_analysis *a, ms_fold_mode mode, ms_error *err)
{
    if (a->has_ledger)
        ms_ledger_free(&a->ledger);
    a->has_ledger = false;
    ms_status status =
        ms_ledger_build(&a->model, &a->run, &a->simulation, &a->usage, mode, &a->ledger, err);
    a->has_ledger = status == MS_OK;
    if (a->has_ledger) {
        a->ledger.summary.balanced_peak_bytes = a->routing_peaks[MS_ROUTING_BALANCED];
        a->ledger.summary.skewed_peak_bytes = a->routing_peaks[MS_ROUTING_SKEWED];
        if (a->has_evaluation)
            ms_ledger_add_evaluation(&a->ledger, &a->evaluation);
    }
    return status;
}

/* The CUDA allocators get what the context leaves of the budget: they give cached memory back
 * before they fail, as on a real device. */
static void limit_allocator(ms_run_config *run)
{
    uint64_t budget_bytes =
        run->has_budget ? run->budget_bytes : ms_device_usable_bytes(run->device);
    uint64_t context_bytes = run->device->context_expected_bytes;
    if (run->allocator.kind != MS_ALLOCATOR_RAW && run->allocator.capacity_bytes == 0 &&
        budget_bytes > context_bytes)
        run->allocator.capacity_bytes = budget_bytes - context_bytes;
}

/* What another run of the model uses. */
static ms_status measure_run(const ms_analysis *a, const ms_run_config *run, ms_usage *usage,
                             ms_error *err)
{
    ms_simulation simulation;
    ms_status status = ms_step_simulate(&a->model, run, &simulation, err);
    if (status != MS_OK)
        return status;
    status = ms_usage_measure(&simulation.trace, &run->allocator, usage, err);
    ms_simulation_free(&simulation);
    return status;
}

/* The peak with another routing. */
static ms_status measure_routing(const ms_analysis *a, ms_routing_kind routing, uint64_t *bytes,
                                 ms_error *err)
{
    ms_run_config run = a->run;
    ms_usage usage;
    run.routing = routing;
    run.detail = MS_STEPS_LEAN;
    ms_status status = measure_run(a, &run, &usage, err);
    if (status != MS_OK)
        return status;
    *bytes = usage.peak_bytes;
    ms_usage_free(&usage);
    return MS_OK;
}

static ms_status measure_evaluation(ms_analysis *a, ms_error *err)
{
    ms_run_config run = a->run;
    if (run.eval_batch == 0)
        return MS_OK;
    run.detail = MS_STEPS_EVALUATED;
    ms_status status = measure_run(a, &run, &a->evaluation, err);
    a->has_evaluation = status == MS_OK;
    return status;
}

/* Experts that run one by one: what the peak is when tokens are spread evenly, and when not. */
static ms_status measure_routings(ms_analysis *a, ms_error *err)
{
    if (a->run.experts != MS_EXPERTS_EAGER)
        return MS_OK;
    for (int i = 0; i < MS_ROUTING_COUNT; i++) {
        a->routing_peaks[i] = a->usage.peak_bytes;
        ms_status status = MS_OK;
        if (i != (int)a->run.routing)
            status = measure_routing(a, (ms_routing_kind)i, &a->routing_peaks[i], err);
        if (status != MS_OK)
            return status;
    }
    return ms_note_add(&a->notes, a->arena, err,
                       "experts run one by one: the peak is %" PRIu64
                       " bytes with balanced routing, %" PRIu64 " where few experts get all tokens",
                       a->routing_peaks[MS_ROUTING_BALANCED], a->routing_peaks[MS_ROUTING_SKEWED]);
}

static ms_status analyze(const ms_run *run, ms_analysis *a, ms_error *err)
{
    a->arena = ms_arena_create(0);
    if (!a->arena)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the analysis");
    ms_status status = ms_run_load(a->arena, run->settings.items, run->settings.count, &a->model,
                                   &a->run, &a->notes, err);
    if (status != MS_OK)
        return status;
    limit_allocator(&a->run);
    status = ms_shares_resolve(a->arena, &a->model, &a->run, err);
    if (status != MS_OK)
        return status;
    status = ms_step_simulate(&a->model, &a->run, &a->simulation, err);
    if (status != MS_OK)
        return status;
    a->has_simulation = true;
    status = ms_usage_measure(&a->simulation.trace, &a->run.allocator, &a->usage, err);
    if (status != MS_OK)
        return status;
    a->has_usage = true;
    status = measure_routings(a, err);
    if (status == MS_OK)
        status = measure_evaluation(a, err);
    return status == MS_OK ? itemise(a, MS_FOLD_LAYERS, err) : status;
}

ms_analysis *ms_analyze(const ms_run *run, ms_error *err)
{
    ms_analysis *a = run ? calloc(1, sizeof *a) : NULL;
    if (!a) {
        ms_error_set(err, MS_ERR_NOMEM, "no memory for the analysis");
        return NULL;
    }
    a->style = (ms_style){.columns = 80};
    if (analyze(run, a, err) == MS_OK)
        return a;
    ms_analysis_free(a);
    return NULL;
}

ms_status ms_analysis_unroll(ms_analysis *analysis, ms_error *err)
{
    if (!analysis)
        return ms_fail(err, MS_ERR_USAGE, "there is no analysis");
    return itemise(analysis, MS_UNROLL, err);
}

void ms_analysis_set_style(ms_analysis *analysis, const ms_style *style)
{
    analysis->style = *style;
}

const ms_summary *ms_analysis_summary(const ms_analysis *analysis)
{
    return &analysis->ledger.summary;
}

const char *ms_analysis_note(const ms_analysis *analysis, size_t index)
{
    return ms_note_at(&analysis->notes, index);
}

static ms_status write_view(const ms_analysis *a, const ms_reporter *reporter, FILE *out,
                            ms_error *err)
{
    ms_view view;
    ms_status status =
        ms_view_create(&a->ledger, a->has_advice ? &a->advice : NULL, &a->style, &view, err);
    if (status != MS_OK)
        return status;
    status = ms_report_write(reporter, &view, out, err);
    ms_view_free(&view);
    return status;
}

ms_status ms_analysis_write(ms_analysis *analysis, const char *format, FILE *out, ms_error *err)
{
    const ms_reporter *reporter = ms_reporter_find(format, err);
    if (!reporter)
        return MS_ERR_USAGE;
    if (!analysis || !analysis->has_ledger)
        return ms_fail(err, MS_ERR_USAGE, "there is no analysis to write");
    if (reporter->shows_advice && !analysis->has_advice) {
        ms_status status = ms_advice_collect(&analysis->ledger, &analysis->advice, err);
        if (status != MS_OK)
            return status;
        analysis->has_advice = true;
    }
    return write_view(analysis, reporter, out, err);
}

ms_status ms_analysis_write_events(const ms_analysis *analysis, FILE *out, ms_error *err)
{
    if (!analysis || !analysis->has_usage)
        return ms_fail(err, MS_ERR_USAGE, "there is no analysis to write");
    return ms_events_write(&analysis->simulation.trace, &analysis->usage, out, err);
}
