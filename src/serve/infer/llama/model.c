/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/model.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "serve/infer/kit/rotary.h"
#include "serve/infer/llama/quant_mix.h"
#include "serve/infer/llama/tensors.h"

/* ---- convert ---- */

/* The GGUF file that llama.cpp's converter would make of a config.json: hyperparameters, and the
 * tensors with the types of a 16-bit file. */

/* The converter cuts rows of the table of embeddings for which the tokenizer has no token. */
enum { GEMMA3_TOKENS = 262144 };

static ms_status convert_layers(const ms_model_config *c, ms_arena *arena, ms_llama_model *m,
                                ms_error *err)
{
    ms_llama_layer *layers = ms_arena_array(arena, ms_llama_layer, (size_t)m->n_layer);
    uint64_t every = ms_llama_arch_info_of(m->arch)->window_every;
    if (!layers)
        return ms_infer_no_memory(err);
    for (uint64_t i = 0; i < m->n_layer; i++) {
        bool is_mixer = ms_layer_is_token_mixer(c, i);
        layers[i] = (ms_llama_layer){.heads = c->num_heads,
                                     .kv_heads = is_mixer ? 0 : c->num_kv_heads,
                                     .slides = every > 0 && m->window > 0 && ms_layer_slides(c, i),
                                     .is_sparse = m->experts > 0 &&
                                                  (m->arch == MS_LLAMA_LLAMA ||
                                                   m->arch == MS_LLAMA_GPT_OSS ||
                                                   (ms_layer_kind(c, i) & MS_LAYER_SPARSE) != 0)};
    }
    m->layers = layers;
    return MS_OK;
}

static double number_of(ms_json_value file, const char *key)
{
    ms_json_value member;
    ms_error ignored = {.status = MS_OK};
    double number = 0;
    bool truth = false;
    if (!ms_json_find(file, key, &member))
        return 0;
    if (ms_json_kind_of(member) == MS_JSON_NUMBER &&
        ms_json_get_number(member, -1e300, 1e300, &number, &ignored) == MS_OK)
        return number;
    return ms_json_get_bool(member, &truth, &ignored) == MS_OK && truth;
}

/* How a token's experts are chosen and weighted. */
static void convert_routing(const ms_infer_job *job, ms_llama_model *m)
{
    double scale = number_of(job->file, "routed_scaling_factor");
    m->scales_experts = scale != 0 && scale != 1;
    m->normalises_experts = number_of(job->file, "norm_topk_prob") != 0;
    m->expert_groups = job->config->expert_groups;
    m->groups_used = job->config->chosen_groups;
}

/* Multi-head latent attention: one head whose key is the latent and the rotary part. */
static void convert_latent(const ms_model_config *c, ms_llama_model *m)
{
    m->latent = c->latent_rank;
    m->query_latent = c->query_rank;
    m->plain_k = c->plain_key_dim;
    m->n_rot = c->head_dim;
    m->head_k = c->latent_rank + c->head_dim;
    m->shared_ff = c->shared_experts * c->expert_size;
    m->dense_layers = c->first_sparse_layer;
}

static ms_status convert_check(const ms_model_config *c, const ms_llama_model *m, ms_error *err)
{
    if (c->head != MS_HEAD_CAUSAL_LM)
        return ms_fail(err, MS_ERR_CONFIG,
                       "llama.cpp: only models that predict the next token are supported");
    if (c->long_rotary)
        return ms_fail(err, MS_ERR_CONFIG,
                       "longrope: give the GGUF file, because the factors cannot be derived from a "
                       "config.json");
    if (m->arch == MS_LLAMA_LLAMA && (c->attention_bias || c->mlp_bias))
        return ms_fail(
            err, MS_ERR_CONFIG,
            "attention_bias and mlp_bias: give the GGUF file of a model with these biases");
    return MS_OK;
}

static ms_status llama_convert(const ms_infer_job *job, ms_llama_model *m, ms_error *err)
{
    const ms_model_config *c = job->config;
    const ms_family_facts *facts = ms_family_facts_of(c->family);
    if (!facts->llama_cpp || facts->needs_gguf ||
        !ms_llama_arch_of_name(facts->llama_cpp, &m->arch))
        return ms_fail(err, MS_ERR_CONFIG, "llama.cpp: a config.json of type %.60s is unsupported",
                       c->family->model_type);
    if (c->quantization.kind == MS_QUANTIZE_COMPRESSED)
        return ms_fail(err, MS_ERR_CONFIG,
                       "llama.cpp: weights of compressed-tensors cannot be converted; give the "
                       "model's GGUF file");
    m->n_layer = c->num_layers;
    m->n_embd = c->hidden_size;
    m->n_vocab = c->vocab_size;
    if (m->arch == MS_LLAMA_GEMMA3 && m->n_vocab > GEMMA3_TOKENS)
        m->n_vocab = GEMMA3_TOKENS;
    m->n_ff = c->mlp_width > 0 ? c->mlp_width : c->intermediate_size;
    m->head_k = c->head_dim;
    m->head_v = ms_value_dim(c);
    m->n_rot = m->head_k;
    m->positions = c->max_positions;
    m->experts = c->num_experts;
    m->experts_used = c->experts_per_token;
    m->expert_ff =
        m->experts > 0 ? (c->expert_size > 0 ? c->expert_size : c->intermediate_size) : 0;
    m->window = c->sliding_window;
    m->is_tied = c->tie_word_embeddings;
    m->conv_width = c->convolution_width;
    m->has_rope_factors =
        m->arch == MS_LLAMA_LLAMA && strcmp(ms_infer_rotary_scaling(job->file), "llama3") == 0;
    if (m->arch == MS_LLAMA_DEEPSEEK2)
        convert_latent(c, m);
    if (m->arch == MS_LLAMA_DEEPSEEK2)
        convert_routing(job, m);
    m->caps_logits =
        m->arch == MS_LLAMA_GEMMA3 && number_of(job->file, "final_logit_softcapping") != 0;
    ms_status status = convert_check(c, m, err);
    if (status == MS_OK)
        status = convert_layers(c, job->arena, m, err);
    return status == MS_OK ? ms_llama_tensors_make(job->arena, m, err) : status;
}

/* ---- metadata ---- */

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
                   "architecture %.60s is not supported; llama, qwen2, qwen3, qwen3moe, gemma2, "
                   "gemma3, gpt2, phi3, deepseek2, gpt-oss, lfm2 and mamba2 are",
                   v->text);
}

/* Fills all but the tensors. */
static ms_status llama_metadata_read(const ms_gguf *gguf, ms_arena *arena, ms_llama_model *m,
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
                       "the file comes from an old converter that wrote no "
                       "attention.key_length_mla, which is not supported; convert the model again");
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

/* ---- model ---- */

bool ms_llama_is_recurrent(const ms_llama_model *model, uint64_t layer)
{
    return model->layers[layer].kv_heads == 0;
}

static ms_status take_tensors(const ms_gguf *gguf, ms_llama_model *m, ms_error *err)
{
    bool has_table = false;
    m->is_tied = true;
    for (uint32_t i = 0; i < gguf->tensors.count; i++) {
        const ms_gguf_tensor *from = &gguf->tensors.items[i];
        ms_llama_tensor t = {.name = from->name,
                             .type = from->type,
                             .rank = from->rank,
                             .file = from->file,
                             .bytes = from->bytes,
                             .begin = from->begin,
                             .end = from->begin + from->bytes,
                             .layer = ms_llama_tensor_layer(from->name, m->n_layer)};
        memcpy(t.shape, from->shape, sizeof t.shape);
        if (t.layer > (int64_t)m->n_layer)
            return ms_fail(err, MS_ERR_CONFIG,
                           "the tensor %.60s belongs to a layer that the model does not have",
                           t.name);
        if (strcmp(t.name, "token_embd.weight") == 0) {
            has_table = true;
            m->n_vocab = t.shape[1];
        }
        m->is_tied = m->is_tied && strcmp(t.name, "output.weight") != 0;
        m->has_rope_factors = m->has_rope_factors || strcmp(t.name, "rope_freqs.weight") == 0;
        if (!ms_vec_push(&m->tensors, t))
            return ms_infer_no_memory(err);
    }
    return has_table ? MS_OK
                     : ms_fail(err, MS_ERR_CONFIG, "the file has no tensor token_embd.weight");
}

static ms_status make(const ms_infer_job *job, ms_llama_mix mix, ms_llama_model *m, ms_error *err)
{
    ms_status status = llama_convert(job, m, err);
    if (status == MS_OK)
        status = ms_llama_mix_apply(mix, m, err);
    return status == MS_OK ? ms_llama_tensors_place(m, err) : status;
}

static uint64_t bytes_of(const ms_llama_model *m)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->tensors.count; i++)
        bytes += m->tensors.items[i].bytes;
    return bytes;
}

/* What cannot be made is taken for the largest, so that its refusal is seen. */
ms_status ms_llama_quants(const ms_infer_job *job, const char **names, size_t *count, ms_error *err)
{
    uint64_t sizes[MS_LLAMA_MIXES];
    ms_error reason = {.status = MS_OK};
    *count = 0;
    while (!job->config && *count < MS_LLAMA_MIXES) { /* of a file, where all are refused */
        names[*count] = ms_llama_mix_names[*count];
        (*count)++;
    }
    for (size_t mix = 0; mix < MS_LLAMA_MIXES && job->config; mix++) {
        ms_llama_model m = {0};
        ms_status status = make(job, (ms_llama_mix)mix, &m, &reason);
        uint64_t bytes = status == MS_OK ? bytes_of(&m) : UINT64_MAX;
        bool is_without = mix == MS_LLAMA_MIX_MXFP4 && status == MS_ERR_USAGE;
        ms_llama_model_free(&m);
        if (status == MS_ERR_NOMEM)
            return ms_infer_no_memory(err);
        size_t at = *count;
        for (; !is_without && at > 0 && sizes[at - 1] < bytes; at--) {
            sizes[at] = sizes[at - 1];
            names[at] = names[at - 1];
        }
        if (is_without)
            continue;
        sizes[at] = bytes;
        names[at] = ms_llama_mix_names[mix];
        (*count)++;
    }
    return MS_OK;
}

static ms_status load(const ms_infer_job *job, ms_llama_model *m, ms_error *err)
{
    ms_llama_mix mix = MS_LLAMA_MIX_F16;
    if (job->gguf) {
        if (job->settings->quant && ms_infer_settings_has(job->settings, "quant"))
            return ms_fail(err, MS_ERR_USAGE,
                           "quant: a GGUF file has its own weight types; leave quant out");
        ms_status status = llama_metadata_read(job->gguf, job->arena, m, err);
        return status == MS_OK ? take_tensors(job->gguf, m, err) : status;
    }
    const char *quant = job->settings->quant;
    ms_status status = MS_OK;
    if (quant)
        status = ms_llama_mix_find(quant, &mix, err);
    else
        mix = ms_llama_mix_of_config(job->config);
    return status == MS_OK ? make(job, mix, m, err) : status;
}

/* Bounds within which no product of sizes exceeds 64 bits, whatever a file says. */
static ms_status check(const ms_llama_model *m, ms_error *err)
{
    enum { MOST_HEADS = 4096, MOST_WIDTH = 1 << 16, MOST_EXPERTS_USED = 64 };
    const uint64_t most_tokens = (uint64_t)1 << 28;
    bool is_good = m->n_vocab > 0 && m->n_vocab <= most_tokens && m->experts_used <= m->experts &&
                   m->experts_used <= MOST_EXPERTS_USED &&
                   (m->expert_groups <= 1 || m->experts % m->expert_groups == 0) &&
                   m->groups_used <= m->expert_groups && m->expert_groups <= m->experts;
    if (m->arch == MS_LLAMA_MAMBA2)
        is_good = is_good && m->scan_heads > 0 && m->groups > 0 && m->inner % m->scan_heads == 0 &&
                  m->inner % m->groups == 0;
    for (uint64_t i = 0; i < m->n_layer; i++) {
        const ms_llama_layer *l = &m->layers[i];
        bool attends = l->kv_heads > 0;
        is_good = is_good && l->heads <= MOST_HEADS && l->kv_heads <= l->heads &&
                  (!attends || (m->head_k > 0 && m->head_v > 0)) &&
                  (attends || m->conv_width > 0) && (!l->is_sparse || m->experts_used > 0);
    }
    if (!is_good || m->head_k > MOST_WIDTH || m->head_v > MOST_WIDTH ||
        m->conv_width > MOST_WIDTH || m->inner > MOST_WIDTH || m->state > MOST_WIDTH ||
        m->groups > MOST_WIDTH)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the model's numbers of heads, experts or tokens, or their widths, do not "
                       "fit together");
    return MS_OK;
}

ms_status ms_llama_model_load(const ms_infer_job *job, ms_llama_model *model, ms_error *err)
{
    *model = (ms_llama_model){0};
    ms_status status = load(job, model, err);
    if (status == MS_OK)
        status = check(model, err);
    if (status != MS_OK)
        ms_llama_model_free(model);
    return status;
}

void ms_llama_model_free(ms_llama_model *model)
{
    ms_vec_free(&model->tensors);
}
