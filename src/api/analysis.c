/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages of an analysis in order: load, simulate, itemise.
 */
#include "api/analysis.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "api/run.h"
#include "decide/ledger/events.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/cost_model.h"
#include "report/view/view.h"
#include "report/writers.h"
#include "run/simulate/ranks.h"
#include "run/simulate/variation.h"
#include "model/load.h"

void ms_analysis_free(ms_analysis *analysis)
{
    if (!analysis)
        return;
    if (analysis->has_advice)
        ms_advice_free(&analysis->advice);
    if (analysis->has_ledger)
        ms_ledger_free(&analysis->ledger);
    if (analysis->is_simulated)
        ms_simulated_free(&analysis->simulated);
    ms_arena_free(analysis->arena);
    free(analysis);
}

static ms_status itemise(ms_analysis *a, ms_fold_mode mode, ms_error *err)
{
    if (a->has_ledger)
        ms_ledger_free(&a->ledger);
    ms_status status = ms_ledger_build(&a->simulated, mode, &a->ledger, err);
    a->has_ledger = status == MS_OK;
    return status;
}

/* The peak with another routing. */
static ms_status measure_routing(const ms_analysis *a, ms_routing_kind routing, uint64_t *bytes,
                                 ms_error *err)
{
    ms_variation v = ms_vary(&a->simulated.job, NULL);
    ms_simulated simulated;
    v.run.routing = routing;
    const ms_job job = ms_variation_job(&v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_USAGE, &simulated, err);
    if (status != MS_OK)
        return status;
    *bytes = simulated.usage.peak_bytes;
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* Experts that run one by one: what the peak is when tokens are spread evenly, and when not. */
static ms_status measure_routings(ms_analysis *a, ms_error *err)
{
    uint64_t peaks[MS_ROUTING_COUNT];
    if (a->run.experts != MS_EXPERTS_EAGER)
        return MS_OK;
    for (int i = 0; i < MS_ROUTING_COUNT; i++) {
        peaks[i] = a->simulated.usage.peak_bytes;
        ms_status status = MS_OK;
        if (i != (int)a->run.routing)
            status = measure_routing(a, (ms_routing_kind)i, &peaks[i], err);
        if (status != MS_OK)
            return status;
    }
    a->simulated.summary.balanced_peak_bytes = peaks[MS_ROUTING_BALANCED];
    a->simulated.summary.skewed_peak_bytes = peaks[MS_ROUTING_SKEWED];
    return ms_note_add(&a->notes, a->arena, err,
                       "experts run one by one: the peak is %" PRIu64
                       " bytes with balanced routing, %" PRIu64 " where few experts get all tokens",
                       peaks[MS_ROUTING_BALANCED], peaks[MS_ROUTING_SKEWED]);
}

/* What follows once model and run are there. */
static ms_status simulate(ms_analysis *a, ms_error *err)
{
    const ms_job job = {.model = &a->model, .run = &a->run};
    ms_status status = ms_shares_resolve(a->arena, &a->model, &a->run, err);
    if (status == MS_OK)
        status = ms_ranks_settle_noted(a->arena, &a->model, &a->run, &a->notes, err);
    if (status == MS_OK)
        status = ms_simulate(&job, MS_SIMULATE_ALL, &a->simulated, err);
    a->is_simulated = status == MS_OK;
    if (status == MS_OK)
        status = measure_routings(a, err);
    a->run.notes = a->notes;
    return status == MS_OK ? itemise(a, MS_FOLD_LAYERS, err) : status;
}

static ms_analysis *create(ms_inputs *inputs, ms_error *err)
{
    ms_analysis *a = calloc(1, sizeof *a);
    if (a)
        a->arena = ms_arena_create(0);
    if (a && a->arena) {
        a->style = (ms_style){.columns = 80};
        ms_arena_set_inputs(a->arena, inputs);
        return a;
    }
    free(a);
    ms_error_set(err, MS_ERR_NOMEM, "no memory for the analysis");
    return NULL;
}

static ms_analysis *finish(ms_analysis *a, ms_status loaded, ms_error *err)
{
    if (loaded == MS_OK && simulate(a, err) == MS_OK)
        return a;
    ms_analysis_free(a);
    return NULL;
}

ms_analysis *ms_analyze_settings(const ms_run_setting *settings, size_t count, ms_inputs *inputs,
                                 ms_error *err)
{
    ms_analysis *a = create(inputs, err);
    return a ? finish(a, ms_run_load(a->arena, settings, count, &a->model, &a->run, &a->notes, err),
                      err)
             : NULL;
}

ms_analysis *ms_analyze_value(ms_json_value run, const char *path, const ms_run_setting *settings,
                              size_t count, ms_inputs *inputs, ms_error *err)
{
    ms_analysis *a = create(inputs, err);
    return a ? finish(a,
                      ms_run_load_value(a->arena, run, path, settings, count,
                                        (ms_loaded){&a->model, &a->run, &a->notes}, err),
                      err)
             : NULL;
}

ms_analysis *ms_analyze(const ms_run *run, ms_error *err)
{
    if (!run)
        return (void)ms_fail_null(err), NULL;
    ms_analysis *a = create(run->inputs, err);
    if (!a)
        return NULL;
    ms_status status = ms_run_load(a->arena, run->settings.items, run->settings.count, &a->model,
                                   &a->run, &a->notes, err);
    a->run.watch = run->watch;
    a = finish(a, status, err);
    if (a)
        a->run.watch = NULL;
    return a;
}

ms_status ms_analysis_unroll(ms_analysis *analysis, ms_error *err)
{
    if (!analysis)
        return ms_fail_null(err);
    return itemise(analysis, MS_UNROLL, err);
}

void ms_analysis_skip_advice(ms_analysis *analysis)
{
    if (analysis)
        analysis->skips_advice = true;
}

void ms_analysis_set_style(ms_analysis *analysis, const ms_style *style)
{
    if (!analysis || !style)
        return;
    analysis->style = *style;
}

const char *ms_analysis_device(const ms_analysis *analysis)
{
    if (!analysis)
        return NULL;
    return analysis->run.device->name;
}

uint64_t ms_analysis_world(const ms_analysis *analysis, uint64_t *rank)
{
    if (rank)
        *rank = analysis ? analysis->run.parallel.rank : 0;
    return analysis ? ms_layout_world(&analysis->run.parallel.layout) : 0;
}

const ms_summary *ms_analysis_summary(const ms_analysis *analysis)
{
    if (!analysis)
        return NULL;
    return &analysis->simulated.summary;
}

const char *ms_analysis_note(const ms_analysis *analysis, size_t index)
{
    if (!analysis)
        return NULL;
    return ms_note_at(&analysis->notes, index);
}

static ms_status write_view(const ms_analysis *a, const ms_advice *advice, const ms_writer *writer,
                            FILE *out, ms_error *err)
{
    ms_view view;
    ms_status status = ms_view_create(&a->ledger, advice, &a->style, &view, err);
    if (status != MS_OK)
        return status;
    status = ms_writer_write(writer, &view, view.arena, out, err);
    ms_view_free(&view);
    return status;
}

const ms_report_format *ms_report_format_at(size_t index)
{
    return ms_writer_format_at(MS_DOCUMENT_ANALYSIS, index);
}

ms_status ms_analysis_write(ms_analysis *analysis, const char *format, FILE *out, ms_error *err)
{
    if (!analysis || !format || !out)
        return ms_fail_null(err);
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_ANALYSIS, format, err);
    if (!writer)
        return MS_ERR_USAGE;
    if (!analysis->has_ledger)
        return ms_fail(err, MS_ERR_USAGE, "there is no analysis to write");
    const bool is_advised = (writer->needs & MS_NEEDS_ADVICE) && !analysis->skips_advice;
    if (is_advised && !analysis->has_advice) {
        ms_status status = ms_advice_collect(&analysis->ledger, &analysis->advice, err);
        if (status != MS_OK)
            return status;
        analysis->has_advice = true;
    }
    const bool has_advice = analysis->has_advice && !analysis->skips_advice;
    return write_view(analysis, has_advice ? &analysis->advice : NULL, writer, out, err);
}

ms_status ms_analysis_write_events(const ms_analysis *analysis, FILE *out, ms_error *err)
{
    if (!analysis || !out)
        return ms_fail_null(err);
    if (!analysis->is_simulated)
        return ms_fail(err, MS_ERR_USAGE, "there is no analysis to write");
    return ms_events_write(&analysis->simulated.simulation.trace, &analysis->simulated.usage, out,
                           err);
}

ms_status ms_analysis_text(const ms_analysis *analysis, char **text, size_t *length, ms_error *err)
{
    *text = NULL;
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_ANALYSIS, "json", err);
    FILE *out = open_memstream(text, length);
    if (!out)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    ms_error inner = {0};
    ms_status status = write_view(analysis, NULL, writer, out, &inner);
    if (fclose(out) != 0 || status != MS_OK) { /* memory is all that can be short */
        free(*text);
        *text = NULL;
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    }
    return MS_OK;
}

ms_status ms_analysis_report(const ms_analysis *analysis, ms_arena *arena, ms_report *report,
                             ms_error *err)
{
    char *text = NULL;
    size_t length = 0;
    ms_json *document = NULL;
    ms_status status = ms_analysis_text(analysis, &text, &length, err);
    const ms_json_source source = {"report", text, length};
    if (status == MS_OK)
        status = ms_json_parse_within(&source, MS_JSON_MAX_LARGE_BYTES, &document, err);
    if (status == MS_OK)
        status = ms_report_read(arena, ms_json_root(document), report, err);
    ms_json_free(document);
    free(text);
    return status;
}
