/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/show_parallel.h"
#include "memscope/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "api/run.h"
#include "base/error.h"
#include "input/config/model/model_config.h"
#include "model/load.h"
#include "report/stream/stream_view.h"
#include "report/writers.h"
#include "serve/stream/execute.h"
#include "serve/stream/table.h"
#include "base/text/values.h"

static const char default_prefetch[] = "1:8", default_phase[] = "decode";
enum { TIMED_PASSES = 3, CHECKED_PASSES = 1 };

struct ms_streaming {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_style style;
    ms_stream_table table;
    ms_stop stop;
    ms_backend_facts facts;
    const char *backend;
    ms_vec(ms_stream_measured) measured; /* by row of the table, as far as it came */
    ms_stream_run_view ran;
    char message[sizeof(((ms_error *)NULL)->text)];
    bool has_table, is_run;
};

ms_streaming *ms_streaming_create(void)
{
    ms_streaming *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->style = (ms_style){.columns = 80};
    s->arena = ms_arena_create(0);
    if (s->arena)
        return s;
    free(s);
    return NULL;
}

void ms_streaming_free(ms_streaming *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->measured.count; i++)
        ms_stream_measured_free(&s->measured.items[i]);
    ms_vec_free(&s->measured);
    if (s->has_table)
        ms_stream_table_free(&s->table);
    ms_arena_free(s->arena);
    free(s);
}

const char *ms_streaming_phase_at(size_t index)
{
    return ms_stream_phase_at(index);
}

const char *ms_streaming_backend_at(size_t index)
{
    return ms_api_backend_at(index);
}

const char *ms_streaming_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_STREAM, index);
}

/* ---- simulation ---- */

static const char *phase_name(const void *list, size_t index)
{
    (void)list;
    return ms_stream_phase_at(index);
}

static ms_status note_rows(ms_streaming *s, ms_error *err)
{
    const ms_stream_table *t = &s->table;
    uint32_t layers = t->pass.layers.count;
    ms_status status = MS_OK;
    if (t->most_asked >= layers && layers > 1)
        status = ms_note_add(&s->notes, s->arena, err,
                             "prefetch: the model has %" PRIu32 " layers, so numbers above %" PRIu32
                             " count as that",
                             layers, layers - 1);
    if (status == MS_OK && t->rows.items[t->rows.count - 1].stays)
        status = ms_note_add(
            &s->notes, s->arena, err, "%s on the device: only the first pass copies",
            layers > 1 ? "with room for each, all layers stay" : "the only layer stays");
    if (status == MS_OK && t->phase == MS_INFERENCE_PREFILL && t->cache_bytes == 0)
        status = ms_note_add(&s->notes, s->arena, err,
                             "this model keeps no cache of keys and values here");
    return status;
}

static ms_status load(ms_streaming *s, const ms_run *run, ms_error *err)
{
    ms_arena_set_inputs(s->arena, run->inputs);
    ms_status status = ms_run_load(s->arena, run->settings.items, run->settings.count, &s->model,
                                   &s->run, &s->notes, err);
    return status == MS_OK ? ms_parallel_refuse(&s->run.parallel, "a stream", err) : status;
}

static ms_status simulate(ms_streaming *s, ms_inference_phase phase,
                          const ms_stream_prefetches *prefetches, ms_error *err)
{
    ms_status status = ms_stream_table_build(&s->model, &s->run, phase, prefetches, &s->table, err);
    s->has_table = status == MS_OK;
    return status == MS_OK ? note_rows(s, err) : status;
}

ms_status ms_streaming_simulate(ms_streaming *s, const ms_run *run,
                                const ms_streaming_options *options, ms_error *err)
{
    ms_stream_prefetches prefetches;
    int phase = 0;
    if (!s || !run || !options || !err)
        return ms_fail_null(err);
    if (s->has_table)
        return ms_fail(err, MS_ERR_USAGE, "a stream is simulated once: make another");
    ms_status status = ms_value_choice_of("phase", options->phase ? options->phase : default_phase,
                                          phase_name, NULL, &phase, err);
    if (status == MS_OK)
        status = ms_stream_prefetch_read(options->prefetch ? options->prefetch : default_prefetch,
                                         &prefetches, err);
    if (status != MS_OK)
        return status;
    status = load(s, run, err);
    if (status == MS_OK)
        status = simulate(s, (ms_inference_phase)phase, &prefetches, err);
    ms_stream_prefetch_free(&prefetches);
    return status;
}

/* ---- execution ---- */

void ms_streaming_stop(ms_streaming *s)
{
    if (s)
        atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
}

/* Without memory for it there is no such note. */
static void note_room(ms_streaming *s, const ms_stream_measured *m, uint64_t prefetch)
{
    ms_error ignored = {.status = MS_OK};
    if (m->has_predicted && m->predicted.out_of_memory)
        (void)ms_note_add(
            &s->notes, s->arena, &ignored,
            "with %" PRIu64
            " ahead it is predicted not to fit into the memory that this device has left",
            prefetch);
}

static ms_status run_row(ms_streaming *s, ms_backend *backend, const ms_stream_source *source,
                         uint64_t prefetch, ms_error *err)
{
    const ms_stream_execution asked = {.model = &s->model,
                                       .run = &s->run,
                                       .phase = s->table.phase,
                                       .prefetch = prefetch,
                                       .timed_passes = TIMED_PASSES,
                                       .checked_passes = CHECKED_PASSES,
                                       .stop = &s->stop};
    if (!ms_vec_reserve(&s->measured))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the passes of a stream");
    ms_stream_measured *to = &s->measured.items[s->measured.count];
    ms_status status = ms_stream_execute(&asked, source, backend, to, err);
    if (status == MS_OK || status == MS_ERR_OVER_BUDGET)
        note_room(s, to, prefetch);
    if (to->result.event_count == 0)
        ms_stream_measured_free(to); /* nothing began */
    else
        s->measured.count++;
    return status;
}

static ms_status run_rows(ms_streaming *s, ms_backend *backend, const char *weights, ms_error *err)
{
    ms_stream_files files = {.arena = s->arena, .path = weights};
    const ms_stream_source source =
        weights ? ms_stream_source_files(&files) : ms_stream_source_memory();
    bool is_same = false;
    ms_status status =
        ms_api_backend_compare(s->run.device, &s->facts, &s->notes, s->arena, &is_same, err);
    for (uint32_t i = 0; i < s->table.rows.count && status == MS_OK; i++)
        status = run_row(s, backend, &source, s->table.rows.items[i].prefetch, err);
    return status;
}

/* What the reports say of it, the sentence that the caller gets too. */
static ms_status keep_run(ms_streaming *s, const char *weights, ms_status status,
                          const ms_error *err)
{
    memcpy(s->message, err->text, sizeof s->message);
    s->ran = (ms_stream_run_view){.facts = &s->facts,
                                  .backend = s->backend,
                                  .weights = weights ? ms_arena_strdup(s->arena, weights) : NULL,
                                  .status = status,
                                  .message = s->message,
                                  .timed_passes = TIMED_PASSES,
                                  .checked_passes = s->facts.is_simulated ? 0 : CHECKED_PASSES,
                                  .rows = s->measured.items,
                                  .count = s->measured.count};
    return status;
}

ms_status ms_streaming_run(ms_streaming *s, const ms_streaming_run_options *options, ms_error *err)
{
    ms_backend *backend = NULL;
    if (!s || !s->has_table || !options || !options->backend || !err)
        return ms_fail_null(err);
    if (s->is_run)
        return ms_fail(err, MS_ERR_USAGE, "a stream runs once: make another");
    const ms_backend_choice choice = {.name = options->backend,
                                      .device_index = options->device_index,
                                      .capacity = options->capacity,
                                      .stop = &s->stop};
    s->is_run = true;
    ms_status status = ms_api_backend_open(&choice, &backend, &s->backend, err);
    if (status != MS_OK)
        return status;
    s->facts = backend->facts;
    status = run_rows(s, backend, options->weights, err);
    backend->calls->close(backend);
    return keep_run(s, options->weights, status, err);
}

bool ms_streaming_has_run(const ms_streaming *s)
{
    return s && s->measured.count > 0;
}

/* ---- results ---- */

bool ms_streaming_fits(const ms_streaming *s)
{
    return s && s->has_table && ms_stream_table_fits(&s->table);
}

const char *ms_streaming_note(const ms_streaming *s, size_t index)
{
    return s ? ms_note_at(&s->notes, index) : NULL;
}

void ms_streaming_set_style(ms_streaming *s, const ms_style *style)
{
    if (s && style)
        s->style = *style;
}

ms_status ms_streaming_write(const ms_streaming *s, const char *format, FILE *out, ms_error *err)
{
    if (!s || !s->has_table || !format || !out)
        return ms_fail_null(err);
    const ms_stream_view view = {.model = &s->model,
                                 .run = &s->run,
                                 .table = &s->table,
                                 .ran = s->measured.count > 0 ? &s->ran : NULL,
                                 .arena = s->arena,
                                 .style = &s->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_STREAM, format, err);
    return writer ? ms_writer_write(writer, &view, s->arena, out, err) : MS_ERR_USAGE;
}
