/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streamed model as JSON (schemas/stream.schema.json).
 */
#include "base/json/members.h"
#include "input/config/model/model_config.h"
#include "memscope/stream.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"
#include "report/stream/stream_run.h"
#include "report/stream/stream_times.h"
#include "report/view/fit_words.h"
#include "report/view/times.h"

#define ROW(...) MS_MEMBER(ms_stream_row, __VA_ARGS__)
static const ms_member row_members[] = {
    ROW("prefetch", prefetch),
    ROW("places", places),
    ROW("stays", stays),
    MS_FIT_MEMBERS(ms_stream_row, judgement.reason),
    ROW("places_bytes", places_bytes),
    ROW("outside_bytes", outside_bytes),
    ROW("cache_bytes", cache_bytes),
    ROW("other_bytes", other_bytes),
    ROW("peak_memory_bytes", peak_bytes),
    ROW("reserved_memory_bytes", reserved_bytes),
    ROW("expected_device_bytes", judgement.device_bytes.expected),
    ROW("pinned_bytes", pinned_bytes),
    ROW("times_ms", times, .inner = &ms_stream_times_table, .rules = MS_OR_NULL,
        .when = MS_PLACE(ms_stream_row, times.pass_ms)),
    ROW("tokens_per_s", tokens_per_s, .rules = MS_OR_NULL, .decimals = 6),
};
static const ms_members row_table = MS_MEMBERS(ms_stream_row, row_members);

static void write_times(ms_json_writer *w, const char *name, const void *view)
{
    const ms_stream_view *v = view;
    if (!v->table->pass.is_timed)
        return;
    ms_json_object(w, name);
    ms_times_json(w, v->arena, v->run);
    ms_json_close(w);
}

/* The view comes first, so that what is of a view is of a document. */
typedef struct document {
    ms_stream_view view;
    const char *answer;
} document;

static const ms_words phase_words = {ms_inference_phase_names, MS_INFERENCE_PHASES, 0, 0};

#define OF_RUN .from = MS_FROM(ms_stream_view, run)
#define OF_TABLE .from = MS_FROM(ms_stream_view, table)
#define RUN(...) MS_MEMBER(ms_run_config, __VA_ARGS__, OF_RUN)
#define TABLE(...) MS_MEMBER(ms_stream_table, __VA_ARGS__, OF_TABLE)
static const ms_member document_members[] = {
    MS_MEMBER(ms_model_config, "model", name, .rules = MS_OR_NULL,
              .from = MS_FROM(ms_stream_view, model)),
    MS_MEMBER(ms_device, "device", name, OF_RUN, .via = MS_FROM(ms_run_config, device)),
    RUN("budget_bytes", budget_bytes),
    TABLE("phase", phase, .words = &phase_words),
    RUN("batch", batch),
    RUN("seq", seq_tokens),
    RUN("dtype", dtype, .words = &ms_dtype_short_words),
    TABLE("tokens_per_pass", tokens),
    TABLE("param_count", param_count),
    TABLE("layers", pass.layers.count),
    TABLE("place_bytes", pass.slot_bytes),
    TABLE("host_weight_bytes", pass.layers_bytes),
    TABLE("outside_weight_bytes", pass.outside_bytes),
    MS_MEMBER(document, "answer", answer),
    TABLE("hides_from", enough.hides, .rules = MS_OR_NULL),
    TABLE("gains_until", enough.best, .rules = MS_OR_NULL),
    MS_ROWS(ms_stream_table, "rows", rows.items, rows.count, &row_table, OF_TABLE),
    MS_WRITTEN("times", write_times),
    MS_MEMBER(ms_stream_view, "run", ran, .rules = MS_IF_ANY | MS_THROUGH,
              .inner = &ms_stream_run_table),
};
const ms_members ms_stream_document = MS_MEMBERS(document, document_members);

bool ms_stream_json(FILE *out, const ms_stream_view *v)
{
    const document d = {*v, ms_stream_answer(v)};
    ms_members_document(out, MS_STREAM_SCHEMA_VERSION, &ms_stream_document, &d);
    return !ms_arena_has_failed(v->arena);
}
