/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/model_read.h"

#include <stdio.h>
#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/model_rules.h"
#include "input/config/model/other/other_keys.h"
#include "input/config/quantize/quantize.h"
#include "base/text/nearest.h"
#include "input/config/model/unsupported.h"

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
                            "model_type '%.40s' is run by code of its repository (auto_map), which "
                            "is not predicted; --family takes a text that describes it, "
                            "\"memscope capture\" and \"memscope plan --graph\" take any",
                            type);
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "model_type '%.40s' is run by code of its repository (auto_map), which is "
                        "not predicted; with model_type %s the figures are those of transformers' "
                        "own %.60s",
                        type, family->model_type, name);
}

/* Models of which a part is known here. */
static const struct {
    const char *type, *why;
} in_part[] = {
    {"gemma3n", "its vision tower is a network of timm's, MobileNet-V5, whose weights are not "
                "counted here; give the object \"text_config\" of the file, which is its text "
                "model (gemma3n_text)"},
    {"llava_next", "it makes several pictures of an image, of sides that the image decides; LLaVA "
                   "1.5 is predicted (llava)"},
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
    return ms_json_fail(
        err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
        "unknown model_type '%.40s'; \"memscope models\" lists the known ones, --family takes a "
        "text "
        "that describes another, \"memscope capture\" and \"memscope plan --graph\" take any%s%s",
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
        ms_status refused = ms_model_refuse_keys(root, config->family, err);
        if (refused != MS_OK)
            return refused;
        if (ms_json_find(root, "_class_name", &value))
            return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "a model of diffusers is not predicted; memscope capture -- python "
                                "train.py runs your program on a GPU that is not there");
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "no \"model_type\": neither a Hugging Face config.json nor a run file, "
                            "which has a \"model\"");
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
                            "no \"%s\", which describes a part of the model", name);
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
        status = ms_model_refuse_keys(object, family, err);
    if (status == MS_OK)
        status = ms_model_keys_read(object, family->keys, family->key_count, config, err);
    if (status == MS_OK)
        status = read_more(root, config, err);
    if (status == MS_OK)
        status = ms_model_rules_check(arena, object, config, err);
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
        status = ms_model_refuse_keys(root, config->family, err);
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
        status = ms_note_add(notes, arena, err, MS_NOTE_OF_USERS_FAMILY, config->family->user_text);
    return status == MS_OK ? ms_run_keys_read(arena, root, config, err) : status;
}
