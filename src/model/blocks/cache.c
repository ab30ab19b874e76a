/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/cache.h"

#include "ops/ops.h"
#include "trace/build.h"

ms_status ms_cache_new(const ms_model *model, ms_cache **cache, ms_error *err)
{
    if (!model->config->family->takes_cache)
        return ms_fail(err, MS_ERR_CONFIG,
                       "model type %s: a cache of keys and values is unsupported",
                       model->config->family->model_type);
    *cache = ms_arena_array(model->arena, ms_cache, 1);
    if (*cache)
        (*cache)->layers = ms_arena_array(model->arena, ms_cached_layer, model->config->num_layers);
    return *cache && (*cache)->layers ? MS_OK
                                      : ms_fail(err, MS_ERR_NOMEM, "out of memory for a cache");
}

void ms_cache_clear(const ms_model *model, ms_cache *cache)
{
    for (uint64_t i = 0; i < model->config->num_layers; i++) {
        ms_cached_layer *layer = &cache->layers[i];
        ms_release(model->tape, layer->keys);
        ms_release(model->tape, layer->values);
        ms_release(model->tape, layer->window);
        *layer = (ms_cached_layer){0};
    }
}

static bool slides(const ms_model *model, uint64_t layer)
{
    return model->config->sliding_window > 0 && ms_layer_slides(model->config, layer);
}

/* The most tokens that a layer keeps from one pass to the next. */
static uint64_t most_kept(const ms_model *model, uint64_t layer)
{
    uint64_t window = model->config->sliding_window;
    return slides(model, layer) && window > 1 ? window - 1 : UINT64_MAX; /* [-1 + 1:] is all */
}

static ms_dim kept_tokens(const ms_model *model, uint64_t layer, uint64_t seen)
{
    uint64_t most = most_kept(model, layer);
    return ms_dim_number(&model->tape->trace->symbols, seen < most ? seen : most);
}

ms_dim ms_cache_keys(const ms_model *model, uint64_t layer)
{
    uint64_t seen = model->cache ? model->cache->layers[layer].seen : 0;
    if (seen == 0)
        return model->seq;
    return ms_dim_add(&model->tape->trace->symbols, kept_tokens(model, layer, seen), model->seq);
}

/* torch.cat([kept, more], dim=-2): a copy also where nothing was kept. Held by the caller. */
static ms_tensor joined(ms_tape *tape, ms_tensor kept, ms_tensor more)
{
    ms_tensor all = kept ? ms_cat2(tape, kept, more, 2) : ms_clone(tape, more);
    ms_retain(tape, all);
    if (!ms_idle(tape))
        ms_trace_keep(tape->trace, ms_info(tape, all)->storage);
    return all;
}

static void keep(ms_model *model, uint64_t layer, ms_tensor *kept, ms_tensor all)
{
    ms_tape *tape = model->tape;
    const ms_cached_layer *row = &model->cache->layers[layer];
    ms_tensor last = all;
    if (most_kept(model, layer) != UINT64_MAX)
        last = ms_narrow(tape, all, 2, kept_tokens(model, layer, row->seen));
    ms_retain(tape, last);
    ms_release(tape, *kept);
    *kept = last;
}

void ms_cache_append(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                     ms_tensor *value)
{
    ms_tape *tape = model->tape;
    if (!model->cache || ms_idle(tape))
        return;
    ms_cached_layer *row = &model->cache->layers[layer];
    bool in_window = slides(model, layer);
    if (in_window && !row->window) {
        row->window = ms_empty_bytes(tape, sizeof(int64_t), MS_DTYPE_I64);
        ms_retain(tape, row->window);
    }
    row->seen += model->seq.value;
    ms_tensor keys = joined(tape, row->keys, *key);
    if (!in_window) /* it is bound before the values are joined */
        keep(model, layer, &row->keys, keys);
    ms_tensor values = joined(tape, row->values, *value);
    if (in_window)
        keep(model, layer, &row->keys, keys);
    keep(model, layer, &row->values, values);
    ms_assign(f, key, keys);
    ms_assign(f, value, values);
    ms_release(tape, keys);
    ms_release(tape, values);
}
