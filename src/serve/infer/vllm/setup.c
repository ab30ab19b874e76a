/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/setup.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "serve/infer/kit/rotary.h"

enum { VOCAB_STEP = 64, MOST_POSITIONS = 1 << 28 };

/* ---- the model ---- */

/* The table of yarn has the original positions times the factor; so many are the most tokens of a
 * request, too. */
static ms_status read_yarn(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    ms_json_value scaling, value;
    uint64_t original = 0;
    double factor = 0;
    bool has = (ms_json_find(job->file, "rope_scaling", &scaling) ||
                ms_json_find(job->file, "rope_parameters", &scaling)) &&
               ms_json_find(scaling, "original_max_position_embeddings", &value);
    ms_status status = has ? ms_json_get_count(value, 1, MOST_POSITIONS, &original, err) : MS_OK;
    has = has && ms_json_find(scaling, "factor", &value);
    if (status == MS_OK && has)
        status = ms_json_get_number(value, 1, 1 << 16, &factor, err);
    if (status == MS_OK && (!has || (double)original * factor > MOST_POSITIONS))
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: yarn is supported with original_max_position_embeddings and factor, "
                       "up to %d tokens",
                       MOST_POSITIONS);
    s->positions = (uint64_t)((double)original * factor);
    s->rotary.rows = s->positions;
    s->rotary.is_yarn = true;
    return status;
}

static ms_status read_positions(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    ms_json_value value;
    const char *type = ms_infer_rotary_scaling(job->file);
    if (!ms_json_find(job->file, "max_position_embeddings", &value))
        return ms_fail(err, MS_ERR_CONFIG, "vllm: the config has no max_position_embeddings");
    ms_status status = ms_json_get_count(value, 1, MOST_POSITIONS, &s->positions, err);
    if (status != MS_OK)
        return status;
    s->rotary = (ms_vllm_rotary){.rows = s->positions, .width = ms_rotary_dim(s->config)};
    if (strcmp(type, "yarn") == 0)
        return read_yarn(job, s, err);
    if (strcmp(type, "") != 0 && strcmp(type, "default") != 0 && strcmp(type, "llama3") != 0)
        return ms_fail(err, MS_ERR_CONFIG, "vllm: rotary scaling of type %.40s is not supported",
                       type);
    return MS_OK;
}

/* Those that were measured: Triton's kernels, which Blackwell does not take by default. */
static ms_status check_experts(const ms_infer_job *job, const ms_vllm_setup *s, ms_error *err)
{
    const ms_vllm_settings *v = &job->settings->vllm;
    if (s->arch->experts == MS_VLLM_EXPERTS_NONE)
        return MS_OK;
    if (s->config->num_experts == 0 || s->config->experts_per_token == 0)
        return ms_fail(err, MS_ERR_CONFIG, "vllm: a mixture without experts is not supported");
    if (job->device->compute_capability >= 100)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: mixtures of experts are not supported on Blackwell");
    if (v->version != MS_VLLM_0_25 &&
        (s->arch->is_latent || s->arch->has_sinks || v->quantization != MS_VLLM_QUANTIZATION_AUTO))
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: with version 0.20.2, mixtures of experts are supported only without "
                       "latent attention, sinks and quantization");
    return MS_OK;
}

static ms_status open_model(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    const ms_model_config *c = job->config;
    if (!c)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine vllm does not read GGUF files; give a config.json");
    s->config = c;
    s->arch = ms_family_facts_of(c->family)->vllm;
    if (!s->arch)
        return ms_fail(err, MS_ERR_CONFIG, "vllm: models of type %.60s are unsupported",
                       c->family->model_type);
    if (c->head != MS_HEAD_CAUSAL_LM)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: only models that predict the next token are supported");
    ms_status status = check_experts(job, s, err);
    if (status == MS_OK)
        status = ms_vllm_scheme_read(job, s->arch, &s->scheme, err);
    return status == MS_OK ? read_positions(job, s, err) : status;
}

bool ms_vllm_is_sparse(const ms_vllm_setup *setup, uint64_t layer)
{
    ms_vllm_experts where = setup->arch->experts;
    return where == MS_VLLM_EXPERTS_ALL ||
           (where == MS_VLLM_EXPERTS_SOME &&
            (ms_layer_kind(setup->config, layer) & MS_LAYER_SPARSE) != 0);
}

bool ms_vllm_slides(const ms_vllm_setup *setup, uint64_t layer)
{
    return setup->config->sliding_window > 0 && ms_layer_slides(setup->config, layer);
}

/* ---- settings ---- */

static ms_status set_devices(const ms_infer_settings *set, ms_vllm_setup *s, ms_error *err)
{
    const ms_vllm_settings *v = &set->vllm;
    uint64_t gpus = set->gpus;
    s->stages = v->pipeline_parallel;
    if (!ms_infer_settings_has(set, "gpus"))
        gpus = (v->tensor_parallel ? v->tensor_parallel : 1) * s->stages;
    s->tensor_parallel = v->tensor_parallel ? v->tensor_parallel : gpus / s->stages;
    if (s->tensor_parallel * s->stages != gpus)
        return ms_fail(err, MS_ERR_USAGE,
                       "tensor-parallel-size x pipeline-parallel-size is %" PRIu64
                       ", but gpus is %" PRIu64,
                       s->tensor_parallel * s->stages, gpus);
    if (s->stages > s->config->num_layers)
        return ms_fail(err, MS_ERR_USAGE,
                       "pipeline-parallel-size: there are more stages than the model's %" PRIu64
                       " layers",
                       s->config->num_layers);
    for (uint64_t i = 0; i < s->config->num_layers && s->stages > 1; i++)
        if (ms_vllm_slides(s, i) != ms_vllm_slides(s, 0))
            return ms_fail(err, MS_ERR_CONFIG,
                           "pipeline-parallel-size: models that mix layers with and without a "
                           "window are not supported");
    return MS_OK;
}

/* Heads and widths of a device; vLLM refuses those that do not divide. */
static ms_status set_shares(ms_vllm_setup *s, ms_error *err)
{
    const ms_model_config *c = s->config;
    uint64_t n = s->tensor_parallel;
    uint64_t expert = c->expert_size ? c->expert_size : c->intermediate_size;
    uint64_t shared = c->shared_expert_size + c->shared_experts * c->expert_size;
    uint64_t padded = ms_vllm_ceil_div(c->vocab_size, VOCAB_STEP) * VOCAB_STEP;
    bool divides = c->num_heads % n == 0 && c->intermediate_size % n == 0 && expert % n == 0 &&
                   shared % n == 0 && padded % n == 0 &&
                   (c->num_kv_heads >= n ? c->num_kv_heads % n == 0 : n % c->num_kv_heads == 0);
    if (!divides)
        return ms_fail(err, MS_ERR_CONFIG,
                       "tensor-parallel-size: heads, MLP or vocabulary of the model cannot be "
                       "split by %" PRIu64,
                       n);
    s->heads = c->num_heads / n;
    s->kv_heads = c->num_kv_heads >= n ? c->num_kv_heads / n : 1;
    s->intermediate = c->intermediate_size / n;
    s->expert = expert / n;
    s->shared = shared / n;
    s->vocab = padded / n;
    return MS_OK;
}

/* By the size that the driver reports and the name: what vLLM asks. */
static bool is_large(const ms_device *d)
{
    uint64_t bytes = d->driver_bytes ? d->driver_bytes : ms_device_usable_bytes(d);
    return bytes >= (uint64_t)70 << 30 && strstr(d->title, "A100") == NULL;
}

static ms_status set_sizes(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    const ms_infer_settings *set = job->settings;
    const ms_vllm_settings *v = &set->vllm;
    bool large = is_large(job->device), is_llm = v->usage == MS_VLLM_LLM;
    s->length = ms_infer_settings_has(set, "context") ? set->context : s->positions;
    if (s->length > s->positions)
        return ms_fail(err, MS_ERR_USAGE,
                       "context: vLLM refuses more tokens than the model's %" PRIu64, s->positions);
    s->seqs = v->seqs ? v->seqs : large ? 1024 : 256;
    s->tokens = v->batched_tokens;
    if (s->tokens == 0) {
        s->tokens = is_llm ? (large ? 16384u : 8192u) : large ? 8192u : 2048u;
        if (s->tokens > s->seqs * s->length)
            s->tokens = s->seqs * s->length;
    }
    if (v->seqs == 0 && s->seqs > s->tokens)
        s->seqs = s->tokens;
    if (s->seqs > s->tokens)
        return ms_fail(err, MS_ERR_USAGE,
                       "max-num-batched-tokens: vLLM refuses fewer (%" PRIu64
                       ") than max-num-seqs (%" PRIu64 ")",
                       s->tokens, s->seqs);
    return MS_OK;
}

/* Weights and activations take two bytes in both types. */
static ms_status set_dtype(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    static const char *const halves[] = {"fp16", "float16", "half"};
    static const char *const others[] = {"auto", "bf16", "bfloat16"};
    const char *dtype = job->settings->dtype;
    for (size_t i = 0; dtype && i < sizeof halves / sizeof halves[0]; i++) {
        s->is_fp16 = s->is_fp16 || strcmp(dtype, halves[i]) == 0;
        if (s->is_fp16 || strcmp(dtype, others[i]) == 0)
            return MS_OK;
    }
    return dtype
               ? ms_fail(err, MS_ERR_USAGE, "dtype: engine vllm is supported in bf16 and fp16 only")
               : MS_OK;
}

static ms_status set_engine(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    const ms_vllm_settings *v = &job->settings->vllm;
    s->is_025 = v->version == MS_VLLM_0_25;
    s->is_eager = v->enforce_eager;
    s->is_v2 = v->runner == MS_VLLM_RUNNER_V2 ||
               (v->runner == MS_VLLM_RUNNER_AUTO && s->is_025 &&
                (s->arch->experts == MS_VLLM_EXPERTS_NONE || s->arch->has_v2_experts));
    if (s->is_v2 && !s->is_025)
        return ms_fail(err, MS_ERR_CONFIG,
                       "model-runner: v2 is supported with vllm-version 0.25.1 only");
    if (s->arch->is_latent && v->kv_dtype != MS_VLLM_KV_AUTO)
        return ms_fail(err, MS_ERR_CONFIG,
                       "kv-cache-dtype: with latent attention only bf16 and fp16 are supported");
    s->kv_element = v->kv_dtype == MS_VLLM_KV_FP8 ? 1 : MS_VLLM_ELEMENT;
    s->total_bytes = job->budget_bytes;
    s->requested_bytes = (uint64_t)ceil((double)s->total_bytes * v->utilization);
    return MS_OK;
}

ms_status ms_vllm_setup_resolve(const ms_infer_job *job, ms_vllm_setup *s, ms_error *err)
{
    *s = (ms_vllm_setup){.job = job};
    if (job->device->compute_capability < 80)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "vllm: only NVIDIA devices of compute capability 8.0 and later are supported");
    if (ms_infer_settings_has(job->settings, "quant"))
        return ms_fail(err, MS_ERR_USAGE,
                       "quant is an option of engine llama.cpp; engine vllm has quantization");
    ms_status status = open_model(job, s, err);
    if (status == MS_OK)
        status = set_devices(job->settings, s, err);
    if (status == MS_OK)
        status = set_shares(s, err);
    if (status == MS_OK)
        status = set_sizes(job, s, err);
    if (status == MS_OK)
        status = set_dtype(job, s, err);
    if (status == MS_OK && s->scheme.kind == MS_VLLM_MXFP4 &&
        (s->is_fp16 || s->tensor_parallel > 1))
        status = ms_fail(
            err, MS_ERR_CONFIG,
            "vllm: experts in mxfp4 are supported only in bf16 and with each layer on one device");
    return status == MS_OK ? set_engine(job, s, err) : status;
}

/* ---- stages ---- */

/* The rest of layers goes to the stages before the last, from behind. */
ms_vllm_rank ms_vllm_rank_of(const ms_vllm_setup *s, uint64_t stage)
{
    uint64_t each = s->config->num_layers / s->stages, rest = s->config->num_layers % s->stages;
    ms_vllm_rank rank = {.has_head = stage == s->stages - 1};
    for (uint64_t i = 0; i <= stage; i++) {
        uint64_t from_end = s->stages - 1 - i; /* 0: the last */
        rank.first_layer += rank.layers;
        rank.layers = each + (from_end >= 1 && from_end <= rest);
    }
    rank.has_embeddings = stage == 0 || (rank.has_head && s->config->tie_word_embeddings);
    return rank;
}
