/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/model_keys.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/value.h"
#include "input/config/model/model_config.h"

/* ---- key lists ---- */

/* The uint64_t member at that offset. */
static uint64_t *key_count_at(ms_model_config *config, size_t offset)
{
    return (uint64_t *)(void *)((char *)config + offset);
}

ms_status ms_key_expect_layers(ms_json_value list, uint64_t count, const ms_model_config *config,
                               ms_error *err)
{
    if (count == config->num_layers)
        return MS_OK;
    return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                        "%" PRIu64 " entries, but num_hidden_layers is %" PRIu64, count,
                        config->num_layers);
}

/* Getters: one count for each layer, which must be alike; bits for numbers. */
static ms_status key_get_alike(ms_json_value list, const ms_key *key, ms_model_config *config,
                               ms_error *err)
{
    uint64_t *member = key_count_at(config, key->offset), count = 0, number = 0;
    ms_status status = MS_OK;
    ms_json_value v;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), count++) {
        status = ms_json_get_count(v, key->minimum, key->maximum, &number, err);
        if (status == MS_OK && count > 0 && number != *member)
            return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "found %" PRIu64 " after %" PRIu64
                                ", but layers with different values are not supported",
                                number, *member);
        *member = number;
    }
    return status == MS_OK ? ms_key_expect_layers(list, count, config, err) : status;
}

static ms_status key_get_numbers(ms_json_value value, const ms_key *key, ms_model_config *config,
                                 ms_error *err)
{
    uint64_t *bits = key_count_at(config, key->offset), number = 0;
    ms_json_value v;
    ms_status status = ms_json_expect(value, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(value, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        status = ms_json_get_count(v, 0, key->maximum, &number, err);
        if (status == MS_OK)
            bits[number / 64] |= UINT64_C(1) << number % 64;
    }
    return status;
}

/* ---- layer pattern ---- */

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

/* The number of layers, from 1 to `maximum`; null leaves *count as it is. Fails at the value with
 * MS_ERR_CONFIG. */
static ms_status layer_pattern_count(ms_json_value value, uint64_t maximum, uint64_t *count,
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
                                "layer %zu is not one of M, *, - and E", layer);
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

/* ---- model keys ---- */

static const struct activation_row {
    const char *name;
    ms_activation activation;
} activations[] = {
    {"silu", MS_ACTIVATION_SILU},
    {"swish", MS_ACTIVATION_SILU},
    {"gelu", MS_ACTIVATION_GELU},
    {"gelu_pytorch_tanh", MS_ACTIVATION_GELU_TANH},
    {"gelu_new", MS_ACTIVATION_GELU_NEW},
    {"relu", MS_ACTIVATION_RELU},
    {"gelu_fast", MS_ACTIVATION_GELU_FAST},
    {"relu2", MS_ACTIVATION_RELU2},
    {"quick_gelu", MS_ACTIVATION_QUICK_GELU},
};

const char *ms_activation_name(ms_activation activation)
{
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
        if (activations[i].activation == activation)
            return activations[i].name;
    return "";
}

static double fraction_at(const ms_model_config *config, size_t offset)
{
    return *(const double *)(const void *)((const char *)config + offset);
}

/* ---- finding ---- */

bool ms_key_has_name(const ms_key *key, const char *name)
{
    for (size_t k = 0; k < 3 && key->aliases[k]; k++)
        if (strcmp(key->aliases[k], name) == 0)
            return true;
    return strcmp(key->name, name) == 0;
}

const ms_key *ms_model_key_row(const ms_family *family, const char *name)
{
    for (size_t i = 0; i < family->key_count; i++)
        if (ms_key_has_name(&family->keys[i], name))
            return &family->keys[i];
    return NULL;
}

bool ms_model_learns_positions(const ms_family *family)
{
    for (size_t i = 0; i < family->key_count; i++)
        if (family->keys[i].learned)
            return true;
    return false;
}

uint64_t ms_model_learned_positions(const ms_model_config *config)
{
    if (!ms_model_learns_positions(config->family))
        return UINT64_MAX;
    return config->max_positions - config->skipped_positions;
}

static bool find_spelling(ms_json_value root, const char *name, ms_json_value *value)
{
    return name[0] == '/' ? ms_json_find_pointer(root, name, value)
                          : ms_json_find(root, name, value);
}

bool ms_model_key_find(ms_json_value root, const ms_key *key, ms_json_value *value)
{
    if (ms_json_find(root, key->name, value))
        return true;
    for (size_t i = 0; i < 3 && key->aliases[i]; i++)
        if (find_spelling(root, key->aliases[i], value))
            return true;
    return false;
}

/* Two spellings of one key must agree: which one a reader takes differs between versions. */
static ms_status check_aliases(ms_json_value root, const ms_key *key, ms_json_value found,
                               ms_error *err)
{
    for (size_t i = 0; i < 3 && key->aliases[i]; i++) {
        ms_json_value other;
        if (!find_spelling(root, key->aliases[i], &other) || other.span == found.span)
            continue;
        size_t a_bytes, b_bytes;
        const char *a = ms_json_source_text(found, &a_bytes);
        const char *b = ms_json_source_text(other, &b_bytes);
        if (a_bytes != b_bytes || memcmp(a, b, a_bytes) != 0)
            return ms_json_fail(err, other, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "found %.*s, but %s is %.*s, and both are spellings of one key",
                                (int)(b_bytes > 24 ? 24 : b_bytes), b, ms_json_key(found),
                                (int)(a_bytes > 24 ? 24 : a_bytes), a);
    }
    return MS_OK;
}

/* ---- defaults ---- */

/* What a key is when it is absent, or null: `number` is the value of MS_DEFAULT_VALUE. */
static uint64_t default_count(const ms_model_config *config, const ms_key *key,
                              ms_default_kind kind, uint64_t number)
{
    switch (kind) {
    case MS_DEFAULT_VALUE:
        return number;
    case MS_DEFAULT_SAME_AS:
        return *(const uint64_t *)(const void *)((const char *)config + key->default_offset);
    case MS_DEFAULT_HEAD_DIM: /* that it divides is a rule, checked with its place */
        return config->hidden_size / config->num_heads;
    case MS_DEFAULT_FOUR_HIDDEN:
        return 4 * config->hidden_size;
    }
    return 0;
}

static void set_default(ms_model_config *config, const ms_key *key)
{
    void *member = (char *)config + key->offset;
    switch (key->kind) {
    case MS_KEY_COUNT:
    case MS_KEY_OPTIONAL:
        *(uint64_t *)member =
            default_count(config, key, key->default_kind,
                          key->default_value < 0 ? UINT64_MAX : (uint64_t)key->default_value);
        break;
    case MS_KEY_INTEGER:
        *(int64_t *)member = (int64_t)key->default_value;
        break;
    case MS_KEY_NUMBERS:
        *(uint64_t *)member = (uint64_t)key->default_value;
        break;
    case MS_KEY_LAYER_PATTERN: /* unless an earlier row read it */
        *(uint64_t *)member += *(uint64_t *)member ? 0 : (uint64_t)key->default_value;
        break;
    case MS_KEY_SIDES:
        ((uint64_t *)member)[0] = ((uint64_t *)member)[1] = (uint64_t)key->default_value;
        break;
    case MS_KEY_BOOL:
    case MS_KEY_IS_SET:
    case MS_KEY_CHOICE:
        *(bool *)member = key->default_value > 0;
        break;
    case MS_KEY_FRACTION:
        *(double *)member = key->default_kind == MS_DEFAULT_SAME_AS
                                ? fraction_at(config, key->default_offset)
                                : key->default_value;
        break;
    case MS_KEY_ACTIVATION:
        *(ms_activation *)member = (ms_activation)key->default_value;
        break;
    case MS_KEY_FIXED_BOOL:
    case MS_KEY_LAYER_TYPES:
    case MS_KEY_MLP_TYPES:
    case MS_KEY_ATTENTION_LAYERS:
    case MS_KEY_ROTARY_LAYERS:
    case MS_KEY_ROPE:
    case MS_KEY_DENSE_LAYERS:
    case MS_KEY_SPARSE_LAYERS:
    case MS_KEY_SPARSE_GATES:
    case MS_KEY_IGNORED:
        break;
    }
}

/* ---- getters ---- */

typedef ms_status (*key_getter)(ms_json_value value, const ms_key *key, ms_model_config *config,
                                ms_error *err);

static ms_status get_count(ms_json_value value, const ms_key *key, ms_model_config *config,
                           ms_error *err)
{
    double number = 0;
    if (key->may_be_minus_one && ms_json_get_number(value, -1, -1, &number, NULL) == MS_OK) {
        *key_count_at(config, key->offset) = UINT64_MAX;
        return MS_OK;
    }
    if (key->may_be_list && ms_json_kind_of(value) == MS_JSON_ARRAY)
        return key_get_alike(value, key, config, err);
    return ms_json_get_count(value, key->minimum, key->maximum, key_count_at(config, key->offset),
                             err);
}

static ms_status get_integer(ms_json_value value, const ms_key *key, ms_model_config *config,
                             ms_error *err)
{
    double most = (double)key->maximum, number = 0;
    ms_status status = ms_json_get_number(value, -most, most, &number, err);
    int64_t whole = (int64_t)number;
    if (status != MS_OK)
        return status;
    if ((double)whole < number || (double)whole > number)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a whole number is expected here");
    *(int64_t *)(void *)((char *)config + key->offset) = whole;
    return MS_OK;
}

static ms_status get_optional(ms_json_value value, const ms_key *key, ms_model_config *config,
                              ms_error *err)
{
    ms_json_kind kind = ms_json_kind_of(value);
    if (kind != MS_JSON_NULL && !(key->may_be_text && kind == MS_JSON_STRING))
        return get_count(value, key, config, err);
    *key_count_at(config, key->offset) =
        default_count(config, key, key->null_kind, key->null_value);
    return MS_OK;
}

static ms_status get_sides(ms_json_value value, const ms_key *key, ms_model_config *config,
                           ms_error *err)
{
    uint64_t *sides = key_count_at(config, key->offset), count = 0;
    ms_json_value v;
    ms_status status = MS_OK;
    if (ms_json_kind_of(value) != MS_JSON_ARRAY) {
        status = get_count(value, key, config, err);
        sides[1] = sides[0];
        return status;
    }
    for (bool more = ms_json_first(value, &v); more && count < 3 && status == MS_OK;
         more = ms_json_next(&v), count++)
        if (count < 2)
            status = ms_json_get_count(v, key->minimum, key->maximum, &sides[count], err);
    if (status == MS_OK && count != 2)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a list of two numbers is expected here");
    return status;
}

static ms_status get_bool(ms_json_value value, const ms_key *key, ms_model_config *config,
                          ms_error *err)
{
    return ms_json_get_bool(value, (bool *)((char *)config + key->offset), err);
}

static ms_status get_is_set(ms_json_value value, const ms_key *key, ms_model_config *config,
                            ms_error *err)
{
    bool *member = (bool *)((char *)config + key->offset);
    *member = ms_json_kind_of(value) != MS_JSON_NULL;
    return *member ? ms_json_expect(value, MS_JSON_NUMBER, err) : MS_OK;
}

static ms_status get_fixed_bool(ms_json_value value, const ms_key *key, ms_model_config *config,
                                ms_error *err)
{
    (void)config;
    bool truth = false, wanted = key->default_value > 0;
    if (ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    ms_status status = ms_json_get_bool(value, &truth, err);
    if (status == MS_OK && truth != wanted)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%s is not supported, only %s is", truth ? "true" : "false",
                            wanted ? "true" : "false");
    return status;
}

static ms_status get_fraction(ms_json_value value, const ms_key *key, ms_model_config *config,
                              ms_error *err)
{
    double *member = (double *)(void *)((char *)config + key->offset);
    if (ms_json_kind_of(value) == MS_JSON_NULL && key->null_kind == MS_DEFAULT_SAME_AS) {
        *member = fraction_at(config, key->default_offset);
        return MS_OK;
    }
    return ms_json_get_number(value, 0, 1, member, err);
}

static ms_status get_activation(ms_json_value value, const ms_key *key, ms_model_config *config,
                                ms_error *err)
{
    ms_activation *member = (ms_activation *)(void *)((char *)config + key->offset);
    const char *name = NULL;
    ms_status status = ms_json_get_string(value, &name, err);
    if (status != MS_OK)
        return status;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
        if (strcmp(activations[i].name, name) == 0) {
            *member = activations[i].activation;
            return MS_OK;
        }
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "activation '%.40s' is not supported; silu, gelu, gelu_pytorch_tanh, "
                        "gelu_new, gelu_fast, quick_gelu, relu and relu2 are",
                        name);
}

/* "su" is what the first files called it. */
static ms_status get_rope(ms_json_value value, const ms_key *key, ms_model_config *config,
                          ms_error *err)
{
    (void)key;
    static const char *const names[] = {"rope_type", "type"};
    ms_json_value type;
    const char *text = NULL;
    for (size_t i = 0; i < 2 && ms_json_kind_of(value) == MS_JSON_OBJECT; i++)
        if (ms_json_find(value, names[i], &type) && ms_json_kind_of(type) == MS_JSON_STRING &&
            ms_json_get_string(type, &text, err) == MS_OK &&
            (strcmp(text, "longrope") == 0 || strcmp(text, "su") == 0))
            config->long_rotary = true;
    return MS_OK;
}

static ms_status get_choice(ms_json_value value, const ms_key *key, ms_model_config *config,
                            ms_error *err)
{
    const char *name = NULL;
    if (key->may_be_null && ms_json_kind_of(value) == MS_JSON_NULL) {
        set_default(config, key);
        return MS_OK;
    }
    ms_status status = ms_json_get_string(value, &name, err);
    if (status != MS_OK)
        return status;
    bool second = strcmp(name, key->choices[1]) == 0;
    if (!second && strcmp(name, key->choices[0]) != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; %s and %s are", name, key->choices[0],
                            key->choices[1]);
    *(bool *)((char *)config + key->offset) = second;
    if (key->given_offset)
        *(bool *)((char *)config + key->given_offset) = true;
    return MS_OK;
}

static ms_status get_pattern(ms_json_value value, const ms_key *key, ms_model_config *config,
                             ms_error *err)
{
    set_default(config, key);
    return layer_pattern_count(value, key->maximum, key_count_at(config, key->offset), err);
}

static ms_status get_nothing(ms_json_value value, const ms_key *key, ms_model_config *config,
                             ms_error *err)
{
    (void)value, (void)key, (void)config, (void)err;
    return MS_OK;
}

static const key_getter getters[] = {
    [MS_KEY_COUNT] = get_count,
    [MS_KEY_OPTIONAL] = get_optional,
    [MS_KEY_INTEGER] = get_integer,
    [MS_KEY_BOOL] = get_bool,
    [MS_KEY_FRACTION] = get_fraction,
    [MS_KEY_ACTIVATION] = get_activation,
    [MS_KEY_IS_SET] = get_is_set,
    [MS_KEY_CHOICE] = get_choice,
    [MS_KEY_FIXED_BOOL] = get_fixed_bool,
    [MS_KEY_LAYER_TYPES] = get_nothing,
    [MS_KEY_ATTENTION_LAYERS] = get_nothing,
    [MS_KEY_ROTARY_LAYERS] = get_nothing,
    [MS_KEY_LAYER_PATTERN] = get_pattern,
    [MS_KEY_MLP_TYPES] = get_nothing,
    [MS_KEY_ROPE] = get_rope,
    [MS_KEY_DENSE_LAYERS] = get_nothing,
    [MS_KEY_SPARSE_LAYERS] = get_nothing,
    [MS_KEY_SPARSE_GATES] = get_nothing,
    [MS_KEY_SIDES] = get_sides,
    [MS_KEY_NUMBERS] = key_get_numbers,
    [MS_KEY_IGNORED] = get_nothing,
};

ms_status ms_model_keys_read(ms_json_value object, const ms_key *keys, size_t key_count,
                             ms_model_config *config, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < key_count && status == MS_OK; i++) {
        const ms_key *key = &keys[i];
        ms_json_value value;
        if (!ms_model_key_find(object, key, &value)) {
            if (key->required)
                return ms_json_fail(err, object, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                    "%s must be given: its default is not supported", key->name);
            set_default(config, key);
            continue;
        }
        status = check_aliases(object, key, value, err);
        if (status == MS_OK)
            status = getters[key->kind](value, key, config, err);
    }
    return status;
}
