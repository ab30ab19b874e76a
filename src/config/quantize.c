/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/quantize.h"

#include <string.h>

const char *const ms_quantization_choices[] = {"none", "nf4",        "nf4:double",
                                               "fp4",  "fp4:double", NULL};

static const ms_quantization quantizations[] = {
    {.kind = MS_QUANTIZE_NONE},
    {.kind = MS_QUANTIZE_NF4},
    {.kind = MS_QUANTIZE_NF4, .is_double = true},
    {.kind = MS_QUANTIZE_FP4},
    {.kind = MS_QUANTIZE_FP4, .is_double = true},
};
enum { CHOICES = sizeof quantizations / sizeof quantizations[0] };

ms_quantization ms_quantization_of(int choice)
{
    return quantizations[choice];
}

const char *ms_quantization_text(const ms_quantization *quantization)
{
    int i = 0;
    while (i + 1 < CHOICES && (quantizations[i].kind != quantization->kind ||
                               quantizations[i].is_double != quantization->is_double))
        i++;
    return ms_quantization_choices[i];
}

/* A member that is there and not null. */
static bool find(ms_json_value root, const char *name, ms_json_value *value)
{
    return ms_json_find(root, name, value) && ms_json_kind_of(*value) != MS_JSON_NULL;
}

static ms_status read_method(ms_json_value root, ms_error *err)
{
    ms_json_value value;
    const char *method = NULL;
    if (!find(root, "quant_method", &value))
        return MS_OK;
    ms_status status = ms_json_get_string(value, &method, err);
    if (status == MS_OK && strcmp(method, "bitsandbytes") != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "quantisation by %.40s is not modelled; bitsandbytes in 4 bits is",
                            method);
    return status;
}

static ms_status read_type(ms_json_value root, ms_quantization *quantization, ms_error *err)
{
    ms_json_value value;
    const char *type = "fp4"; /* BitsAndBytesConfig's default */
    ms_status status = MS_OK;
    bool in_four = false;
    if (find(root, "load_in_4bit", &value))
        status = ms_json_get_bool(value, &in_four, err);
    if (status != MS_OK)
        return status;
    if (!in_four)
        return ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "only quantisation with load_in_4bit is modelled");
    if (find(root, "bnb_4bit_quant_type", &value))
        status = ms_json_get_string(value, &type, err);
    if (status != MS_OK)
        return status;
    if (strcmp(type, "nf4") == 0)
        quantization->kind = MS_QUANTIZE_NF4;
    else if (strcmp(type, "fp4") == 0)
        quantization->kind = MS_QUANTIZE_FP4;
    else
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s': expected nf4 or fp4", type);
    return MS_OK;
}

ms_status ms_quantization_read(ms_json_value root, ms_quantization *quantization, ms_error *err)
{
    ms_json_value value;
    const char *type = NULL;
    /* BitsAndBytesConfig computes in fp32 unless it is told otherwise. */
    *quantization = (ms_quantization){.has_compute_dtype = true, .compute_dtype = MS_DTYPE_F32};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_method(root, err);
    if (status == MS_OK)
        status = read_type(root, quantization, err);
    if (status == MS_OK && find(root, "bnb_4bit_use_double_quant", &value))
        status = ms_json_get_bool(value, &quantization->is_double, err);
    if (status != MS_OK || !find(root, "bnb_4bit_compute_dtype", &value))
        return status;
    status = ms_json_get_string(value, &type, err);
    if (status != MS_OK)
        return status;
    quantization->has_compute_dtype = ms_dtype_parse(type, &quantization->compute_dtype);
    if (!quantization->has_compute_dtype)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is no type of numbers that is computed in", type);
    return MS_OK;
}
