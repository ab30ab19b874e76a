/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/quantized/scheme.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"

#define UNKNOWN_EXCEPTION "vllm: a mix of quantised and unquantised modules is not supported: %.60s"

enum { AMPERE = 80, ADA = 89, HOPPER = 90, ANY = UINT16_MAX };

static const ms_vllm_scheme_row rows[] = {
    [MS_VLLM_PLAIN] = {.most = ANY,
                       .knows_experts = true,
                       .knows_latent = true,
                       .expert_rows = 128},
    [MS_VLLM_FP8_MADE] = {.name = "fp8",
                          .least = ADA,
                          .most = HOPPER,
                          .marlin_below = ADA,
                          .knows_experts = true,
                          .expert_rows = 128,
                          .asks_deep_gemm = true,
                          .cache_scales = 4,
                          .keeps_ranges = true,
                          .quantises_input = true},
    [MS_VLLM_FP8_BLOCK] = {.name = "fp8",
                           .least = ADA,
                           .most = HOPPER,
                           .marlin_below = ADA,
                           .in_step = MS_FP8_BLOCK,
                           .out_step = 64,
                           .knows_experts = true,
                           .knows_latent = true,
                           .expert_rows = 64,
                           .asks_deep_gemm = true,
                           .cache_scales = 4,
                           .keeps_ranges = true,
                           .input_block = MS_FP8_BLOCK,
                           .quantises_input = true,
                           .has_input_scale = true},
    [MS_VLLM_FP8_ROWS] = {.name = "fp8",
                          .least = HOPPER,
                          .most = HOPPER,
                          .asks_deep_gemm = true,
                          .cache_scales = 6,
                          .keeps_ranges = true,
                          .quantises_input = true},
    [MS_VLLM_PACKED] = {.name = "w4a16",
                        .least = HOPPER,
                        .most = HOPPER,
                        .marlin_below = HOPPER,
                        .in_step = 64,
                        .out_step = 128,
                        .cache_scales = 6,
                        .keeps_ranges = true},
    [MS_VLLM_GPTQ] = {.name = "gptq",
                      .least = HOPPER,
                      .most = HOPPER,
                      .marlin_below = HOPPER,
                      .in_step = 64,
                      .out_step = 128,
                      .knows_experts = true,
                      .has_marlin_experts = true},
    [MS_VLLM_AWQ] = {.name = "awq",
                     .least = HOPPER,
                     .most = HOPPER,
                     .marlin_below = HOPPER,
                     .in_step = 64,
                     .out_step = 128,
                     .knows_experts = true,
                     .has_marlin_experts = true},
    [MS_VLLM_MXFP4] = {.name = "mxfp4",
                       .least = HOPPER,
                       .most = HOPPER,
                       .knows_experts = true,
                       .expert_rows = 128},
};
_Static_assert(sizeof rows / sizeof rows[0] == MS_VLLM_SCHEMES, "a scheme has no row");

const ms_vllm_scheme_row *ms_vllm_scheme_row_of(ms_vllm_scheme_kind kind)
{
    return &rows[kind];
}

/* ---- what a config says ---- */

/* A pattern's "$" does not count. */
static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), want = strlen(end);
    length -= length > 0 && text[length - 1] == '$';
    return length >= want && strncmp(text + length - want, end, want) == 0;
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
            return ms_fail(err, MS_ERR_CONFIG, UNKNOWN_EXCEPTION, module);
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

static bool is_true(ms_json_value value)
{
    bool truth = false;
    ms_error ignored = {.status = MS_OK};
    return ms_json_get_bool(value, &truth, &ignored) == MS_OK && truth;
}

/* Other groups have other kernels. */
static ms_status check_group(const ms_vllm_scheme *scheme, ms_error *err)
{
    uint64_t group = scheme->group;
    return group == 0 || group == 64 || group == 128
               ? MS_OK
               : ms_fail(
                     err, MS_ERR_CONFIG,
                     "vllm: 4 bits are supported in groups of 64, of 128 and of a whole column");
}

/* ---- compressed-tensors ---- */

/* Whether a member of `object` is there and has that text. */
static bool says(ms_json_value object, const char *name, const char *wanted)
{
    ms_json_value value;
    const char *text = "";
    ms_error ignored = {.status = MS_OK};
    return ms_json_find(object, name, &value) &&
           ms_json_get_string(value, &text, &ignored) == MS_OK && strcmp(text, wanted) == 0;
}

static uint64_t count_of(ms_json_value object, const char *name)
{
    ms_json_value value;
    uint64_t count = 0;
    ms_error ignored = {.status = MS_OK};
    bool has = ms_json_find(object, name, &value) &&
               ms_json_get_count(value, 1, 1 << 20, &count, &ignored) == MS_OK;
    return has ? count : 0;
}

static bool has_object(ms_json_value object, const char *name, ms_json_value *value)
{
    return ms_json_find(object, name, value) && ms_json_kind_of(*value) == MS_JSON_OBJECT;
}

/* The only group of layers, which is all linear ones. */
static bool only_group(const ms_infer_job *job, ms_json_value *group)
{
    ms_json_value groups, targets, target;
    const char *text = "";
    ms_error ignored = {.status = MS_OK};
    return find(job, "config_groups", &groups) && ms_json_kind_of(groups) == MS_JSON_OBJECT &&
           ms_json_length(groups) == 1 && ms_json_first(groups, group) &&
           ms_json_kind_of(*group) == MS_JSON_OBJECT && ms_json_find(*group, "targets", &targets) &&
           ms_json_kind_of(targets) == MS_JSON_ARRAY && ms_json_length(targets) == 1 &&
           ms_json_first(targets, &target) &&
           ms_json_get_string(target, &text, &ignored) == MS_OK && strcmp(text, "Linear") == 0;
}

/* Layers that are ignored: those that no scheme quantises. */
static ms_status check_ignored(const ms_infer_job *job, ms_error *err)
{
    ms_json_value list, name;
    if (!find(job, "ignore", &list) || ms_json_kind_of(list) != MS_JSON_ARRAY)
        return MS_OK;
    for (bool more = ms_json_first(list, &name); more; more = ms_json_next(&name)) {
        const char *text = "";
        ms_status status = ms_json_get_string(name, &text, err);
        if (status != MS_OK)
            return status;
        if (!is_never_quantised(text))
            return ms_fail(err, MS_ERR_CONFIG, UNKNOWN_EXCEPTION, text);
    }
    return MS_OK;
}

/* MS_VLLM_PLAIN: it is not known. */
static ms_vllm_scheme scheme_of_group(ms_json_value group)
{
    ms_vllm_scheme scheme = {.kind = MS_VLLM_PLAIN};
    ms_json_value weights, inputs, symmetric;
    if (!has_object(group, "weights", &weights))
        return scheme;
    bool has_inputs = has_object(group, "input_activations", &inputs);
    uint64_t bits = count_of(weights, "num_bits");
    if (bits == 8 && says(weights, "type", "float") && says(weights, "strategy", "channel") &&
        has_inputs && says(inputs, "strategy", "token"))
        scheme.kind = MS_VLLM_FP8_ROWS;
    else if (bits == 4 && says(weights, "type", "int") && !has_inputs &&
             ms_json_find(weights, "symmetric", &symmetric) && is_true(symmetric) &&
             !says(weights, "actorder", "group"))
        scheme.kind = MS_VLLM_PACKED;
    if (scheme.kind == MS_VLLM_PACKED && says(weights, "strategy", "group"))
        scheme.group = count_of(weights, "group_size");
    return scheme;
}

static ms_status read_compressed(const ms_infer_job *job, ms_vllm_scheme *scheme, ms_error *err)
{
    ms_json_value group, value;
    if (only_group(job, &group)) {
        const ms_vllm_scheme found = scheme_of_group(group);
        scheme->kind = found.kind;
        scheme->group = found.group;
    }
    if (scheme->kind == MS_VLLM_PLAIN || find(job, "kv_cache_scheme", &value))
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: of compressed-tensors, memscope supports fp8 with a scale for each "
                       "output and token, and symmetric 4 bits without act-order, both for all "
                       "linear layers and without kv_cache_scheme");
    ms_status status = check_group(scheme, err);
    return status == MS_OK ? check_ignored(job, err) : status;
}

/* ---- the scheme ---- */

/* Rules for modules of their own, as GPTQModel writes them. */
static ms_status check_rules(const ms_infer_job *job, ms_error *err)
{
    ms_json_value rules, rule, head;
    if (find(job, "lm_head", &head) && is_true(head))
        return ms_fail(err, MS_ERR_CONFIG, "vllm: a quantised head is not supported");
    if (!find(job, "dynamic", &rules) || ms_json_kind_of(rules) != MS_JSON_OBJECT)
        return MS_OK;
    for (bool more = ms_json_first(rules, &rule); more; more = ms_json_next(&rule)) {
        const char *name = ms_json_key(rule);
        bool is_router = strstr(name, "gate") != NULL && strstr(name, "gate_proj") == NULL;
        if (!is_router && strstr(name, "lm_head") == NULL)
            return ms_fail(err, MS_ERR_CONFIG, UNKNOWN_EXCEPTION, name);
    }
    return MS_OK;
}

/* As the config names it. */
static const char *method_of(const ms_infer_job *job)
{
    ms_json_value method;
    const char *text = "";
    ms_error ignored = {.status = MS_OK};
    bool is_named =
        find(job, "quant_method", &method) && ms_json_get_string(method, &text, &ignored) == MS_OK;
    return is_named ? text : "another format";
}

static ms_status read_file(const ms_infer_job *job, ms_vllm_scheme *scheme, ms_error *err)
{
    ms_json_value value;
    const ms_quantization *q = &job->config->quantization;
    scheme->group = q->group_weights;
    if (q->kind == MS_QUANTIZE_COMPRESSED)
        return read_compressed(job, scheme, err);
    if (q->kind == MS_QUANTIZE_MXFP4) { /* experts alone, whatever is excepted */
        scheme->kind = MS_VLLM_MXFP4;
        return MS_OK;
    }
    if (q->kind == MS_QUANTIZE_FP8_BLOCK && !q->has_power_scales &&
        find(job, "weight_block_size", &value))
        scheme->kind = MS_VLLM_FP8_BLOCK;
    else if (q->kind == MS_QUANTIZE_GPTQ && q->bits == 4 &&
             !(find(job, "desc_act", &value) && is_true(value)))
        scheme->kind = MS_VLLM_GPTQ;
    else if (q->kind == MS_QUANTIZE_AWQ && q->bits == 4)
        scheme->kind = MS_VLLM_AWQ;
    else
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: weights in %.40s as in these files are not supported; fp8 in blocks "
                       "of 128, mxfp4, gptq without desc_act and awq, both in 4 bits, and some of "
                       "compressed-tensors are",
                       method_of(job));
    scheme->has_plain_router = scheme->kind != MS_VLLM_FP8_BLOCK; /* as those who quantise do */
    ms_status status = scheme->kind == MS_VLLM_FP8_BLOCK ? MS_OK : check_group(scheme, err);
    if (status == MS_OK)
        status = check_rules(job, err);
    return status == MS_OK ? check_exceptions(q, scheme, err) : status;
}

static const char *known_capabilities(const ms_vllm_scheme_row *row)
{
    return row->marlin_below > 0 ? "8.0 to 9.0" : "9.0";
}

static ms_status check_devices(const ms_infer_job *job, const ms_vllm_arch *arch,
                               ms_vllm_scheme *scheme, ms_error *err)
{
    const ms_vllm_scheme_row *row = ms_vllm_scheme_row_of(scheme->kind);
    uint32_t capability = job->device->compute_capability;
    scheme->runs_marlin = capability >= AMPERE && capability < row->marlin_below;
    if (!scheme->runs_marlin && (capability < row->least || capability > row->most))
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: weights in %s are supported on devices of compute capability %s",
                       row->name, known_capabilities(row));
    /* Blocks of fp8 before Hopper: of plain layers alone, as they are stored. */
    bool is_plain_alone =
        scheme->runs_marlin || (scheme->kind == MS_VLLM_FP8_BLOCK && capability < HOPPER);
    if (arch->is_latent && (!row->knows_latent || is_plain_alone))
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: latent attention with weights in %s is not supported on %s",
                       row->name, job->device->name);
    bool is_of_sinks = scheme->kind == MS_VLLM_PLAIN || scheme->kind == MS_VLLM_MXFP4;
    if (arch->has_sinks ? !is_of_sinks : scheme->kind == MS_VLLM_MXFP4)
        return ms_fail(err, MS_ERR_CONFIG, "vllm: %s with weights in %s is not supported%s",
                       job->config->family->model_type, row->name,
                       arch->has_sinks ? ", only in mxfp4, bf16 and fp16" : "");
    bool has_experts = is_plain_alone ? row->has_marlin_experts : row->knows_experts;
    if (arch->experts != MS_VLLM_EXPERTS_NONE && !has_experts)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: mixtures of experts with weights in %s are not supported on %s",
                       row->name, job->device->name);
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
                       "vllm: weights that are quantised in their files are supported with "
                       "vllm-version 0.25.1 only");
    return status == MS_OK ? check_devices(job, arch, scheme, err) : status;
}
