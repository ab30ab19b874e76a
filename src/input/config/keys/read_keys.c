/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/keys/read_keys.h"

#include <string.h>

#include "base/size.h"

enum { FIRST_KEYS = 32 }; /* for which there is room at first */

const char *const ms_key_reading_names[] = {
    [MS_KEY_USED] = "used",
    [MS_KEY_DEFAULT] = "default",
    [MS_KEY_HARMLESS] = "harmless",
    [MS_KEY_ASSUMED] = "assumed-harmless",
    [MS_KEY_NOT_PREDICTED] = "not-predicted",
    [MS_KEY_UNKNOWN] = "unknown",
    [MS_KEY_READING_COUNT] = NULL,
};

const char *const ms_key_effect_names[] = {
    [MS_EFFECT_NONE] = "none",     [MS_EFFECT_ADDS] = "adds", [MS_EFFECT_SAVES] = "saves",
    [MS_EFFECT_EITHER] = "either", [MS_EFFECT_COUNT] = NULL,
};

const char *const ms_key_effect_texts[] = {
    [MS_EFFECT_NONE] = "",
    [MS_EFFECT_ADDS] = "which adds memory",
    [MS_EFFECT_SAVES] = "which saves memory",
    [MS_EFFECT_EITHER] = "which may add or save memory",
};

ms_status ms_read_keys_add(ms_read_keys *keys, ms_arena *arena, ms_read_key key, ms_error *err)
{
    bool is_whole = key.file && key.key && key.value && key.meaning;
    ms_read_key *items = is_whole ? ms_arena_grow(arena, keys->items, keys->count, &keys->capacity,
                                                  sizeof *keys->items, FIRST_KEYS)
                                  : NULL;
    if (!items)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the keys of a file");
    keys->items = items;
    keys->items[keys->count++] = key;
    return MS_OK;
}

ms_read_key *ms_read_keys_find(const ms_read_keys *keys, const char *file, const char *key)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].key, key) == 0 && strcmp(keys->items[i].file, file) == 0)
            return &keys->items[i];
    return NULL;
}

bool ms_key_is_left_out(const ms_read_key *key)
{
    return key->reading == MS_KEY_NOT_PREDICTED || key->reading == MS_KEY_UNKNOWN;
}

bool ms_key_is_open(const ms_read_key *key)
{
    return ms_key_is_left_out(key) && !key->bound;
}

static bool has_effect(const ms_read_keys *keys, ms_key_effect effect)
{
    for (uint32_t i = 0; i < keys->count && !keys->compares; i++) {
        const ms_read_key *key = &keys->items[i];
        if (ms_key_is_open(key) && (key->effect == effect || key->effect == MS_EFFECT_EITHER))
            return true;
    }
    return false;
}

void ms_read_keys_bound(ms_read_keys *keys, const struct ms_model_config *model,
                        const struct ms_run_config *run)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->items[i].bound)
            keys->items[i].most_bytes = keys->items[i].bound(model, run);
}

uint64_t ms_read_keys_most_bytes(const ms_read_keys *keys, const struct ms_model_config *model,
                                 const struct ms_run_config *run)
{
    ms_size sum = {0};
    for (uint32_t i = 0; i < keys->count; i++)
        if (ms_key_is_left_out(&keys->items[i]) && keys->items[i].bound)
            sum = ms_size_add(sum, keys->items[i].bound(model, run));
    return ms_size_capped(sum);
}

/* Left out, and with another end. */
static bool has_other_end(const ms_read_key *key)
{
    return ms_key_is_open(key) && key->other_end;
}

ms_status ms_read_keys_other_end(const ms_read_keys *keys, ms_arena *arena,
                                 const char *const **settings, ms_error *err)
{
    size_t count = 0;
    *settings = NULL;
    for (uint32_t i = 0; i < keys->count; i++)
        for (size_t k = 0; has_other_end(&keys->items[i]) && keys->items[i].other_end[k]; k++)
            count++;
    if (!count)
        return MS_OK;
    const char **list = ms_arena_array(arena, const char *, count + 1);
    if (!list)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for what keys may come to");
    count = 0;
    for (uint32_t i = 0; i < keys->count; i++)
        for (size_t k = 0; has_other_end(&keys->items[i]) && keys->items[i].other_end[k]; k++)
            list[count++] = keys->items[i].other_end[k];
    list[count] = NULL;
    *settings = list;
    return MS_OK;
}

const char *ms_read_keys_with_other_end(const ms_read_keys *keys, ms_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; text && i < keys->count; i++)
        if (has_other_end(&keys->items[i]))
            text = ms_arena_printf(arena, "%s%s%s", text, *text ? " and " : "", keys->items[i].key);
    return text;
}

ms_fit_reason ms_reason_with_keys(ms_fit_reason reason, const ms_read_keys *keys)
{
    bool fits = ms_reason_fits(reason);
    return has_effect(keys, fits ? MS_EFFECT_ADDS : MS_EFFECT_SAVES) ? MS_FIT_NOT_PREDICTED
                                                                     : reason;
}
