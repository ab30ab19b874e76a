/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/quant_mix.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "serve/infer/llama/tensors.h"
#include "base/text/nearest.h"
#include "base/text/values.h"

enum { SUPER_BLOCK = 256 };

const char *const ms_llama_mix_names[] = {"F16",    "BF16",   "MXFP4", "Q8_0",   "Q6_K", "Q5_K_M",
                                          "Q4_K_M", "Q4_K_S", "Q4_0",  "Q3_K_M", "Q2_K", NULL};
_Static_assert(sizeof ms_llama_mix_names / sizeof ms_llama_mix_names[0] == MS_LLAMA_MIXES + 1,
               "a mix has no name");

static const ms_stored_id base_types[MS_LLAMA_MIXES] = {
    [MS_LLAMA_MIX_F16] = MS_STORED_F16,     [MS_LLAMA_MIX_BF16] = MS_STORED_BF16,
    [MS_LLAMA_MIX_MXFP4] = MS_STORED_Q8_0,  [MS_LLAMA_MIX_Q8_0] = MS_STORED_Q8_0,
    [MS_LLAMA_MIX_Q6_K] = MS_STORED_Q6_K,   [MS_LLAMA_MIX_Q5_K_M] = MS_STORED_Q5_K,
    [MS_LLAMA_MIX_Q4_K_M] = MS_STORED_Q4_K, [MS_LLAMA_MIX_Q4_K_S] = MS_STORED_Q4_K,
    [MS_LLAMA_MIX_Q4_0] = MS_STORED_Q4_0,   [MS_LLAMA_MIX_Q3_K_M] = MS_STORED_Q3_K,
    [MS_LLAMA_MIX_Q2_K] = MS_STORED_Q2_K,
};

/* What the choice for a tensor depends on, beside its name. */
typedef struct mixing {
    ms_llama_mix mix;
    const ms_llama_model *model;
    uint64_t values, downs; /* of all layers: tensors of attn_v or attn_qkv, and of ffn_down */
    uint64_t value_at, down_at;
} mixing;

static bool is_value(const ms_llama_tensor *t)
{
    return ms_llama_tensor_is(t, "attn_v.weight") || ms_llama_tensor_is(t, "attn_qkv.weight");
}

static bool is_down(const ms_llama_tensor *t)
{
    return ms_llama_tensor_is(t, "ffn_down.weight") ||
           ms_llama_tensor_is(t, "ffn_down_exps.weight") ||
           ms_llama_tensor_is(t, "ffn_down_shexp.weight");
}

/* The first and the last eighth of the layers, and every third between. */
static bool gets_more(uint64_t i, uint64_t count)
{
    return i < count / 8 || i >= 7 * count / 8 || (i - count / 8) % 3 == 2;
}

static ms_stored_id of_value(const mixing *q, uint64_t i, ms_stored_id base)
{
    const ms_llama_layer *l = &q->model->layers[0];
    uint64_t group = l->kv_heads > 0 ? l->heads / l->kv_heads : 1;
    bool is_large =
        q->model->n_layer == 80 && (q->model->arch == MS_LLAMA_QWEN2 ||
                                    (q->model->arch == MS_LLAMA_LLAMA && l->heads != l->kv_heads));
    ms_stored_id type = base;
    if (q->mix == MS_LLAMA_MIX_Q4_K_M || q->mix == MS_LLAMA_MIX_Q5_K_M)
        type = gets_more(i, q->values) ? MS_STORED_Q6_K : base;
    else if (q->mix == MS_LLAMA_MIX_Q4_K_S)
        type = i < 4 ? MS_STORED_Q5_K : base;
    else if (q->mix == MS_LLAMA_MIX_Q3_K_M)
        type = i < 2 ? MS_STORED_Q5_K : MS_STORED_Q4_K;
    else if (q->mix == MS_LLAMA_MIX_Q2_K)
        type = group >= 4 ? MS_STORED_Q4_K : MS_STORED_Q3_K;
    return is_large && (type == MS_STORED_Q3_K || type == MS_STORED_Q4_K) ? MS_STORED_Q5_K : type;
}

static ms_stored_id of_down(const mixing *q, uint64_t i, ms_stored_id base)
{
    uint64_t count = q->model->experts > 0 ? q->model->n_layer : q->downs;
    if (q->mix == MS_LLAMA_MIX_Q4_K_M || q->mix == MS_LLAMA_MIX_Q5_K_M)
        return gets_more(i, count) ? MS_STORED_Q6_K : base;
    if (q->mix == MS_LLAMA_MIX_Q4_K_S)
        return i < count / 8 ? MS_STORED_Q5_K : base;
    if (q->mix == MS_LLAMA_MIX_Q3_K_M)
        return i < count / 16 ? MS_STORED_Q5_K : MS_STORED_Q4_K;
    return q->mix == MS_LLAMA_MIX_Q2_K ? MS_STORED_Q3_K : base;
}

static ms_stored_id of_attention_output(const mixing *q, ms_stored_id base)
{
    bool is_small = q->mix == MS_LLAMA_MIX_Q2_K || q->mix == MS_LLAMA_MIX_Q3_K_M ||
                    q->mix == MS_LLAMA_MIX_Q4_K_S || q->mix == MS_LLAMA_MIX_Q4_K_M;
    if (q->model->experts == 8)
        return is_small ? MS_STORED_Q5_K : base;
    return q->mix == MS_LLAMA_MIX_Q3_K_M ? MS_STORED_Q4_K
           : q->mix == MS_LLAMA_MIX_Q2_K ? MS_STORED_Q3_K
                                         : base;
}

/* Rows that are no whole super-blocks get a type with small blocks. */
static ms_stored_id with_small_blocks(ms_stored_id type, bool is_head)
{
    if (is_head)
        return MS_STORED_Q8_0;
    return type == MS_STORED_Q4_K                             ? MS_STORED_Q5_0
           : type == MS_STORED_Q5_K                           ? MS_STORED_Q5_1
           : type == MS_STORED_Q6_K                           ? MS_STORED_Q8_0
           : type == MS_STORED_Q2_K || type == MS_STORED_Q3_K ? MS_STORED_Q4_0
                                                              : type;
}

static ms_stored_id choose(mixing *q, const ms_llama_tensor *t)
{
    ms_stored_id base = base_types[q->mix], type = base;
    bool is_head = strcmp(t->name, q->model->is_tied ? "token_embd.weight" : "output.weight") == 0;
    if (q->mix == MS_LLAMA_MIX_MXFP4)
        return t->shape[2] > 1 ? MS_STORED_MXFP4 : MS_STORED_Q8_0; /* MLA's too */
    if (is_head) {
        type = q->mix == MS_LLAMA_MIX_Q8_0 ? MS_STORED_Q8_0 : MS_STORED_Q6_K;
    } else if (is_value(t)) {
        type = of_value(q, q->value_at++, base);
        if (q->model->experts == 8)
            type = MS_STORED_Q8_0;
    } else if (ms_llama_tensor_is(t, "attn_k.weight") && q->model->experts == 8) {
        type = MS_STORED_Q8_0;
    } else if (is_down(t)) {
        uint64_t i = q->model->experts > 0 ? (uint64_t)t->layer : q->down_at++;
        type = of_down(q, i, base);
    } else if (ms_llama_tensor_is(t, "attn_output.weight")) {
        type = of_attention_output(q, base);
    }
    bool has_rest = t->shape[0] % SUPER_BLOCK != 0;
    return has_rest ? with_small_blocks(type, is_head) : type;
}

ms_status ms_llama_mix_find(const char *name, ms_llama_mix *mix, ms_error *err)
{
    int choice = 0;
    if (ms_name_equal(name, "MXFP4_MOE"))
        name = ms_llama_mix_names[MS_LLAMA_MIX_MXFP4];
    ms_status status = ms_value_choice("quant", name, ms_llama_mix_names, &choice, err);
    *mix = (ms_llama_mix)choice;
    return status;
}

ms_llama_mix ms_llama_mix_of_config(const ms_model_config *config)
{
    bool is_packed = config->quantization.kind == MS_QUANTIZE_MXFP4;
    return is_packed ? MS_LLAMA_MIX_MXFP4 : MS_LLAMA_MIX_F16;
}

ms_status ms_llama_mix_apply(ms_llama_mix mix, ms_llama_model *m, ms_error *err)
{
    mixing q = {.mix = mix, .model = m};
    bool is_plain = mix == MS_LLAMA_MIX_F16 || mix == MS_LLAMA_MIX_BF16;
    if (mix == MS_LLAMA_MIX_MXFP4 && m->experts == 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "quant: mxfp4 is a type for experts, but the model has none; q8_0 is what "
                       "other tensors get");
    for (uint32_t i = 0; i < m->tensors.count; i++) {
        q.values += is_value(&m->tensors.items[i]);
        q.downs += is_down(&m->tensors.items[i]);
    }
    for (uint32_t i = 0; i < m->tensors.count; i++) {
        ms_llama_tensor *t = &m->tensors.items[i];
        /* llama-quantize does not quantise again what is quantised: gpt-oss's experts. */
        bool is_kept = t->type == MS_STORED_F32 || t->type == MS_STORED_MXFP4;
        ms_stored_id chosen = is_plain ? base_types[mix] : choose(&q, t);
        t->type = is_kept ? t->type : chosen;
        uint64_t block = ms_stored_type_of(t->type)->block_elements;
        if (t->shape[0] % block != 0)
            return ms_fail(err, MS_ERR_CONFIG,
                           "quant: the rows of %.60s do not fill whole blocks of %s", t->name,
                           ms_stored_type_of(t->type)->name);
    }
    return MS_OK;
}
