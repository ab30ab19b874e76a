/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/model_rules.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/model_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- keys that change shapes ---- */

typedef enum refuse_when { IF_SET, IF_TRUE, IF_NOT_ONE, IF_POSITIVE, IF_NOT_EMPTY } refuse_when;

static const char mixture[] = "mixture-of-experts layers are not supported";
static const char multimodal[] =
    "a multimodal config is not supported; put its language model's config in a separate file";

static const struct refused_row {
    const char *pointer;
    refuse_when when;
    const char *reason;
} refused[] = {
    {"/text_config", IF_SET, multimodal},
    {"/vision_config", IF_SET, multimodal},
    {"/audio_config", IF_SET, multimodal},
    {"/num_experts", IF_POSITIVE, mixture},
    {"/num_local_experts", IF_POSITIVE, mixture},
    {"/n_routed_experts", IF_POSITIVE, mixture},
    {"/moe_intermediate_size", IF_POSITIVE, mixture},
    {"/kv_lora_rank", IF_POSITIVE, "multi-head latent attention is not supported"},
    {"/q_lora_rank", IF_POSITIVE, "multi-head latent attention is not supported"},
    {"/num_nextn_predict_layers", IF_POSITIVE, "multi-token prediction is not supported"},
    {"/per_layer_config", IF_NOT_EMPTY, "layers of different shapes are not supported"},
    {"/block_configs", IF_NOT_EMPTY, "layers of different shapes are not supported"},
    {"/pruned_heads", IF_NOT_EMPTY, "pruned heads are not supported"},
    {"/add_cross_attention", IF_TRUE, "cross-attention is not supported"},
    {"/is_encoder_decoder", IF_TRUE, "encoder-decoder models are not supported"},
    {"/partial_rotary_factor", IF_NOT_ONE, "partial rotary embeddings are not supported"},
    {"/rope_parameters/partial_rotary_factor", IF_NOT_ONE,
     "partial rotary embeddings are not supported"},
};

static bool is_refused(ms_json_value value, refuse_when when)
{
    ms_json_kind kind = ms_json_kind_of(value);
    ms_json_value child;
    double number = 0;
    bool truth = false, is_number = kind == MS_JSON_NUMBER;
    if (is_number)
        (void)ms_json_get_number(value, -1e308, 1e308, &number, NULL);
    if (kind == MS_JSON_BOOL)
        (void)ms_json_get_bool(value, &truth, NULL);
    switch (when) {
    case IF_SET:
        return kind != MS_JSON_NULL;
    case IF_TRUE:
        return truth;
    case IF_NOT_ONE:
        return is_number && (number < 1 || number > 1);
    case IF_POSITIVE:
        return is_number && number > 0;
    case IF_NOT_EMPTY:
        return (kind == MS_JSON_OBJECT || kind == MS_JSON_ARRAY) && ms_json_first(value, &child);
    }
    return false;
}

/* Whether the family reads an object of that name. */
static bool has_object(const ms_family *family, const char *name)
{
    if (!family || !family->object)
        return false;
    for (size_t i = 0; i < family->more_count; i++)
        if (family->more[i].object && strcmp(family->more[i].object, name) == 0)
            return true;
    return strcmp(family->object, name) == 0;
}

/* Whether the family reads the key and supports all its values. */
static bool shapes_family(const ms_family *family, const char *pointer)
{
    const char *name = strchr(pointer + 1, '/') ? pointer : pointer + 1;
    if (has_object(family, name))
        return true;
    const ms_key *row = family ? ms_model_key_row(family, name) : NULL;
    return row && row->kind != MS_KEY_FIXED_BOOL && row->kind != MS_KEY_IGNORED;
}

ms_status ms_model_refuse_keys(ms_json_value root, const ms_family *family, ms_error *err)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ms_json_value value;
        if (shapes_family(family, refused[i].pointer))
            continue;
        if (ms_json_find_pointer(root, refused[i].pointer, &value) &&
            is_refused(value, refused[i].when))
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "%s", refused[i].reason);
    }
    return MS_OK;
}

/* ---- shapes ---- */

/* The name a key has in this file; NULL when it is absent or null. */
static const char *name_in_file(ms_json_value root, const ms_family *family, const char *name,
                                ms_json_value *value)
{
    const ms_key *key = ms_model_key_row(family, name);
    if (!key || !ms_model_key_find(root, key, value) || ms_json_kind_of(*value) == MS_JSON_NULL)
        return NULL;
    return ms_json_key(*value);
}

static const char *row_name(const ms_family *family, const char *name)
{
    const ms_key *key = ms_model_key_row(family, name);
    return key ? key->name : name;
}

/* Refuses a divisor that does not divide, at its own place, else at the dividend's. */
static ms_status check_divides(ms_json_value root, const ms_family *family, const char *divisor,
                               uint64_t divisor_value, const char *dividend,
                               uint64_t dividend_value, ms_error *err)
{
    ms_json_value value, other;
    if (dividend_value % divisor_value == 0)
        return MS_OK;
    const char *divisor_name = name_in_file(root, family, divisor, &value);
    const char *dividend_name = name_in_file(root, family, dividend, &other);
    if (divisor_name)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%" PRIu64 " does not divide %s %" PRIu64 "%s", divisor_value,
                            dividend_name ? dividend_name : row_name(family, dividend),
                            dividend_value, dividend_name ? "" : ", its default");
    return ms_json_fail(err, dividend_name ? other : root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "%" PRIu64 " is not a multiple of %s %" PRIu64 ", its default",
                        dividend_value, row_name(family, divisor), divisor_value);
}

/* How the family spells the key of a count; NULL when it has none. */
static const char *name_of_member(const ms_family *family, size_t offset)
{
    for (size_t i = 0; i < family->key_count; i++)
        if (family->keys[i].offset == offset &&
            (family->keys[i].kind == MS_KEY_COUNT || family->keys[i].kind == MS_KEY_OPTIONAL))
            return family->keys[i].name;
    return NULL;
}

static ms_status check_heads(ms_json_value root, ms_model_config *config, ms_error *err)
{
    const ms_family *family = config->family;
    ms_json_value value;
    ms_status status = MS_OK;
    bool derives_head_dim = !name_in_file(root, family, "head_dim", &value);
    const ms_key *row = ms_model_key_row(family, "head_dim");
    if ((!row && config->head_dim == 0) ||
        (row && derives_head_dim && row->default_kind == MS_DEFAULT_HEAD_DIM))
        status = check_divides(root, family, "num_attention_heads", config->num_heads,
                               "hidden_size", config->hidden_size, err);
    if (!row && config->head_dim == 0)
        config->head_dim = config->hidden_size / config->num_heads;
    const char *kv_heads = name_of_member(family, offsetof(ms_model_config, num_kv_heads));
    if (!kv_heads)
        config->num_kv_heads = config->num_heads;
    if (status == MS_OK && kv_heads)
        status = check_divides(root, family, kv_heads, config->num_kv_heads, "num_attention_heads",
                               config->num_heads, err);
    return status;
}

/* Why the rotary embedding cannot turn what it is to, as the end of a sentence; NULL: it can. An
 * odd number of elements goes where heads are cut by the tables' width, which is even. */
static const char *rotary_reason(const ms_model_config *config, uint64_t share)
{
    if (share == 0)
        return ", which is not supported";
    if (share % 2 == 0)
        return NULL;
    if (share < config->head_dim && !config->family->cuts_by_share)
        return NULL;
    return share == 1
               ? ": the framework widens heads by rotating one element, which is not supported"
               : ": an odd number, which the framework cannot multiply by tables of pairs";
}

static ms_status check_rotary(ms_json_value root, const ms_model_config *config, ms_error *err)
{
    static const char *const keys[] = {"partial_rotary_factor", "rotary_pct", "rotary_dim",
                                       "head_dim", "num_attention_heads"};
    enum { SHARES = 3, KEYS = sizeof keys / sizeof keys[0] };
    const ms_family *family = config->family;
    ms_json_value value = root;
    size_t key = 0;
    while (key < KEYS && !name_in_file(root, family, keys[key], &value))
        key++;
    uint64_t share = key < SHARES && config->rotary_share <= 0 ? 0 : ms_rotary_share(config);
    const char *reason = rotary_reason(config, share);
    if (ms_model_learns_positions(family) || family->has_no_rotary || config->image_tokens ||
        !reason)
        return MS_OK;
    if (key == KEYS)
        value = root;
    if (share == config->head_dim)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "head_dim %" PRIu64 " is odd; rotary embeddings rotate pairs", share);
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "%" PRIu64 " of head_dim %" PRIu64 " would be rotated%s", share,
                        config->head_dim, reason);
}

/* A family's own rule names its key; the place is looked up here. */
static ms_status fail_family(ms_json_value root, const ms_family *family, const ms_error *found,
                             ms_error *err)
{
    ms_json_value value;
    const char *name = found->pointer[0] == '/' ? found->pointer + 1 : found->pointer;
    const ms_key *key = ms_model_key_row(family, name);
    if (!key || !ms_model_key_find(root, key, &value))
        value = root;
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, found->status, "%s", found->text);
}

static ms_status derive(ms_json_value root, ms_model_config *config, ms_error *err)
{
    ms_error found = {0};
    if (!config->family->derive || config->family->derive(config, &found) == MS_OK)
        return MS_OK;
    return fail_family(root, config->family, &found, err);
}

static ms_status check_family(ms_json_value root, const ms_model_config *config, ms_error *err)
{
    ms_error found = {0};
    if (!config->family->check || config->family->check(config, &found) == MS_OK)
        return MS_OK;
    if (!found.file[0])
        return fail_family(root, config->family, &found, err);
    if (err && err->status == MS_OK) /* the text of the family is at fault */
        *err = found;
    return found.status;
}

ms_status ms_model_rules_check(ms_arena *arena, ms_json_value root, ms_model_config *config,
                               ms_error *err)
{
    ms_status status = derive(root, config, err);
    if (status == MS_OK)
        status = check_heads(root, config, err);
    if (status == MS_OK)
        status = check_rotary(root, config, err);
    if (status == MS_OK)
        status = ms_layer_kinds_read(arena, root, config, err);
    return status == MS_OK ? check_family(root, config, err) : status;
}
