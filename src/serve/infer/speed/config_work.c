/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/speed/config_work.h"

#include <limits.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "serve/infer/files/inventory.h"
#include "run/measure/playback.h"

/* ---- types ---- */

/* How the engine has its weights. */
typedef struct loaded {
    const ms_model_config *config;
    ms_quantization quantization;
    ms_dtype dtype;
    bool is_fp8; /* those of layers, as the config says or as they are made on loading */
} loaded;

static loaded loaded_of(const ms_infer_job *job, const ms_infer_result *result, bool may_dequantise)
{
    const ms_model_config *c = job->config;
    bool is_made = job->settings->vllm.quantization == MS_VLLM_QUANTIZATION_FP8;
    loaded as = {.config = c, .quantization = c->quantization, .dtype = MS_DTYPE_BF16};
    if (may_dequantise)
        as.quantization.kind = MS_QUANTIZE_NONE;
    if (result->packed_type)
        (void)ms_quantization_parse(result->packed_type, &as.quantization, NULL);
    as.is_fp8 = is_made || c->is_fp8 || as.quantization.kind == MS_QUANTIZE_FP8_BLOCK;
    if (result->weights_type)
        (void)ms_dtype_parse(result->weights_type, &as.dtype);
    return as;
}

/* Bits of a weight in a product, at least: scales and zeros are left out. */
static double bits_of(const loaded *as)
{
    switch (as->quantization.kind) {
    case MS_QUANTIZE_NF4:
    case MS_QUANTIZE_FP4:
    case MS_QUANTIZE_MXFP4:
    case MS_QUANTIZE_COMPRESSED: /* the least that engines know of it */
        return 4;
    case MS_QUANTIZE_GPTQ:
    case MS_QUANTIZE_AWQ:
        return as->quantization.bits;
    case MS_QUANTIZE_INT8:
    case MS_QUANTIZE_FP8_BLOCK:
        return CHAR_BIT;
    case MS_QUANTIZE_NONE:
    case MS_QUANTIZE_KIND_COUNT:
        break;
    }
    return as->is_fp8 ? CHAR_BIT : CHAR_BIT * (double)ms_dtype_bytes(as->dtype);
}

/* Products of fp8 run at its rate, of int8 at that of whole numbers; others are unpacked. mxfp4 may
 * run at a rate that the table does not have, and compressed-tensors at any. */
static void set_rate(const ms_device *d, const loaded *as, ms_infer_work *w)
{
    ms_quantize_kind kind = as->quantization.kind;
    bool is_int8 = kind == MS_QUANTIZE_INT8;
    bool is_unknown = kind == MS_QUANTIZE_MXFP4 || kind == MS_QUANTIZE_COMPRESSED;
    w->type = as->is_fp8 ? "fp8" : is_int8 ? "int8" : ms_dtype_info_of(as->dtype)->short_name;
    w->flops = is_unknown   ? 0
               : as->is_fp8 ? d->fp8_flops
               : is_int8    ? d->int8_ops
                            : ms_clock_rate_flops(d, as->dtype);
}

/* ---- weights ---- */

static bool has_part(const char *name, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

static void add(ms_work_weights *to, double count, double bits)
{
    to->count += count;
    to->bytes += count * bits / CHAR_BIT;
}

static void add_weight(const ms_inventory_weight *w, const loaded *as, ms_infer_work *work)
{
    static const char *const heads[] = {"lm_head.", "embed_out.", "score.", NULL};
    static const char *const pictures[] = {"visual.", "vision", "multi_modal_projector", NULL};
    double count = (double)w->elements, bits = bits_of(as);
    double plain = CHAR_BIT * (double)ms_dtype_bytes(as->dtype);
    const ms_model_config *c = as->config;
    if (w->is_buffer || w->rank < 2 || has_part(w->name, pictures))
        return;
    if (has_part(w->name, heads) || (w->is_embedding && c->tie_word_embeddings &&
                                     w->shape[0] == c->vocab_size && work->head.count == 0))
        add(&work->head, count, plain);
    else if (!w->is_embedding && work->experts > 0 && w->shape[0] == work->experts &&
             strstr(w->name, ".experts."))
        add(&work->expert, w->rank > 2 ? count / (double)work->experts : 0, bits);
    else if (!w->is_embedding)
        add(&work->layers, count, bits);
}

/* ---- attention ---- */

static double kv_heads(const ms_model_config *c)
{
    return c->shares_kv && !c->groups_kv ? 1 : (double)c->num_kv_heads;
}

static void add_attention(const ms_model_config *c, double cache_bytes, ms_infer_work *work)
{
    double widths = (double)(ms_key_dim(c) + ms_value_dim(c));
    double cached =
        c->latent_rank > 0 ? (double)(c->latent_rank + c->head_dim) : kv_heads(c) * widths;
    work->spans[MS_WORK_WINDOWED].window = c->sliding_window;
    for (uint64_t i = 0; i < c->num_layers; i++) {
        bool slides = ms_layer_slides(c, i) && c->sliding_window > 0;
        ms_work_span *span = &work->spans[slides ? MS_WORK_WINDOWED : MS_WORK_FULL];
        if (ms_layer_is_token_mixer(c, i))
            continue;
        span->pair_flops += 2 * (double)c->num_heads * widths;
        span->token_bytes += cached * cache_bytes;
    }
}

/* ---- all ---- */

static ms_status count_work(const ms_infer_job *job, const ms_infer_result *result,
                            bool may_dequantise, ms_infer_work *work, ms_error *err)
{
    ms_inventory own = {.capacity = 0};
    const ms_inventory *inventory = job->inventory ? job->inventory : &own;
    const ms_model_config *c = job->config;
    loaded as = loaded_of(job, result, may_dequantise);
    bool has_fp8_cache = job->settings->vllm.kv_dtype == MS_VLLM_KV_FP8;
    ms_status status = job->inventory ? MS_OK : ms_inventory_make(job->arena, c, &own, err);
    if (status != MS_OK)
        return status;
    work->experts = c->num_experts;
    work->used = c->experts_per_token;
    work->prefill_devices = work->decode_devices = result->devices;
    if (ms_infer_part_total(result, MS_INFER_HOST, MS_INFER_WEIGHTS, ~0u).expected > 0)
        work->reason = "weights are on the host, whose bandwidth is not known";
    if (c->family->has_no_attention || c->family->is_bidirectional || c->is_encoder_decoder)
        work->reason = "it is known only for decoders whose layers all have attention";
    set_rate(job->device, &as, work);
    for (uint32_t i = 0; i < inventory->weights.count; i++)
        add_weight(&inventory->weights.items[i], &as, work);
    add_attention(c, has_fp8_cache ? 1 : (double)ms_dtype_bytes(as.dtype), work);
    ms_inventory_free(&own);
    return MS_OK;
}

ms_status ms_config_work(const ms_infer_job *job, const ms_infer_result *result,
                         ms_infer_work *work, ms_error *err)
{
    return count_work(job, result, false, work, err);
}

ms_status ms_config_work_as_loaded(const ms_infer_job *job, const ms_infer_result *result,
                                   ms_infer_work *work, ms_error *err)
{
    return count_work(job, result, true, work, err);
}
