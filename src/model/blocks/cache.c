/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/cache.h"

#include "input/config/model/model_config.h"
#include "model/blocks/packed/cache_packed.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"

/* Positions of OPT and ALiBi's table are made for tokens that were seen, not for the room; states
 * have none. */
static bool takes_room(const ms_model_config *config)
{
    return !config->family->counts_seen && !config->alibi && !config->family->has_no_attention &&
           !config->is_encoder_decoder;
}

bool ms_cache_is_known(const ms_model_config *config)
{
    return config->family->takes_cache || config->is_encoder_decoder;
}

uint64_t ms_cache_first(const ms_model *model)
{
    uint64_t first = 0;
    while (first + 1 < model->config->num_layers && model->config->is_encoder_decoder &&
           ms_layer_kind(model->config, first) != MS_LAYER_DECODES)
        first++;
    return first;
}

ms_status ms_cache_new(const ms_model *model, uint64_t room, const ms_cache_packing *packing,
                       ms_cache **cache, ms_error *err)
{
    if (!ms_cache_is_known(model->config))
        return ms_fail(err, MS_ERR_CONFIG,
                       "model type %s: a cache of keys and values is unsupported",
                       model->config->family->model_type);
    if (room > 0 && !takes_room(model->config))
        return ms_fail(err, MS_ERR_CONFIG, "model type %s%s: a static cache is unsupported",
                       model->config->family->model_type, model->config->alibi ? ", alibi" : "");
    if (packing && packing->kind != MS_CACHE_PLAIN && model->config->family->has_no_attention)
        return ms_fail(err, MS_ERR_CONFIG, "model type %s has no keys and values to pack",
                       model->config->family->model_type);
    ms_status status = packing && packing->kind != MS_CACHE_PLAIN
                           ? ms_cache_packed_check(model, packing, err)
                           : MS_OK;
    if (status != MS_OK)
        return status;
    *cache = ms_arena_array(model->arena, ms_cache, 1);
    if (*cache) {
        if (packing)
            (*cache)->packing = *packing;
        (*cache)->room = room;
        (*cache)->layers = ms_arena_array(model->arena, ms_cached_layer, model->config->num_layers);
    }
    return *cache && (*cache)->layers ? MS_OK
                                      : ms_fail(err, MS_ERR_NOMEM, "out of memory for a cache");
}

void ms_cache_clear(const ms_model *model, ms_cache *cache)
{
    for (uint64_t i = 0; i < model->config->num_layers; i++) {
        ms_cached_layer *layer = &cache->layers[i];
        ms_release(model->tape, layer->keys);
        ms_release(model->tape, layer->values);
        ms_release(model->tape, layer->number);
        ms_release(model->tape, layer->cross[0]);
        ms_release(model->tape, layer->cross[1]);
        for (size_t k = 0; k < 2; k++)
            for (size_t t = 0; t < sizeof layer->packed[k].tensors / sizeof(ms_tensor); t++)
                ms_release(model->tape, layer->packed[k].tensors[t]);
        *layer = (ms_cached_layer){0};
    }
}

void ms_cache_skip(const ms_model *model, ms_cache *cache, uint64_t tokens)
{
    for (uint64_t i = 0; i < model->config->num_layers; i++)
        cache->layers[i].seen += tokens;
}

static bool slides(const ms_model *model, uint64_t layer)
{
    return model->config->sliding_window > 0 && ms_layer_slides(model->config, layer);
}

static ms_dim number(const ms_model *model, uint64_t value)
{
    return ms_dim_number(&model->tape->trace->symbols, value);
}

/* Held by the caller. */
static ms_tensor kept(ms_tape *tape, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    if (!ms_idle(tape))
        ms_trace_keep(tape->trace, ms_info(tape, tensor)->storage);
    return tensor;
}

/* ---- what attention sees ---- */

/* The most tokens that a dynamic layer keeps from one pass to the next. */
static uint64_t most_kept(const ms_model *model, uint64_t layer)
{
    uint64_t window = model->config->sliding_window;
    return slides(model, layer) && window > 1 ? window - 1 : UINT64_MAX; /* [-1 + 1:] is all */
}

static ms_dim kept_tokens(const ms_model *model, uint64_t layer, uint64_t seen)
{
    uint64_t most = most_kept(model, layer);
    return number(model, seen < most ? seen : most);
}

/* Tokens that a static layer has room for. */
static uint64_t room_of(const ms_model *model, uint64_t layer)
{
    uint64_t room = model->cache->room, window = model->config->sliding_window;
    return slides(model, layer) && window < room ? window : room;
}

static uint64_t static_keys(const ms_model *model, uint64_t layer)
{
    uint64_t room = room_of(model, layer), seen = model->cache->layers[layer].seen;
    uint64_t tokens = model->seq.value;
    if (!slides(model, layer) || seen + tokens <= room)
        return room;
    return seen < room ? seen + tokens : room + tokens - 1;
}

ms_dim ms_cache_keys(const ms_model *model, uint64_t layer)
{
    uint64_t seen = model->cache ? model->cache->layers[layer].seen : 0;
    if (model->cache && model->cache->room)
        return number(model, static_keys(model, layer));
    if (seen == 0)
        return model->seq;
    return ms_dim_add(&model->tape->trace->symbols, kept_tokens(model, layer, seen), model->seq);
}

ms_dim ms_cache_seen(const ms_model *model)
{
    uint64_t seen = model->cache ? model->cache->layers[ms_cache_first(model)].seen : 0;
    return seen == 0 ? model->seq : number(model, seen + model->seq.value);
}

bool ms_cache_is_plain(const ms_model *model, uint64_t layer)
{
    const ms_cache *cache = model->cache;
    if (cache && cache->room)
        return model->seq.value > 1 && cache->layers[layer].seen == 0;
    return model->seq.value == 1 || ms_cache_keys(model, layer).value == model->seq.value;
}

/* ---- dynamic layers ---- */

/* What is joined: after tokens that were skipped as many more. */
static ms_tensor with_skipped(ms_model *model, ms_dim keys, ms_tensor before, ms_tensor more)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !before)
        return more;
    ms_shape shape = ms_info(tape, more)->shape;
    uint64_t added = keys.value - ms_info(tape, before)->shape.dims[2].value;
    if (added == shape.dims[2].value)
        return more;
    shape.dims[2] = number(model, added);
    return ms_expand(tape, more, shape);
}

/* torch.cat([before, more], dim=-2): a copy also where nothing was kept. Held by the caller. */
static ms_tensor joined(ms_model *model, ms_dim keys, ms_tensor before, ms_tensor more)
{
    ms_tape *tape = model->tape;
    more = with_skipped(model, keys, before, more);
    return kept(tape, before ? ms_cat2(tape, before, more, 2) : ms_clone(tape, more));
}

static void keep(ms_model *model, uint64_t layer, ms_tensor *before, ms_tensor all)
{
    ms_tape *tape = model->tape;
    const ms_cached_layer *row = &model->cache->layers[layer];
    ms_tensor last = all;
    if (most_kept(model, layer) != UINT64_MAX)
        last = ms_narrow(tape, all, 2, kept_tokens(model, layer, row->seen));
    ms_retain(tape, last);
    ms_release(tape, *before);
    *before = last;
}

/* Yields all that attention sees, held by the caller. */
static void append_dynamic(ms_model *model, uint64_t layer, ms_tensor key, ms_tensor value,
                           ms_tensor all[2])
{
    ms_tape *tape = model->tape;
    ms_cached_layer *row = &model->cache->layers[layer];
    bool in_window = slides(model, layer);
    ms_dim keys = ms_cache_keys(model, layer);
    if (in_window && !row->number)
        row->number = kept(tape, ms_empty_bytes(tape, sizeof(int64_t), MS_DTYPE_I64));
    row->seen += model->seq.value;
    all[0] = joined(model, keys, row->keys, key);
    if (!in_window) /* it is bound before the values are joined */
        keep(model, layer, &row->keys, all[0]);
    all[1] = joined(model, keys, row->values, value);
    if (in_window)
        keep(model, layer, &row->keys, all[0]);
    keep(model, layer, &row->values, all[1]);
}

/* ---- static layers ---- */

static ms_tensor new_room(ms_model *model, uint64_t layer, ms_tensor like)
{
    ms_tape *tape = model->tape;
    ms_tensor_info info = *ms_info(tape, like);
    info.shape.dims[2] = number(model, room_of(model, layer));
    return kept(tape, ms_empty(tape, info.shape, (ms_dtype)info.dtype));
}

/* lazy_initialization() */
static void make_room(ms_model *model, uint64_t layer, ms_tensor key, ms_tensor value)
{
    ms_cached_layer *row = &model->cache->layers[layer];
    if (row->keys || ms_idle(model->tape))
        return;
    row->keys = new_room(model, layer, key);
    row->values = new_room(model, layer, value);
    row->number = kept(model->tape, ms_empty_bytes(model->tape, sizeof(int64_t), MS_DTYPE_I64));
}

/* keys.index_copy_() at the positions of the pass. */
static void write_in_place(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_consume(tape, ms_add_scalar(tape, ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64)));
}

/* A full window moves on by one token: keys.roll(), written to at an index, and copied back. */
static void roll(ms_model *model, const ms_cached_layer *row)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_local(&f, ms_empty_like(tape, row->keys, (ms_dtype)ms_info(tape, row->keys)->dtype));
    ms_local(&f, ms_empty_like(tape, row->values, (ms_dtype)ms_info(tape, row->values)->dtype));
    ms_local(&f, ms_empty_bytes(tape, sizeof(int64_t), MS_DTYPE_I64));
    ms_locals_end(&f, NULL);
}

/* keys[:, :, :seen] and the pass's, of which the last are copied into the room. Held. */
static ms_tensor outgrown(ms_model *model, uint64_t seen, ms_tensor room, ms_tensor more)
{
    ms_tape *tape = model->tape;
    ms_tensor all =
        seen == 0 ? more : ms_cat2(tape, ms_narrow(tape, room, 2, number(model, seen)), more, 2);
    ms_retain(tape, all);
    return all;
}

static void append_static(ms_model *model, uint64_t layer, ms_tensor key, ms_tensor value,
                          ms_tensor all[2])
{
    ms_tape *tape = model->tape;
    ms_cached_layer *row = &model->cache->layers[layer];
    make_room(model, layer, key, value);
    uint64_t seen = row->seen, room = room_of(model, layer);
    row->seen += model->seq.value;
    if (ms_idle(tape))
        return;
    if (slides(model, layer) && seen < room && row->seen > room) {
        all[0] = outgrown(model, seen, row->keys, key);
        all[1] = outgrown(model, seen, row->values, value);
        return;
    }
    if (slides(model, layer) && seen >= room)
        roll(model, row);
    else
        write_in_place(model);
    all[0] = row->keys;
    all[1] = row->values;
    ms_retain(tape, all[0]);
    ms_retain(tape, all[1]);
}

/* ---- all of them ---- */

void ms_cache_append(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                     ms_tensor *value)
{
    ms_tape *tape = model->tape;
    ms_tensor all[2] = {0, 0};
    if (!model->cache || ms_idle(tape))
        return;
    if (model->cache->packing.kind != MS_CACHE_PLAIN)
        ms_cache_packed_append(model, layer, *key, *value, all);
    else if (model->cache->room)
        append_static(model, layer, *key, *value, all);
    else
        append_dynamic(model, layer, *key, *value, all);
    ms_assign(f, key, all[0]);
    ms_assign(f, value, all[1]);
    ms_release(tape, all[0]);
    ms_release(tape, all[1]);
}

/* ---- an encoder's result ---- */

bool ms_cache_has_cross(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                        ms_tensor *value)
{
    const ms_cached_layer *row = model->cache ? &model->cache->layers[layer] : NULL;
    if (ms_idle(model->tape) || !row || !row->cross[0])
        return false;
    ms_assign(f, key, row->cross[0]);
    ms_assign(f, value, row->cross[1]);
    return true;
}

void ms_cache_keep_cross(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                         ms_tensor *value)
{
    ms_tape *tape = model->tape;
    if (!model->cache || ms_idle(tape))
        return;
    ms_cached_layer *row = &model->cache->layers[layer];
    row->cross[0] = kept(tape, ms_clone(tape, *key));
    row->cross[1] = kept(tape, ms_clone(tape, *value));
    ms_cache_has_cross(model, f, layer, key, value);
}
