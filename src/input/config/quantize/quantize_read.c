/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/quantize/quantize_read.h"

#include <string.h>

#include "base/text/pattern.h"
#include "input/config/quantize/quantize.h"

/* A member that is there and not null. */
static bool find(ms_json_value root, const char *name, ms_json_value *value)
{
    return ms_json_find(root, name, value) && ms_json_kind_of(*value) != MS_JSON_NULL;
}

/* The string of a member, or what is there already. */
static ms_status read_text(ms_json_value root, const char *name, ms_json_value *value,
                           const char **text, ms_error *err)
{
    return find(root, name, value) ? ms_json_get_string(*value, text, err) : MS_OK;
}

static ms_status read_flag(ms_json_value root, const char *name, bool *truth, ms_error *err)
{
    ms_json_value value;
    return find(root, name, &value) ? ms_json_get_bool(value, truth, err) : MS_OK;
}

/* A member must have that text, if it is there. */
static ms_status expect_text(ms_json_value root, const char *name, const char *wanted,
                             ms_error *err)
{
    ms_json_value value = root;
    const char *text = wanted;
    ms_status status = read_text(root, name, &value, &text, err);
    if (status == MS_OK && strcmp(text, wanted) != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; %s is", text, wanted);
    return status;
}

/* ---- bitsandbytes ---- */

static ms_status read_four_bit_type(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "fp4"; /* BitsAndBytesConfig's default */
    ms_status status = read_text(root, "bnb_4bit_quant_type", &value, &type, err);
    if (status != MS_OK)
        return status;
    if (strcmp(type, "nf4") == 0)
        q->kind = MS_QUANTIZE_NF4;
    else if (strcmp(type, "fp4") == 0)
        q->kind = MS_QUANTIZE_FP4;
    else
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s': expected nf4 or fp4", type);
    return MS_OK;
}

/* BitsAndBytesConfig computes in fp32 unless it is told otherwise. */
static ms_status read_compute_dtype(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "float32";
    ms_status status = read_text(root, "bnb_4bit_compute_dtype", &value, &type, err);
    if (status != MS_OK)
        return status;
    q->has_compute_dtype = ms_dtype_parse(type, &q->compute_dtype);
    if (!q->has_compute_dtype)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not a type to compute in", type);
    return MS_OK;
}

/* Bytes, or numbers of a type that FSDP can share. */
static ms_status read_storage_dtype(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "uint8";
    ms_status status = read_text(root, "bnb_4bit_quant_storage", &value, &type, err);
    if (status != MS_OK || strcmp(type, "uint8") == 0)
        return status;
    q->has_storage_dtype =
        ms_dtype_parse(type, &q->storage_dtype) && ms_quantization_is_storage(q->storage_dtype);
    if (!q->has_storage_dtype)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s': expected uint8, bfloat16, float16 or float32", type);
    return MS_OK;
}

static ms_status read_eight_bits(ms_json_value root, ms_quantization *q, ms_error *err)
{
    bool keeps_half = false;
    ms_status status = read_flag(root, "llm_int8_has_fp16_weight", &keeps_half, err);
    if (status == MS_OK && keeps_half)
        return ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "llm_int8_has_fp16_weight is not supported");
    q->kind = MS_QUANTIZE_INT8;
    return status;
}

static ms_status read_bitsandbytes(ms_json_value root, ms_quantization *q, ms_error *err)
{
    bool in_four = false, in_eight = false;
    ms_status status = read_flag(root, "load_in_4bit", &in_four, err);
    if (status == MS_OK)
        status = read_flag(root, "load_in_8bit", &in_eight, err);
    if (status != MS_OK)
        return status;
    if (in_four == in_eight)
        return ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "bitsandbytes: either load_in_4bit or load_in_8bit must be true");
    if (in_eight)
        return read_eight_bits(root, q, err);
    status = read_four_bit_type(root, q, err);
    if (status == MS_OK)
        status = read_flag(root, "bnb_4bit_use_double_quant", &q->is_double, err);
    if (status == MS_OK)
        status = read_compute_dtype(root, q, err);
    return status == MS_OK ? read_storage_dtype(root, q, err) : status;
}

/* ---- gptq and awq ---- */

/* group_size is a count, or -1: the whole column. */
static ms_status read_group(ms_json_value root, const char *name, ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    uint64_t group = 128;
    if (find(root, name, &value)) {
        size_t bytes = 0;
        const char *text = ms_json_source_text(value, &bytes);
        bool is_whole = bytes == 2 && memcmp(text, "-1", 2) == 0;
        ms_status status = is_whole ? MS_OK : ms_json_get_count(value, 1, 1 << 20, &group, err);
        if (status != MS_OK)
            return status;
        if (is_whole)
            group = 0;
    }
    q->group_weights = (uint32_t)group;
    return MS_OK;
}

static ms_status read_grouped(ms_json_value root, const char *bits_name, const char *group_name,
                              ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    uint64_t bits = 4;
    ms_status status = read_group(root, group_name, q, err);
    if (status == MS_OK && find(root, bits_name, &value))
        status = ms_json_get_count(value, 1, 64, &bits, err);
    if (status != MS_OK)
        return status;
    q->bits = (uint32_t)bits;
    const char *refusal = ms_quantization_refusal(q);
    return refusal ? ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                  "%u bits in groups of %u are not supported: %s",
                                  (unsigned)q->bits, (unsigned)q->group_weights, refusal)
                   : MS_OK;
}

static ms_status read_gptq(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *format = "gptq";
    q->kind = MS_QUANTIZE_GPTQ;
    ms_status status = read_text(root, "checkpoint_format", &value, &format, err);
    if (status == MS_OK && strcmp(format, "gptq") != 0 && strcmp(format, "gptq_v2") != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; gptq and gptq_v2 are", format);
    bool is_symmetric = true;
    if (status == MS_OK)
        status = read_flag(root, "sym", &is_symmetric, err);
    if (status == MS_OK)
        status = read_flag(root, "desc_act", &q->sorts_inputs, err);
    q->is_asymmetric = !is_symmetric;
    return status == MS_OK ? read_grouped(root, "bits", "group_size", q, err) : status;
}

/* Older files have the names of the library that wrote them. */
static ms_status read_awq(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    q->kind = MS_QUANTIZE_AWQ;
    q->is_default_excepted = true;
    ms_status status = expect_text(root, "version", "gemm", err);
    if (status != MS_OK)
        return status;
    return read_grouped(root, find(root, "w_bit", &value) ? "w_bit" : "bits",
                        find(root, "q_group_size", &value) ? "q_group_size" : "group_size", q, err);
}

/* ---- fp8 and mxfp4 ---- */

static ms_status read_fp8(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value sizes, size;
    uint64_t width = 0;
    uint32_t count = 0;
    q->kind = MS_QUANTIZE_FP8_BLOCK;
    const char *format = "float";
    ms_json_value value = root;
    ms_status status = expect_text(root, "activation_scheme", "dynamic", err);
    if (status == MS_OK)
        status = read_text(root, "scale_fmt", &value, &format, err);
    q->has_power_scales = strcmp(format, "ue8m0") == 0;
    if (status == MS_OK && !q->has_power_scales)
        status = expect_text(root, "scale_fmt", "float", err);
    if (status != MS_OK || !find(root, "weight_block_size", &sizes))
        return status;
    status = ms_json_expect(sizes, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(sizes, &size); more && status == MS_OK;
         more = ms_json_next(&size), count++) {
        status = ms_json_get_count(size, 1, 1 << 20, &width, err);
        if (status == MS_OK && width != MS_FP8_BLOCK)
            count = 2; /* one too many at the end */
    }
    if (status == MS_OK && count != 2)
        return ms_json_fail(err, sizes, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "only blocks of 128 by 128 weights are supported");
    return status;
}

static ms_status read_mxfp4(ms_json_value root, ms_quantization *q, ms_error *err)
{
    (void)root;
    (void)err;
    q->kind = MS_QUANTIZE_MXFP4;
    return MS_OK;
}

/* What it says is for engines to read. */
static ms_status read_compressed(ms_json_value root, ms_quantization *q, ms_error *err)
{
    (void)root;
    (void)err;
    q->kind = MS_QUANTIZE_COMPRESSED;
    return MS_OK;
}

/* ---- modules that stay as they are ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
}

static ms_status read_exceptions(ms_arena *arena, ms_json_value names, ms_quantization *q,
                                 ms_error *err)
{
    ms_json_value name;
    ms_status status = ms_json_expect(names, MS_JSON_ARRAY, err);
    uint32_t count = status == MS_OK ? ms_json_length(names) : 0, i = 0;
    size_t states = 0;
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    for (bool more = status == MS_OK && ms_json_first(names, &name); more && status == MS_OK;
         more = ms_json_next(&name)) {
        const char *text = "";
        status = ms_json_get_string(name, &text, err);
        texts[i] = ms_arena_printf(arena, "%s", text);
        if (!texts[i])
            return no_memory(err);
        if (status == MS_OK)
            status = ms_pattern_check(name, MS_JSON_AT_VALUE, texts[i++], &states, err);
    }
    q->exceptions = texts;
    q->exception_count = i;
    return status;
}

/* GPT-QModel's rules: a pattern that a module's name begins with, "-:" in front of it if these
 * modules are not converted, and their own bits else. */
static ms_status read_rule(ms_arena *arena, ms_json_value rule, const ms_quantization *q,
                           const char **pattern, ms_error *err)
{
    ms_json_value bits;
    uint64_t own = q->bits, group = q->group_weights;
    const char *text = ms_json_key(rule);
    *pattern = NULL;
    if (strncmp(text, "-:", 2) == 0) {
        *pattern = ms_arena_printf(arena, "(%s).*", text + 2);
        return *pattern ? MS_OK : no_memory(err);
    }
    ms_status status = ms_json_expect(rule, MS_JSON_OBJECT, err);
    if (status == MS_OK && find(rule, "bits", &bits))
        status = ms_json_get_count(bits, 1, 64, &own, err);
    if (status == MS_OK && find(rule, "group_size", &bits))
        status = ms_json_get_count(bits, 1, 1 << 20, &group, err);
    if (status == MS_OK && (own != q->bits || group != q->group_weights))
        return ms_json_fail(
            err, rule, MS_JSON_AT_KEY, MS_ERR_CONFIG,
            "modules with bits or groups of their own are not supported; those that "
            "are not converted (\"-:...\") are");
    return status;
}

static ms_status read_rules(ms_arena *arena, ms_json_value rules, ms_quantization *q, ms_error *err)
{
    ms_json_value rule;
    ms_status status = ms_json_expect(rules, MS_JSON_OBJECT, err);
    uint32_t count = status == MS_OK ? ms_json_length(rules) : 0, i = 0;
    size_t states = 0;
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    q->is_default_excepted = true; /* the head, which no rule is needed for */
    for (bool more = status == MS_OK && ms_json_first(rules, &rule); more && status == MS_OK;
         more = ms_json_next(&rule)) {
        status = read_rule(arena, rule, q, &texts[i], err);
        if (status == MS_OK && texts[i])
            status = ms_pattern_check(rule, MS_JSON_AT_KEY, texts[i++], &states, err);
    }
    q->exceptions = texts;
    q->exception_count = i;
    return status;
}

/* Lists of names, one for each pass over a block. */
static ms_status read_converted(ms_arena *arena, ms_json_value lists, ms_quantization *q,
                                ms_error *err)
{
    ms_json_value list, name;
    uint32_t count = 0, i = 0;
    ms_status status = ms_json_expect(lists, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(lists, &list); more && status == MS_OK;
         more = ms_json_next(&list)) {
        status = ms_json_expect(list, MS_JSON_ARRAY, err);
        count += status == MS_OK ? ms_json_length(list) : 0;
    }
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    for (bool more = status == MS_OK && ms_json_first(lists, &list); more;
         more = ms_json_next(&list))
        for (bool next = status == MS_OK && ms_json_first(list, &name); next && status == MS_OK;
             next = ms_json_next(&name)) {
            const char *text = "";
            status = ms_json_get_string(name, &text, err);
            texts[i] = ms_arena_strdup(arena, text);
            if (!texts[i++])
                return no_memory(err);
        }
    q->converted = texts;
    q->converted_count = i;
    return status;
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    ms_status (*read)(ms_json_value root, ms_quantization *q, ms_error *err);
    /* A key that says which modules are converted, and its reader. */
    struct {
        const char *key;
        ms_status (*read)(ms_arena *arena, ms_json_value value, ms_quantization *q, ms_error *err);
    } modules[2];
} methods[] = {
    {"bitsandbytes", read_bitsandbytes, {{"llm_int8_skip_modules", read_exceptions}}},
    {"gptq",
     read_gptq,
     {{"dynamic", read_rules}, {"modules_in_block_to_quantize", read_converted}}},
    {"awq", read_awq, {{"modules_to_not_convert", read_exceptions}}},
    {"fp8", read_fp8, {{"modules_to_not_convert", read_exceptions}}},
    {"mxfp4", read_mxfp4, {{NULL, NULL}}},
    {"compressed-tensors", read_compressed, {{NULL, NULL}}},
};

ms_status ms_quantization_read(ms_arena *arena, ms_json_value root, ms_quantization *quantization,
                               ms_error *err)
{
    ms_json_value value = root;
    const char *method = "bitsandbytes";
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_text(root, "quant_method", &value, &method, err);
    if (status != MS_OK)
        return status;
    *quantization = (ms_quantization){0};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(method, methods[i].name) != 0)
            continue;
        status = methods[i].read(root, quantization, err);
        for (size_t k = 0; k < 2 && methods[i].modules[k].key && status == MS_OK; k++)
            if (find(root, methods[i].modules[k].key, &value))
                status = methods[i].modules[k].read(arena, value, quantization, err);
        return status;
    }
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "quantisation by %.40s is not supported; bitsandbytes, gptq, awq, fp8 and "
                        "mxfp4 are",
                        method);
}
