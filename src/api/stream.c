/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/run.h"
#include "base/error.h"
#include "model/load.h"
#include "report/stream/stream_view.h"
#include "report/writers.h"
#include "stream/table.h"
#include "text/values.h"

static const char default_prefetch[] = "1:8", default_phase[] = "decode";

struct ms_streaming {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_style style;
    ms_stream_table table;
    bool has_table;
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
    if (s->has_table)
        ms_stream_table_free(&s->table);
    ms_arena_free(s->arena);
    free(s);
}

const char *ms_streaming_phase_at(size_t index)
{
    return ms_stream_phase_at(index);
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
                             "prefetch: the model has %" PRIu32 " layers, so more than %" PRIu32
                             " count as that",
                             layers, layers - 1);
    if (status == MS_OK && t->rows.items[t->rows.count - 1].stays)
        status = ms_note_add(
            &s->notes, s->arena, err, "%s on the device: only the first pass copies",
            layers > 1 ? "with a place for each, all layers stay" : "the only layer stays");
    if (status == MS_OK && t->phase == MS_INFERENCE_PREFILL && t->cache_bytes == 0)
        status = ms_note_add(&s->notes, s->arena, err,
                             "this model keeps no cache of keys and values here");
    return status;
}

static ms_status load(ms_streaming *s, const ms_run *run, ms_error *err)
{
    ms_arena_set_inputs(s->arena, run->inputs);
    return ms_run_load(s->arena, run->settings.items, run->settings.count, &s->model, &s->run,
                       &s->notes, err);
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
                                 .arena = s->arena,
                                 .style = &s->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_STREAM, format, err);
    return writer ? ms_writer_write(writer, &view, s->arena, out, err) : MS_ERR_USAGE;
}
