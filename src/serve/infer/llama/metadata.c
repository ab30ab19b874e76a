/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 4096, MOST = 1 << 24 };

/* A count of the architecture: its key, where it goes, and whether it may be absent (then 0). */
typedef struct count_key {
    const char *name;
    size_t offset;
    bool required;
} count_key;

#define TO(member) offsetof(ms_llama_model, member)
/* clang-format off */
static const count_key keys[] = {
    {"block_count",                       TO(n_layer),      true},
    {"embedding_length",                  TO(n_embd),       true},
    {"context_length",                    TO(positions),    false},
    {"attention.key_length",              TO(head_k),       false},
    {"attention.value_length",            TO(head_v),       false},
    {"rope.dimension_count",              TO(n_rot),        false},
    {"expert_count",                      TO(experts),      false},
    {"expert_used_count",                 TO(experts_used), false},
    {"expert_feed_forward_length",        TO(expert_ff),    false},
    {"expert_group_count",                TO(expert_groups), false},
    {"expert_group_used_count",           TO(groups_used),  false},
    {"expert_shared_feed_forward_length", TO(shared_ff),    false},
    {"leading_dense_block_count",         TO(dense_layers), false},
    {"attention.sliding_window",          TO(window),       false},
    {"attention.kv_lora_rank",            TO(latent),       false},
    {"attention.q_lora_rank",             TO(query_latent), false},
    {"shortconv.l_cache",                 TO(conv_width),   false},
    {"ssm.conv_kernel",                   TO(conv_width),   false},
    {"ssm.inner_size",                    TO(inner),        false},
    {"ssm.state_size",                    TO(state),        false},
    {"ssm.group_count",                   TO(groups),       false},
    {"ssm.time_step_rank",                TO(scan_heads),   false},
};
/* clang-format on */

static const ms_gguf_value *find(const ms_gguf *gguf, ms_llama_arch arch, const char *name)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", ms_llama_arch_info_of(arch)->name, name);
    return ms_gguf_find(gguf, key);
}

static bool is_count(ms_gguf_kind kind)
{
    return kind == MS_GGUF_U8 || kind == MS_GGUF_U16 || kind == MS_GGUF_U32 ||
           kind == MS_GGUF_U64 || kind == MS_GGUF_I32 || kind == MS_GGUF_I64;
}

static ms_status fail_key(const ms_gguf_value *v, ms_error *err)
{
    return ms_fail(err, MS_ERR_CONFIG, "byte %" PRIu64 ": %.80s: expected a count up to %d", v->at,
                   v->key, MOST);
}

static ms_status read_counts(const ms_gguf *gguf, ms_llama_model *m, ms_error *err)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const ms_gguf_value *v = find(gguf, m->arch, keys[i].name);
        if (!v && keys[i].required)
            return ms_fail(err, MS_ERR_CONFIG, "the metadata has no %s.%s",
                           ms_llama_arch_info_of(m->arch)->name, keys[i].name);
        if (!v)
            continue;
        if (!is_count(v->kind) || v->number < 0 || v->number > MOST)
            return fail_key(v, err);
        uint64_t number = (uint64_t)v->number;
        memcpy((char *)m + keys[i].offset, &number, sizeof number);
    }
    if (m->n_layer == 0 || m->n_layer > MOST_LAYERS || m->n_embd == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "block_count %" PRIu64 " and embedding_length %" PRIu64
                       ": expected 1 to %d layers of some width",
                       m->n_layer, m->n_embd, MOST_LAYERS);
    return MS_OK;
}

/* A count, or a list with one for each layer. */
static ms_status of_layer(const ms_gguf_value *v, const ms_llama_model *m, uint64_t layer,
                          uint64_t *count, ms_error *err)
{
    bool is_list = v->kind == MS_GGUF_LIST && v->list && v->count >= m->n_layer;
    int64_t number = is_list ? v->list[layer] : v->number;
    if ((!is_list && !is_count(v->kind)) || number < 0 || number > MOST)
        return fail_key(v, err);
    *count = (uint64_t)number;
    return MS_OK;
}

static ms_status read_layers(const ms_gguf *gguf, ms_arena *arena, ms_llama_model *m, ms_error *err)
{
    const ms_gguf_value *heads = find(gguf, m->arch, "attention.head_count");
    const ms_gguf_value *kv = find(gguf, m->arch, "attention.head_count_kv");
    const ms_gguf_value *ff = find(gguf, m->arch, "feed_forward_length");
    uint64_t every = ms_llama_arch_info_of(m->arch)->window_every;
    ms_llama_layer *layers = ms_arena_array(arena, ms_llama_layer, (size_t)m->n_layer);
    ms_status status = layers ? MS_OK : ms_infer_no_memory(err);
    if (status == MS_OK && !heads && m->arch != MS_LLAMA_MAMBA2)
        status = ms_fail(err, MS_ERR_CONFIG, "the metadata has no attention.head_count");
    for (uint64_t i = 0; i < m->n_layer && status == MS_OK; i++) {
        ms_llama_layer *l = &layers[i];
        uint64_t width = 0;
        if (heads)
            status = of_layer(heads, m, i, &l->heads, err);
        l->kv_heads = l->heads;
        if (kv && status == MS_OK)
            status = of_layer(kv, m, i, &l->kv_heads, err);
        if (ff && status == MS_OK)
            status = of_layer(ff, m, i, &width, err);
        m->n_ff = width > m->n_ff ? width : m->n_ff;
        l->slides = every > 0 && m->window > 0 && i % every < every - 1;
        l->is_sparse = m->experts > 0 && i >= m->dense_layers;
    }
    m->layers = layers;
    return status;
}

/* Of a key that may be absent. */
static double real_of(const ms_gguf *gguf, ms_llama_arch arch, const char *name)
{
    const ms_gguf_value *v = find(gguf, arch, name);
    return !v ? 0 : v->kind == MS_GGUF_F32 || v->kind == MS_GGUF_F64 ? v->real : (double)v->number;
}

static ms_status read_arch(const ms_gguf *gguf, ms_llama_model *m, ms_error *err)
{
    const ms_gguf_value *v = ms_gguf_find(gguf, "general.architecture");
    if (!v || v->kind != MS_GGUF_TEXT)
        return ms_fail(err, MS_ERR_CONFIG, "the metadata has no general.architecture");
    for (int i = 0; i < MS_LLAMA_ARCHS; i++)
        if (strcmp(ms_llama_arch_info_of((ms_llama_arch)i)->name, v->text) == 0) {
            m->arch = (ms_llama_arch)i;
            return MS_OK;
        }
    return ms_fail(err, MS_ERR_CONFIG,
                   "architecture %.60s is not known here; llama, qwen2, qwen3, qwen3moe, gemma2, "
                   "gemma3, gpt2, phi3, deepseek2, gpt-oss, lfm2 and mamba2 are",
                   v->text);
}

ms_status ms_llama_metadata_read(const ms_gguf *gguf, ms_arena *arena, ms_llama_model *m,
                                 ms_error *err)
{
    ms_status status = read_arch(gguf, m, err);
    if (status == MS_OK)
        status = read_counts(gguf, m, err);
    if (status == MS_OK)
        status = read_layers(gguf, arena, m, err);
    if (status != MS_OK)
        return status;
    uint64_t heads = m->layers[0].heads;
    if (m->head_k == 0 && heads > 0)
        m->head_k = m->n_embd / heads;
    if (m->head_v == 0)
        m->head_v = m->head_k;
    if (m->n_rot == 0)
        m->n_rot = m->head_k;
    const ms_gguf_value *mla_k = find(gguf, m->arch, "attention.key_length_mla");
    const ms_gguf_value *mla_v = find(gguf, m->arch, "attention.value_length_mla");
    if (m->arch == MS_LLAMA_DEEPSEEK2 && (!mla_k || !mla_v))
        return ms_fail(err, MS_ERR_CONFIG,
                       "the file is of an old conversion without attention.key_length_mla, which "
                       "is not supported");
    if (mla_k && (mla_k->number < (int64_t)m->n_rot || mla_k->number > MOST || mla_v->number < 1 ||
                  mla_v->number > MOST))
        return fail_key(mla_k, err);
    if (mla_k) {
        m->plain_k = (uint64_t)mla_k->number - m->n_rot;
        m->head_v = (uint64_t)mla_v->number;
    }
    double scale = real_of(gguf, m->arch, "expert_weights_scale");
    m->scales_experts = scale != 0 && scale != 1;
    m->normalises_experts = real_of(gguf, m->arch, "expert_weights_norm") != 0;
    m->caps_logits = real_of(gguf, m->arch, "final_logit_softcapping") != 0;
    if (m->arch == MS_LLAMA_LLAMA && m->experts > 0 && m->expert_ff == 0)
        m->expert_ff = m->n_ff;
    return MS_OK;
}

uint64_t ms_llama_metadata_positions(const ms_gguf *gguf)
{
    char key[96];
    const ms_gguf_value *arch = ms_gguf_find(gguf, "general.architecture");
    if (!arch || !arch->text)
        return 0;
    snprintf(key, sizeof key, "%.60s.context_length", arch->text);
    const ms_gguf_value *v = ms_gguf_find(gguf, key);
    return v && is_count(v->kind) && v->number > 0 && v->number <= MOST ? (uint64_t)v->number : 0;
}
