/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/other/run_keys.h"

#include <string.h>

#include "input/config/model/family.h"
#include "input/config/model/model_config.h"

/* Of two spellings the first wins: it is set last. */
static const char *const attention_keys[] = {"_attn_implementation", "attn_implementation"};
static const char *const experts_keys[] = {"_experts_implementation", "experts_implementation"};
static const char checkpoints_key[] = "gradient_checkpointing";
enum { SPELLINGS = 2 };

bool ms_is_run_key(const char *name)
{
    for (size_t i = 0; i < SPELLINGS; i++)
        if (strcmp(name, attention_keys[i]) == 0 || strcmp(name, experts_keys[i]) == 0)
            return true;
    return strcmp(name, checkpoints_key) == 0;
}

/* Of an object with a name for each part of the model, the text model's. */
static bool find_part(const ms_family *family, ms_json_value *value)
{
    ms_json_value parts = *value;
    return ms_json_kind_of(parts) != MS_JSON_OBJECT ||
           (family->object && ms_json_find(parts, family->object, value)) ||
           ms_json_find(parts, "", value);
}

static ms_status read_name(ms_arena *arena, ms_json_value root, const char *const *keys,
                           const ms_family *family, const char **name, ms_error *err)
{
    ms_json_value value;
    const char *text = NULL;
    *name = NULL;
    size_t i = 0;
    while (i < SPELLINGS &&
           !(ms_json_find(root, keys[i], &value) && ms_json_kind_of(value) != MS_JSON_NULL))
        i++;
    if (i == SPELLINGS || !find_part(family, &value) || ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    ms_status status = ms_json_get_string(value, &text, err);
    if (status != MS_OK)
        return status;
    *name = ms_arena_strdup(arena, text);
    return *name ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for the model");
}

/* As Python has it: all but false, null, 0 and what is empty. */
static bool is_true(ms_json_value value)
{
    bool truth = false;
    double number = 0;
    const char *text = "";
    switch (ms_json_kind_of(value)) {
    case MS_JSON_BOOL:
        return ms_json_get_bool(value, &truth, NULL) == MS_OK && truth;
    case MS_JSON_NUMBER:
        return ms_json_get_number(value, -1e308, 1e308, &number, NULL) == MS_OK &&
               (number < 0 || number > 0);
    case MS_JSON_STRING:
        return ms_json_get_string(value, &text, NULL) == MS_OK && *text;
    case MS_JSON_NULL:
    case MS_JSON_ARRAY:
    case MS_JSON_OBJECT:
        break;
    }
    return false;
}

static bool asks_checkpoints(ms_json_value object)
{
    ms_json_value value;
    return ms_json_find(object, checkpoints_key, &value) && is_true(value);
}

ms_status ms_run_keys_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                           ms_error *err)
{
    const ms_family *family = config->family;
    ms_json_value text;
    bool is_nested = family->object && ms_json_find(root, family->object, &text) &&
                     ms_json_kind_of(text) == MS_JSON_OBJECT;
    config->asks_checkpoints = asks_checkpoints(root) || (is_nested && asks_checkpoints(text));
    ms_status status =
        read_name(arena, root, attention_keys, family, &config->asked_attention, err);
    return status == MS_OK
               ? read_name(arena, root, experts_keys, family, &config->asked_experts, err)
               : status;
}
