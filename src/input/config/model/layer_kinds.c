/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/layer_kinds.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/model_read.h"

bool ms_model_has_layers(const ms_model_config *config, uint8_t flags)
{
    for (uint64_t i = 0; i < config->num_layers; i++)
        if ((ms_layer_kind(config, i) & flags) == flags)
            return true;
    return false;
}

bool ms_model_has_layers_but(const ms_model_config *config, uint8_t flags)
{
    for (uint64_t i = 0; i < config->num_layers; i++)
        if ((ms_layer_kind(config, i) & flags) != flags)
            return true;
    return false;
}

/* The first layer that reads keys of an earlier one; their number: none does. A planner may leave
 * fewer layers than share keys. */
static uint64_t first_reader(const ms_model_config *config)
{
    const uint64_t count = config->num_layers;
    return config->sharing_layers < count ? count - config->sharing_layers : count;
}

bool ms_layer_reads_keys(const ms_model_config *config, uint64_t layer)
{
    return layer >= first_reader(config);
}

bool ms_layer_stores_keys(const ms_model_config *config, uint64_t layer)
{
    const uint64_t end = first_reader(config);
    if (end == config->num_layers || layer >= end)
        return false;
    for (uint64_t i = layer + 1; i < end; i++)
        if (ms_layer_slides(config, i) == ms_layer_slides(config, layer))
            return false;
    return true;
}

/* ---- lists ---- */

static const ms_key *row_of(const ms_family *family, ms_key_kind kind)
{
    for (size_t i = 0; i < family->key_count; i++)
        if (family->keys[i].kind == kind)
            return &family->keys[i];
    return NULL;
}

/* False when the file has no such key, or null. */
static bool find_list(ms_json_value root, const ms_family *family, ms_key_kind kind,
                      ms_json_value *value)
{
    const ms_key *key = row_of(family, kind);
    return key && ms_model_key_find(root, key, value) && ms_json_kind_of(*value) != MS_JSON_NULL;
}

static ms_status read_type(ms_json_value value, const ms_key *key, uint8_t *kind, ms_error *err)
{
    const char *type = NULL, *mixes = key->choices[0];
    const char *slides = key->choices[1] ? key->choices[1] : mixes ? NULL : "sliding_attention";
    ms_status status = ms_json_get_string(value, &type, err);
    if (status != MS_OK)
        return status;
    *kind &= (uint8_t) ~(MS_LAYER_SLIDES | MS_LAYER_TOKEN_MIXER);
    if (slides && strcmp(type, slides) == 0)
        *kind |= MS_LAYER_SLIDES;
    else if (mixes && strcmp(type, mixes) == 0)
        *kind |= MS_LAYER_TOKEN_MIXER;
    else if (strcmp(type, "full_attention") != 0 && strcmp(type, "attention") != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; full_attention and %s are", type,
                            slides ? slides : mixes);
    return MS_OK;
}

static ms_status read_types(ms_json_value list, const ms_model_config *config, uint8_t *kinds,
                            ms_error *err)
{
    const ms_key *key = row_of(config->family, MS_KEY_LAYER_TYPES);
    uint64_t count = 0;
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), count++) {
        uint8_t past_the_end = 0;
        status = read_type(v, key, count < config->num_layers ? &kinds[count] : &past_the_end, err);
    }
    if (status == MS_OK && count != config->num_layers)
        return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " layer types, but num_hidden_layers is %" PRIu64, count,
                            config->num_layers);
    return status;
}

/* Layers without rotary embeddings: as the file lists them, 0 for each such layer, else every N-th.
 */
static ms_status read_rotary_layers(ms_json_value root, const ms_model_config *config,
                                    uint8_t *kinds, ms_error *err)
{
    uint64_t count = 0, turns, interval = config->no_rotary_interval;
    const ms_key *key = ms_model_key_row(config->family, "no_rope_layers");
    ms_json_value list, v;
    if (!key || !ms_model_key_find(root, key, &list) || ms_json_kind_of(list) == MS_JSON_NULL ||
        (key->may_be_empty && ms_json_kind_of(list) == MS_JSON_ARRAY && !ms_json_first(list, &v))) {
        for (uint64_t i = 0; interval > 0 && i < config->num_layers; i++)
            kinds[i] |= (i + 1) % interval == 0 ? MS_LAYER_NO_ROTARY : 0;
        return MS_OK;
    }
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), count++) {
        status = ms_json_get_count(v, 0, 1, &turns, err);
        if (status == MS_OK && count < config->num_layers && turns == 0)
            kinds[count] |= MS_LAYER_NO_ROTARY;
    }
    if (status == MS_OK && count < config->num_layers)
        return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " entries, but num_hidden_layers is %" PRIu64, count,
                            config->num_layers);
    return status;
}

/* The layers of a list have a flag, and the others do not, or the reverse. Numbers past the last
 * layer name none, as in the framework. */
static ms_status flag_listed(ms_json_value list, const ms_model_config *config, uint8_t flag,
                             bool have_it, uint8_t *kinds, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        uint64_t layer = 0;
        status = ms_json_get_count(v, 0, UINT64_MAX, &layer, err);
        if (status == MS_OK && layer < config->num_layers)
            kinds[layer] = (uint8_t)(have_it ? kinds[layer] | flag : kinds[layer] & ~flag);
    }
    return status;
}

static const struct {
    ms_key_kind kind;
    uint8_t flag;
    bool have_it; /* the layers of the list, not the others; */
    bool is_all;  /* the others have the other state, whatever the family's rule says */
} lists[] = {
    {MS_KEY_DENSE_LAYERS, MS_LAYER_SPARSE, false, false},
    {MS_KEY_SPARSE_LAYERS, MS_LAYER_SPARSE, true, true},
    {MS_KEY_ATTENTION_LAYERS, MS_LAYER_TOKEN_MIXER, false, true},
};

/* The lists of layer numbers, each for a flag. */
static ms_status read_lists(ms_json_value root, const ms_model_config *config, uint8_t *kinds,
                            ms_error *err)
{
    ms_status status = MS_OK;
    ms_json_value list;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && status == MS_OK; i++) {
        uint8_t flag = lists[i].flag;
        if (!find_list(root, config->family, lists[i].kind, &list))
            continue;
        for (uint64_t l = 0; lists[i].is_all && l < config->num_layers; l++)
            kinds[l] = (uint8_t)(lists[i].have_it ? kinds[l] & ~flag : kinds[l] | flag);
        status = flag_listed(list, config, flag, lists[i].have_it, kinds, err);
    }
    return status;
}

static ms_status read_mlp_types(ms_json_value root, const ms_model_config *config, uint8_t *kinds,
                                ms_error *err)
{
    ms_json_value list, v;
    const char *type = NULL;
    uint64_t count = 0;
    if (!find_list(root, config->family, MS_KEY_MLP_TYPES, &list))
        return MS_OK;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status == MS_OK && ms_json_length(list) != config->num_layers)
        return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu32 " MLP types, but num_hidden_layers is %" PRIu64,
                            ms_json_length(list), config->num_layers);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        status = ms_json_get_string(v, &type, err);
        bool is_sparse = status == MS_OK && strcmp(type, "sparse") == 0;
        if (status == MS_OK && !is_sparse && strcmp(type, "dense") != 0)
            return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "'%.40s' is not supported; dense and sparse are", type);
        kinds[count] =
            (uint8_t)(is_sparse ? kinds[count] | MS_LAYER_SPARSE : kinds[count] & ~MS_LAYER_SPARSE);
        count++;
    }
    return status;
}

/* Of several rows the last that the file has. */
static ms_status read_patterns(ms_json_value root, const ms_family *family, uint8_t *kinds,
                               ms_error *err)
{
    ms_json_value value, last;
    bool found = false;
    for (size_t i = 0; i < family->key_count; i++)
        if (family->keys[i].kind == MS_KEY_LAYER_PATTERN &&
            ms_model_key_find(root, &family->keys[i], &value) &&
            ms_json_kind_of(value) != MS_JSON_NULL) {
            last = value;
            found = true;
        }
    return found ? ms_layer_pattern_read(last, kinds, err) : MS_OK;
}

/* Numbers, one for each layer: 0 where the gate is not sparse. */
static ms_status read_gates(ms_json_value list, const ms_model_config *config, uint8_t *kinds,
                            ms_error *err)
{
    uint64_t count = 0;
    double share = 0;
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), count++) {
        status = ms_json_get_number(v, 0, 1, &share, err);
        if (status != MS_OK || count >= config->num_layers)
            continue;
        kinds[count] &= (uint8_t)~MS_LAYER_SPARSE_GATE;
        kinds[count] |= share > 0 ? MS_LAYER_SPARSE_GATE : 0;
    }
    return status == MS_OK ? ms_key_expect_layers(list, count, config, err) : status;
}

/* Without a window no layer slides; a list with sliding layers contradicts it. */
static ms_status check_window(ms_json_value list, const ms_model_config *config, bool switched_off,
                              ms_error *err)
{
    if (config->sliding_window > 0 || !ms_model_has_layers(config, MS_LAYER_SLIDES))
        return MS_OK;
    return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG, "sliding layers, but %s",
                        switched_off ? "use_sliding_window is false" : "sliding_window is null");
}

ms_status ms_layer_kinds_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                              ms_error *err)
{
    const ms_family *family = config->family;
    uint8_t *kinds = ms_arena_array(arena, uint8_t, config->num_layers);
    ms_json_value list;
    if (!kinds)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the model");
    bool switched_off =
        ms_model_key_row(family, "use_sliding_window") && !config->use_sliding_window;
    if (switched_off)
        config->sliding_window = 0;
    config->use_sliding_window = config->sliding_window > 0;
    config->layer_kinds = kinds;
    ms_status status = read_rotary_layers(root, config, kinds, err);
    if (status != MS_OK)
        return status;
    for (uint64_t i = 0; i < config->num_layers; i++) {
        kinds[i] |= family->layer_kind ? family->layer_kind(config, i) : MS_LAYER_SLIDES;
        if (!config->use_sliding_window || (family->has_chunks && kinds[i] & MS_LAYER_NO_ROTARY))
            kinds[i] &= (uint8_t)~MS_LAYER_SLIDES;
    }
    status = read_lists(root, config, kinds, err);
    if (status == MS_OK)
        status = read_mlp_types(root, config, kinds, err);
    if (status == MS_OK)
        status = read_patterns(root, family, kinds, err);
    if (status == MS_OK && find_list(root, family, MS_KEY_SPARSE_GATES, &list))
        status = read_gates(list, config, kinds, err);
    if (status != MS_OK)
        return status;
    if (family->has_lone_mixers && !ms_model_has_layers(config, MS_LAYER_SPARSE))
        config->num_experts = 0;
    if (find_list(root, family, MS_KEY_LAYER_TYPES, &list))
        status = read_types(list, config, kinds, err);
    if (status == MS_OK && family->ends_unlimited)
        kinds[config->num_layers - 1] &= (uint8_t)~MS_LAYER_SLIDES;
    if (!find_list(root, family, MS_KEY_LAYER_TYPES, &list))
        return status;
    return status == MS_OK ? check_window(list, config, switched_off, err) : status;
}
