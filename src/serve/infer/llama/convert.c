/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/convert.h"

#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "serve/infer/kit/rotary.h"
#include "serve/infer/llama/tensors.h"

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

static ms_status check(const ms_model_config *c, const ms_llama_model *m, ms_error *err)
{
    if (c->head != MS_HEAD_CAUSAL_LM)
        return ms_fail(err, MS_ERR_CONFIG, "llama.cpp: only models that predict the next token");
    if (c->long_rotary)
        return ms_fail(err, MS_ERR_CONFIG,
                       "longrope: give the GGUF file; its factors are not made from a config.json");
    if (m->arch == MS_LLAMA_LLAMA && (c->attention_bias || c->mlp_bias))
        return ms_fail(err, MS_ERR_CONFIG,
                       "attention_bias and mlp_bias: give the GGUF file of such a model");
    return MS_OK;
}

ms_status ms_llama_convert(const ms_infer_job *job, ms_llama_model *m, ms_error *err)
{
    const ms_model_config *c = job->config;
    const ms_family_facts *facts = ms_family_facts_of(c->family);
    if (!facts->llama_cpp || facts->needs_gguf ||
        !ms_llama_arch_of_name(facts->llama_cpp, &m->arch))
        return ms_fail(err, MS_ERR_CONFIG, "llama.cpp: a config.json of type %.60s is unsupported",
                       c->family->model_type);
    if (c->quantization.kind == MS_QUANTIZE_COMPRESSED)
        return ms_fail(err, MS_ERR_CONFIG,
                       "llama.cpp: weights of compressed-tensors are not converted");
    m->n_layer = c->num_layers;
    m->n_embd = c->hidden_size;
    m->n_vocab = c->vocab_size;
    if (m->arch == MS_LLAMA_GEMMA3 && m->n_vocab > GEMMA3_TOKENS)
        m->n_vocab = GEMMA3_TOKENS;
    m->n_ff = c->intermediate_size;
    if (c->adjusts_intermediate) {
        uint64_t two_thirds = 2 * c->intermediate_size / 3;
        m->n_ff = ms_llama_pad((uint64_t)((double)two_thirds * c->intermediate_share),
                               c->intermediate_step);
    }
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
    ms_status status = check(c, m, err);
    if (status == MS_OK)
        status = convert_layers(c, job->arena, m, err);
    return status == MS_OK ? ms_llama_tensors_make(job->arena, m, err) : status;
}
