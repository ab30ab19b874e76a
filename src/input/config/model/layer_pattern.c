/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/layer_pattern.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"

/* By letter, by name, and by the name of earlier files. */
static const struct pattern_row {
    char letter;
    const char *name, *other;
    uint8_t kind;
} pattern_rows[] = {
    {'M', "linear_attention", "mamba", MS_LAYER_TOKEN_MIXER},
    {'*', "full_attention", "attention", MS_LAYER_NO_ROTARY},
    {'-', "mlp", "mlp", MS_LAYER_MLP_ALONE},
    {'E', "moe", "moe", MS_LAYER_MLP_ALONE | MS_LAYER_SPARSE},
};

enum { PATTERN_ROWS = sizeof pattern_rows / sizeof *pattern_rows };

char ms_layer_pattern_letter(uint8_t kind)
{
    for (size_t i = 0; i < PATTERN_ROWS; i++)
        if (pattern_rows[i].kind == kind)
            return pattern_rows[i].letter;
    return '?';
}

ms_status ms_layer_pattern_count(ms_json_value value, uint64_t maximum, uint64_t *count,
                                 ms_error *err)
{
    const char *text = NULL;
    ms_status status = MS_OK;
    if (ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        status = ms_json_get_string(value, &text, err);
        *count = text ? strlen(text) : 0;
    } else {
        status = ms_json_expect(value, MS_JSON_ARRAY, err);
        *count = status == MS_OK ? ms_json_length(value) : 0;
    }
    if (status == MS_OK && (*count == 0 || *count > maximum))
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " layers; from 1 to %" PRIu64 " are supported", *count,
                            maximum);
    return status;
}

static ms_status read_text(ms_json_value value, uint8_t *kinds, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    for (size_t layer = 0; status == MS_OK && text[layer]; layer++) {
        size_t row = 0;
        while (row < PATTERN_ROWS && pattern_rows[row].letter != text[layer])
            row++;
        if (row == PATTERN_ROWS)
            return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "layer %zu is none of M, *, - and E", layer);
        kinds[layer] = pattern_rows[row].kind;
    }
    return status;
}

static ms_status read_name(ms_json_value value, uint8_t *kind, ms_error *err)
{
    const char *name = NULL;
    ms_status status = ms_json_get_string(value, &name, err);
    if (status != MS_OK)
        return status;
    for (size_t i = 0; i < PATTERN_ROWS; i++)
        if (strcmp(name, pattern_rows[i].name) == 0 || strcmp(name, pattern_rows[i].other) == 0) {
            *kind = pattern_rows[i].kind;
            return MS_OK;
        }
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "'%.40s' is not supported; linear_attention, full_attention, mlp and moe "
                        "are",
                        name);
}

ms_status ms_layer_pattern_read(ms_json_value value, uint8_t *kinds, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    if (ms_json_kind_of(value) == MS_JSON_STRING)
        return read_text(value, kinds, err);
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_name(v, kinds++, err);
    return status;
}
