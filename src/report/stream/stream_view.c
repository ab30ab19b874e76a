/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stream/stream_view.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "report/view/view.h"
#include "base/text/number.h"

const char *ms_stream_title(const ms_stream_view *v)
{
    const char *name = ms_model_title(v->model);
    const char *count = ms_view_millions(v->arena, v->table->param_count);
    if (!count)
        return NULL;
    return ms_arena_printf(
        v->arena, "%s: %s parameters, %s, %s, batch %" PRIu64 " x %" PRIu64 " %s", name, count,
        ms_dtype_info_of(v->run->dtype)->short_name, ms_inference_phase_names[v->table->phase],
        v->run->batch, v->run->seq_tokens, v->model->image_tokens ? "positions" : "tokens");
}

/* The last row that streams, or the last. */
static const ms_stream_row *last_streamed(const ms_stream_table *t)
{
    uint32_t i = t->rows.count;
    while (i > 1 && t->rows.items[i - 1].stays)
        i--;
    return &t->rows.items[i - 1];
}

static const char *layers_text(ms_arena *arena, uint64_t count)
{
    return ms_arena_printf(arena, "%" PRIu64 " %s", count, count == 1 ? "layer" : "layers");
}

bool ms_stream_fits(const ms_stream_view *v)
{
    return ms_reason_fits(v->table->rows.items[0].judgement.reason);
}

const char *ms_stream_verdict(const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    uint32_t fitting = 0;
    char needs[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    if (v->run->budget_bytes == 0)
        return "";
    while (fitting < t->rows.count && ms_reason_fits(t->rows.items[fitting].judgement.reason))
        fitting++;
    const ms_stream_row *row = &t->rows.items[fitting > 0 ? fitting - 1 : 0];
    (void)ms_gib(row->judgement.device_bytes.expected, needs);
    (void)ms_gib(v->run->budget_bytes, budget);
    if (fitting == 0)
        return ms_arena_printf(v->arena, "does not fit: with %s ahead it takes %s of %s GiB",
                               layers_text(v->arena, row->prefetch), needs, budget);
    return ms_arena_printf(v->arena, "fits%s with %s ahead: %s of %s GiB",
                           ms_reason_verdict(row->judgement.reason) == MS_VERDICT_TIGHT ? " tightly"
                                                                                        : "",
                           layers_text(v->arena, row->prefetch), needs, budget);
}

const char *ms_stream_answer(const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    const ms_stream_times *times = &last_streamed(t)->times;
    char compute[MS_FIXED_TEXT], copy[MS_FIXED_TEXT];
    if (!t->pass.is_timed)
        return "no times are predicted, because the rates of the device or of its link are not "
               "known";
    if (t->enough.best == 0)
        return "there are so few layers that all stay on the device after the first pass";
    if (t->enough.hides)
        return ms_arena_printf(v->arena, "the copies are fully hidden with %s ahead or more",
                               layers_text(v->arena, t->enough.hides));
    if (last_streamed(t)->stays)
        return "all layers stay on the device after the first pass";
    return ms_arena_printf(
        v->arena, "the copies are not hidden: copying takes %s ms, computing %s ms",
        ms_fixed(times->copy_ms, 1, copy), ms_fixed(times->compute_ms, 1, compute));
}

const char *ms_stream_advice(const ms_stream_view *v)
{
    const ms_stream_enough *enough = &v->table->enough;
    if (enough->best == 0 || enough->hides)
        return "";
    return ms_arena_printf(
        v->arena, "fetching more than %s ahead gains nothing, unless all layers stay on the device",
        layers_text(v->arena, enough->best));
}
