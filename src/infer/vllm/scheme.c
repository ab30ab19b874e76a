/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/vllm/scheme.h"

#include <string.h>

enum { ADA = 89, HOPPER = 90, ANY = UINT16_MAX };

static const ms_vllm_scheme_row rows[] = {
    [MS_VLLM_PLAIN] = {.most = ANY,
                       .knows_experts = true,
                       .knows_latent = true,
                       .expert_rows = 128},
    [MS_VLLM_FP8_MADE] = {.name = "fp8",
                          .least = ADA,
                          .most = HOPPER,
                          .knows_experts = true,
                          .expert_rows = 128,
                          .asks_deep_gemm = true,
                          .has_cache_scales = true,
                          .quantises_input = true},
    [MS_VLLM_FP8_BLOCK] = {.name = "fp8",
                           .least = HOPPER,
                           .most = HOPPER,
                           .in_step = MS_FP8_BLOCK,
                           .out_step = 64,
                           .knows_experts = true,
                           .knows_latent = true,
                           .expert_rows = 64,
                           .asks_deep_gemm = true,
                           .has_cache_scales = true,
                           .input_block = MS_FP8_BLOCK,
                           .quantises_input = true,
                           .has_input_scale = true},
    [MS_VLLM_GPTQ] =
        {.name = "gptq", .least = HOPPER, .most = HOPPER, .in_step = 64, .out_step = 128},
    [MS_VLLM_AWQ] =
        {.name = "awq", .least = HOPPER, .most = HOPPER, .in_step = 64, .out_step = 128},
};
_Static_assert(sizeof rows / sizeof rows[0] == MS_VLLM_SCHEMES, "a scheme has no row");

const ms_vllm_scheme_row *ms_vllm_scheme_row_of(ms_vllm_scheme_kind kind)
{
    return &rows[kind];
}

/* ---- what a config says ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), want = strlen(end);
    return length >= want && strcmp(text + length - want, end) == 0;
}

/* Modules that no scheme quantises anyway. */
static bool is_never_quantised(const char *module)
{
    static const char *const ends[] = {"lm_head", "embed_tokens", "norm", "gate", "router"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends_with(module, ends[i]))
            return true;
    return false;
}

static ms_status check_exceptions(const ms_quantization *q, ms_vllm_scheme *scheme, ms_error *err)
{
    for (uint32_t i = 0; i < q->exception_count; i++) {
        const char *module = q->exceptions[i];
        scheme->has_plain_router =
            scheme->has_plain_router || ends_with(module, ".gate") || ends_with(module, ".router");
        if (!is_never_quantised(module))
            return ms_fail(err, MS_ERR_CONFIG,
                           "vllm: modules that are not quantised among others are not known: "
                           "%.60s",
                           module);
    }
    return MS_OK;
}

/* A member of quantization_config. */
static bool find(const ms_infer_job *job, const char *name, ms_json_value *value)
{
    ms_json_value config;
    return ms_json_find(job->file, "quantization_config", &config) &&
           ms_json_kind_of(config) == MS_JSON_OBJECT && ms_json_find(config, name, value) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

static bool is_true(const ms_infer_job *job, const char *name)
{
    ms_json_value value;
    bool truth = false;
    ms_error ignored = {.status = MS_OK};
    return find(job, name, &value) && ms_json_get_bool(value, &truth, &ignored) == MS_OK && truth;
}

static ms_status read_file(const ms_infer_job *job, ms_vllm_scheme *scheme, ms_error *err)
{
    ms_json_value value;
    const ms_quantization *q = &job->config->quantization;
    scheme->group = q->group_weights;
    if (q->kind == MS_QUANTIZE_FP8_BLOCK && find(job, "weight_block_size", &value))
        scheme->kind = MS_VLLM_FP8_BLOCK;
    else if (q->kind == MS_QUANTIZE_GPTQ && q->bits == 4 && !is_true(job, "desc_act"))
        scheme->kind = MS_VLLM_GPTQ;
    else if (q->kind == MS_QUANTIZE_AWQ && q->bits == 4)
        scheme->kind = MS_VLLM_AWQ;
    else
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: of weights that are quantised in their files known are fp8 in blocks "
                       "of 128, gptq without desc_act and awq, both in 4 bits");
    if (scheme->kind != MS_VLLM_FP8_BLOCK && scheme->group != 0 && scheme->group != 64 &&
        scheme->group != 128)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "vllm: gptq and awq are known in groups of 64, of 128 and of a whole column");
    return check_exceptions(q, scheme, err);
}

static ms_status check_devices(const ms_infer_job *job, const ms_vllm_arch *arch,
                               const ms_vllm_scheme *scheme, ms_error *err)
{
    const ms_vllm_scheme_row *row = ms_vllm_scheme_row_of(scheme->kind);
    uint32_t capability = job->device->compute_capability;
    if (capability < row->least || capability > row->most)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: weights in %s are known on devices of compute capability %u.%u%s",
                       row->name, row->least / 10, row->least % 10,
                       row->least < row->most ? " and 9.0" : "");
    if (arch->is_latent && !row->knows_latent)
        return ms_fail(err, MS_ERR_CONFIG, "vllm: latent attention with weights in %s is not known",
                       row->name);
    if (arch->experts != MS_VLLM_EXPERTS_NONE && !row->knows_experts)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: mixtures of experts with weights in %s are not known", row->name);
    return MS_OK;
}

ms_status ms_vllm_scheme_read(const ms_infer_job *job, const ms_vllm_arch *arch,
                              ms_vllm_scheme *scheme, ms_error *err)
{
    const ms_vllm_settings *v = &job->settings->vllm;
    bool is_made = v->quantization == MS_VLLM_QUANTIZATION_FP8;
    bool is_file = job->config->quantization.kind != MS_QUANTIZE_NONE || job->config->is_fp8;
    *scheme = (ms_vllm_scheme){.kind = is_made ? MS_VLLM_FP8_MADE : MS_VLLM_PLAIN};
    if (is_made && is_file)
        return ms_fail(err, MS_ERR_USAGE,
                       "quantization: the weights are quantised in their files already");
    ms_status status = is_file ? read_file(job, scheme, err) : MS_OK;
    if (status == MS_OK && is_file && v->version != MS_VLLM_0_25)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: weights that are quantised in their files are known of 0.25.1 alone");
    return status == MS_OK ? check_devices(job, arch, scheme, err) : status;
}
