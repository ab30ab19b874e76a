/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/model_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/other/other_keys.h"
#include "input/config/model/unsupported.h"
#include "input/config/quantize/quantize.h"

/* Rules that span keys: dimensions that must divide, keys that the family does not support. */

/* ---- keys that change shapes ---- */

typedef enum refuse_when { IF_SET, IF_TRUE, IF_NOT_ONE, IF_POSITIVE, IF_NOT_EMPTY } refuse_when;

static const char mixture[] = "mixture-of-experts layers are not supported";

static const char multimodal[] = "a multimodal config is not supported; put the config of its "
                                 "language model into a separate file";

static const struct refused_row {
    const char *pointer;
    refuse_when when;
    const char *reason;
} refusals[] = {
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

/* Refuses keys that change shapes and that the family (NULL: any) does not read. */
static ms_status model_refuse_keys(ms_json_value root, const ms_family *family, ms_error *err)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        ms_json_value value;
        if (shapes_family(family, refusals[i].pointer))
            continue;
        if (ms_json_find_pointer(root, refusals[i].pointer, &value) &&
            is_refused(value, refusals[i].when))
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "%s",
                                refusals[i].reason);
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

/* Checks the rules, and fills in derived members. */
static ms_status model_rules_check(ms_arena *arena, ms_json_value root, ms_model_config *config,
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

/* ---- model read ---- */

/* The family whose class the file names; NULL: none. */
static const ms_family *family_of_class(ms_json_value root, const ms_family_list *families,
                                        const char **name, ms_error *err)
{
    ms_json_value list, first;
    if (!ms_json_find(root, "architectures", &list) || ms_json_kind_of(list) != MS_JSON_ARRAY ||
        !ms_json_first(list, &first) || ms_json_kind_of(first) != MS_JSON_STRING ||
        ms_json_get_string(first, name, err) != MS_OK)
        return NULL;
    for (size_t i = 0; i < families->count; i++) {
        const ms_model_class *classes = families->items[i]->classes;
        for (size_t c = 0; c < MS_FAMILY_CLASSES && classes[c].name; c++)
            if (strcmp(classes[c].name, *name) == 0)
                return families->items[i];
    }
    return NULL;
}

/* The model's repository brings its own code, which transformers runs. */
static ms_status fail_remote_type(ms_json_value root, ms_json_value value, const char *type,
                                  const ms_family_list *families, ms_error *err)
{
    const char *name = NULL;
    const ms_family *family = family_of_class(root, families, &name, err);
    if (!family)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "model_type '%.40s' runs code from its repository (auto_map), which is "
                            "not predicted; --family takes a text that describes it, and "
                            "\"memscope capture\" and \"memscope plan --graph\" take any model",
                            type);
    return ms_json_fail(
        err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
        "model_type '%.40s' runs code from its repository (auto_map), which is not predicted; with "
        "model_type %s the figures are those of transformers' own %.60s",
        type, family->model_type, name);
}

/* Models of which a part is known here. */
static const struct {
    const char *type, *why;
} in_part[] = {
    {"gemma3n", "its vision tower is timm's MobileNet-V5, whose weights are not counted; give the "
                "object \"text_config\" of the file, which is its text model (gemma3n_text)"},
    {"llava_next", "it splits an image into a number of tiles that depends on the image; LLaVA 1.5 "
                   "is predicted (llava)"},
};

static ms_status fail_unknown_type(ms_json_value root, ms_json_value value, const char *type,
                                   const ms_family_list *families, ms_error *err)
{
    char hint[96];
    ms_json_value nested;
    ms_nearest nearest = ms_nearest_same(type);
    if (ms_json_find(root, "auto_map", &nested) && ms_json_kind_of(nested) == MS_JSON_OBJECT &&
        ms_json_length(nested) > 0)
        return fail_remote_type(root, value, type, families, err);
    for (size_t i = 0; i < sizeof in_part / sizeof *in_part; i++)
        if (strcmp(in_part[i].type, type) == 0)
            return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "model_type '%s' is not predicted: %s", type, in_part[i].why);
    for (size_t i = 0; i < families->count; i++)
        ms_nearest_offer(&nearest, families->items[i]->model_type);
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "unknown model_type '%.40s'; \"memscope models\" lists the known ones, "
                        "--family takes a text that describes another, and \"memscope capture\" "
                        "and \"memscope plan --graph\" take any model%s%s",
                        type, ms_nearest_hint(&nearest, hint, sizeof hint),
                        ms_json_find(root, "text_config", &nested)
                            ? "; its \"text_config\" is the config of another model"
                            : "");
}

const ms_family *ms_family_named(const ms_family_list *families, const char *model_type)
{
    for (size_t i = 0; model_type && i < families->count; i++)
        if (strcmp(families->items[i]->model_type, model_type) == 0)
            return families->items[i];
    return NULL;
}

static ms_status read_family(ms_arena *arena, ms_json_value root, const ms_family_list *families,
                             ms_model_config *config, ms_error *err)
{
    ms_json_value value;
    const char *type = NULL;
    if (!ms_json_find(root, "model_type", &value)) {
        ms_status refused = model_refuse_keys(root, config->family, err);
        if (refused != MS_OK)
            return refused;
        if (ms_json_find(root, "_class_name", &value))
            return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "a diffusers model is not predicted; memscope capture -- python "
                                "train.py runs your program on a simulated GPU");
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it has no \"model_type\", so it is not a Hugging Face config.json, "
                            "and no \"model\", so it is not a run file");
    }
    ms_status status = ms_json_get_string(value, &type, err);
    if (status != MS_OK)
        return status;
    const ms_family *given =
        families->count > 0 && families->items[0]->user_text ? families->items[0] : NULL;
    if (given && strcmp(given->model_type, type) != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "the model_type is '%.40s', and %.200s describes '%.40s'", type,
                            given->user_text, given->model_type);
    config->family = ms_family_named(families, type);
    if (!config->family && families->find)
        config->family = families->find(arena, families, type, err);
    if (!config->family)
        return err && err->status != MS_OK ? err->status
                                           : fail_unknown_type(root, value, type, families, err);
    if (families->read)
        config->family = families->read(arena, config->family, err);
    if (!config->family)
        return err && err->status != MS_OK ? err->status : MS_ERR_NOMEM;
    config->model_type = ms_arena_strdup(arena, type);
    return config->model_type ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for the model");
}

static ms_status fail_unknown_class(ms_json_value value, const char *name, const ms_family *family,
                                    ms_error *err)
{
    char known[MS_FAMILY_CLASSES * 48] = "";
    size_t used = 0;
    for (size_t i = 0; i < MS_FAMILY_CLASSES && family->classes[i].name; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 family->classes[i].name);
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "'%.64s' is not supported; supported classes of %s: %s", name,
                        family->model_type, known);
}

/* The class decides the head. */
static ms_status read_class(ms_json_value root, ms_model_config *config, ms_error *err)
{
    const ms_family *family = config->family;
    ms_json_value list, first;
    const char *name = NULL;
    config->head = family->classes[0].head;
    if (!ms_json_find(root, "architectures", &list) || ms_json_kind_of(list) == MS_JSON_NULL)
        return MS_OK;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status != MS_OK || !ms_json_first(list, &first))
        return status;
    status = ms_json_get_string(first, &name, err);
    if (status != MS_OK)
        return status;
    for (size_t i = 0; i < MS_FAMILY_CLASSES && family->classes[i].name; i++)
        if (strcmp(name, family->classes[i].name) == 0) {
            config->head = family->classes[i].head;
            return MS_OK;
        }
    return fail_unknown_class(first, name, family, err);
}

static uint64_t count_members(ms_json_value object)
{
    uint64_t count = 0;
    ms_json_value v;
    for (bool more = ms_json_first(object, &v); more; more = ms_json_next(&v))
        count++;
    return count;
}

/* The names of the classes count them; without, num_labels does; else there are two. One class is
 * a regression, which has another loss. */
static ms_status read_labels(ms_json_value root, ms_model_config *config, ms_error *err)
{
    enum { MOST_LABELS = 1 << 20 };
    static const char single[] = "single_label_classification";
    ms_json_value value = root, kind;
    const char *problem = single;
    ms_status status = MS_OK;
    config->num_labels = 2;
    if (config->head == MS_HEAD_CAUSAL_LM || config->head == MS_HEAD_MASKED_LM ||
        config->head == MS_HEAD_PRETRAINING || config->head == MS_HEAD_TARGET_LM)
        return MS_OK;
    if (ms_json_find(root, "problem_type", &kind) && ms_json_kind_of(kind) != MS_JSON_NULL)
        status = ms_json_get_string(kind, &problem, err);
    if (status == MS_OK && strcmp(problem, single) != 0)
        return ms_json_fail(err, kind, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported, only %s is", problem, single);
    if (ms_json_find(root, "id2label", &value) && ms_json_kind_of(value) != MS_JSON_NULL) {
        status = status == MS_OK ? ms_json_expect(value, MS_JSON_OBJECT, err) : status;
        config->num_labels = status == MS_OK ? count_members(value) : 0;
    } else if (status == MS_OK && ms_json_find(root, "num_labels", &value)) {
        status = ms_json_get_count(value, 1, MOST_LABELS, &config->num_labels, err);
    }
    if (status == MS_OK && config->num_labels < 2)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a single class means regression, which is not supported");
    return status;
}

/* "dtype" wins over "torch_dtype", as in the framework. A type we cannot train in is no error here:
 * the run decides the type of the weights. */
static ms_status read_dtype(ms_json_value root, ms_model_config *config, ms_error *err)
{
    static const char *const names[] = {"dtype", "torch_dtype"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ms_json_value value;
        const char *text = NULL;
        if (!ms_json_find(root, names[i], &value) || ms_json_kind_of(value) == MS_JSON_NULL)
            continue;
        ms_status status = ms_json_get_string(value, &text, err);
        if (status == MS_OK) {
            config->has_dtype = ms_dtype_parse(text, &config->dtype);
            config->is_fp8 = ms_unsupported_type(text) != NULL;
        }
        return status;
    }
    return MS_OK;
}

static ms_status read_quantization(ms_arena *arena, ms_json_value root, ms_model_config *config,
                                   ms_error *err)
{
    ms_json_value value;
    if (!ms_json_find(root, "quantization_config", &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    return ms_quantization_read(arena, value, &config->quantization, err);
}

/* An object of a file that nests; `type` is the only model_type it may have; NULL: any.
 */
static ms_status find_object(ms_json_value root, const char *name, const char *type,
                             ms_json_value *object, ms_error *err)
{
    ms_json_value value;
    const char *text = NULL;
    if (!ms_json_find(root, name, object) || ms_json_kind_of(*object) == MS_JSON_NULL)
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it has no \"%s\", which describes a part of the model", name);
    ms_status status = ms_json_expect(*object, MS_JSON_OBJECT, err);
    if (status != MS_OK || !type || !ms_json_find(*object, "model_type", &value))
        return status;
    status = ms_json_get_string(value, &text, err);
    if (status == MS_OK && strcmp(text, type) != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported here, only %s is", text, type);
    return status;
}

static ms_status read_more(ms_json_value root, ms_model_config *config, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < config->family->more_count && status == MS_OK; i++) {
        const ms_key_table *table = &config->family->more[i];
        ms_json_value object = root;
        if (table->object && config->family->may_lack_more &&
            (!ms_json_find(root, table->object, &object) ||
             ms_json_kind_of(object) == MS_JSON_NULL))
            continue;
        if (table->object)
            status = find_object(root, table->object, table->model_type, &object, err);
        if (status == MS_OK)
            status = ms_model_keys_read(object, table->keys, table->key_count, config, err);
    }
    return status;
}

/* The keys, in the object that holds them, and what spans them. */
static ms_status read_keys(ms_arena *arena, ms_json_value root, ms_model_config *config,
                           ms_notes *notes, ms_error *err)
{
    const ms_family *family = config->family;
    ms_json_value object = root, value;
    ms_status status = MS_OK;
    bool is_flat = family->may_be_flat && !ms_json_find(root, family->object, &value);
    if (family->object && !is_flat)
        status = find_object(root, family->object, family->object_type, &object, err);
    if (status == MS_OK && family->object && !is_flat)
        status = model_refuse_keys(object, family, err);
    if (status == MS_OK)
        status = ms_model_keys_read(object, family->keys, family->key_count, config, err);
    if (status == MS_OK)
        status = read_more(root, config, err);
    if (status == MS_OK)
        status = model_rules_check(arena, object, config, err);
    return status == MS_OK ? ms_other_keys_note(arena, root, family, notes, err) : status;
}

ms_status ms_model_config_read(ms_arena *arena, ms_json_value root, const ms_family_list *families,
                               ms_model_config *config, ms_notes *notes, ms_error *err)
{
    *config = (ms_model_config){0};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_family(arena, root, families, config, err);
    if (status == MS_OK)
        status = model_refuse_keys(root, config->family, err);
    if (status == MS_OK)
        status = read_class(root, config, err);
    if (status == MS_OK)
        status = read_labels(root, config, err);
    if (status == MS_OK)
        status = read_dtype(root, config, err);
    if (status == MS_OK)
        status = read_quantization(arena, root, config, err);
    if (status == MS_OK)
        status = read_keys(arena, root, config, notes, err);
    if (status == MS_OK && config->family->user_text)
        status = ms_note_add(notes, arena, err,
                             "the model runs as %.200s describes it, which memscope has not "
                             "compared with PyTorch: memscope capture and compare do that",
                             config->family->user_text);
    return status == MS_OK ? ms_run_keys_read(arena, root, config, err) : status;
}
