/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/search.h"

#include <inttypes.h>
#include <stdio.h>

enum { CELL_STEP = 256 };

static uint32_t places_of(const ms_llama_search *s)
{
    return s->devices ? s->devices : 1;
}

/* ---- the context ---- */

static ms_status set_context(ms_llama_search *s, uint64_t cells, ms_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cells);
    return ms_infer_settings_set(&s->settings, s->job->arena, "ctx-size", text, err);
}

static uint64_t streams_of(const ms_llama_search *s)
{
    return s->settings.llama.kv_unified ? 1 : s->settings.concurrency;
}

static uint64_t cells_of(const ms_llama_search *s, uint64_t tokens)
{
    uint64_t cells = tokens * streams_of(s);
    return cells < UINT32_MAX ? cells : UINT32_MAX;
}

typedef struct sums {
    int64_t free, margin, used, weights;
} sums;

static sums sums_of(const ms_llama_search *s, const ms_llama_estimate *estimates)
{
    sums sum = {0};
    for (uint32_t i = 0; i < places_of(s); i++) {
        sum.free += s->free[i];
        sum.margin += s->margin[i];
        sum.used += estimates[i].all;
        sum.weights += estimates[i].weights;
    }
    return sum;
}

/* Of several devices some memory is left by layers that do not fit: half a layer each, and one
 * more; of a mixture a third of it. */
static int64_t waste_of(const ms_llama_search *s, const sums *full)
{
    uint64_t layers = s->model->n_layer;
    if (ms_infer_settings_has(&s->settings, "gpu-layers") && s->settings.gpu_layers < layers)
        layers = s->settings.gpu_layers;
    if (s->devices < 2 || layers == 0)
        return 0;
    return (int64_t)(s->devices + 1) * (full->weights / (int64_t)layers) /
           (s->model->experts == 0 ? 2 : 6);
}

/* *is_enough: the context alone makes room. */
static ms_status reduce_context(ms_llama_search *s, const sums *full, bool *is_enough,
                                ms_error *err)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES];
    uint64_t most = cells_of(s, s->model->positions),
             least = cells_of(s, s->settings.llama.fit_ctx);
    uint64_t step = CELL_STEP * streams_of(s), cells = least;
    if (!s->is_context_free || most <= least)
        return MS_OK;
    int64_t room = full->free - full->margin - waste_of(s, full);
    ms_status status = set_context(s, least, err);
    if (status == MS_OK)
        status = ms_llama_share_estimate(s, &s->settings, estimates, err);
    if (status != MS_OK)
        return status;
    sums at_least = sums_of(s, estimates);
    s->is_changed = true;
    if (room <= at_least.used || full->used <= at_least.used)
        return MS_OK;
    cells +=
        (uint64_t)((int64_t)(most - least) * (room - at_least.used) / (full->used - at_least.used));
    cells -= cells % step;
    *is_enough = s->devices <= 1;
    return set_context(s, cells > least ? cells : least, err);
}

/* ---- all ---- */

/* What stops it from sharing layers anew, where the context was not enough. */
static const char *refusal_of(const ms_llama_search *s)
{
    const ms_infer_settings *given = s->job->settings;
    if (s->devices == 0)
        return "the context alone makes no room for the model in the host's memory";
    if (ms_infer_settings_has(given, "gpu-layers"))
        return "gpu-layers is given";
    if (s->devices > 1 && ms_infer_settings_has(given, "tensor-split"))
        return "tensor-split is given";
    return ms_infer_settings_has(given, "override-tensor") ? "override-tensor is given" : NULL;
}

static bool leaves_margins(const ms_llama_search *s, const ms_llama_estimate *estimates)
{
    for (uint32_t i = 0; i < places_of(s); i++)
        if (s->free[i] - estimates[i].all < s->margin[i])
            return false;
    return true;
}

ms_status ms_llama_search_run(ms_llama_search *s, ms_error *err)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES];
    bool is_enough = false;
    ms_status status = MS_OK;
    if (s->is_context_free)
        status = set_context(s, cells_of(s, s->model->positions), err);
    if (status == MS_OK)
        status = ms_llama_share_estimate(s, &s->settings, estimates, err);
    if (status != MS_OK || leaves_margins(s, estimates))
        return status;
    const sums full = sums_of(s, estimates);
    if (full.free - full.margin < full.used)
        status = reduce_context(s, &full, &is_enough, err);
    s->failure = is_enough ? NULL : refusal_of(s);
    if (status != MS_OK || is_enough || s->failure)
        return status;
    s->has_layout = s->is_changed = true;
    status = ms_llama_share_layers(s, err);
    bool ok = status != MS_OK || s->failure ||
              ms_llama_layout_set(&s->layout, s->model->n_layer, s->job->arena, &s->settings);
    return ok ? status : ms_infer_no_memory(err);
}
