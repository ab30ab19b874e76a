/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/keys/key_walk.h"

#include <string.h>
#include <strings.h>

#include "input/config/trainers/keys/key_table.h"
#include "input/config/trainers/training_sharding.h"

enum { MOST_MEANT = 64 }; /* keys for which a likely meaning is looked for */

typedef struct walk {
    const ms_training_reading *r;
    ms_training_format format;
    ms_key_rows table;
    ms_read_keys before; /* what was read when the walk began */
    uint32_t unknown;
} walk;

/* ---- one key ---- */

/* In one line, and cut where it is long. */
static const char *text_of(ms_arena *arena, ms_json_value value)
{
    enum { MOST = 60 };
    size_t bytes;
    const char *text = ms_training_value_text(value);
    if (ms_json_kind_of(value) == MS_JSON_OBJECT)
        text = "{...}";
    if (*text)
        bytes = strlen(text);
    else
        text = ms_json_source_text(value, &bytes);
    bool is_cut = bytes > (size_t)MOST;
    if (is_cut)
        for (bytes = MOST; bytes > 0 && ((unsigned char)text[bytes] & 0xC0) == 0x80;)
            bytes--; /* not within a character of UTF-8 */
    char *copy = ms_arena_printf(arena, "%.*s%s", (int)bytes, text, is_cut ? "..." : "");
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return copy;
}

ms_status ms_training_add_read_key(const ms_training_reading *r, ms_json_value value,
                                   const char *path, ms_read_key key)
{
    ms_error at = {0};
    ms_json_error_set(&at, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    key.file = ms_arena_strdup(r->arena, ms_json_file_name(value));
    key.line = at.line;
    key.key = ms_arena_strdup(r->arena, path ? path : at.pointer + 1);
    if (!key.value)
        key.value = text_of(r->arena, value);
    return ms_read_keys_add(r->keys, r->arena, key, r->err);
}

ms_status ms_training_add_key(const ms_training_reading *r, ms_json_value value, const char *path,
                              ms_key_reading reading, ms_key_effect effect, const char *meaning)
{
    return ms_training_add_read_key(
        r, value, path, (ms_read_key){.reading = reading, .effect = effect, .meaning = meaning});
}

/* The option that a value set; "" where it decided with others. */
static const char *option_of(const ms_training_reading *r, ms_json_value value)
{
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++)
        if (r->origins->in_file[i] && r->origins->values[i].tree == value.tree)
            return ms_run_field_name(i);
    return "";
}

/* ---- which row ---- */

/* The best match of a path: an exact row, else the longest that covers it; whether there are rows
 * of something below. */
static const ms_key_row *find_row(const ms_key_rows *table, const char *path, ms_key_match *match,
                                  bool *has_below)
{
    const ms_key_row *best = NULL;
    *match = MS_KEY_APART;
    for (uint32_t i = 0; i < table->count; i++) {
        const ms_key_row *row = &table->rows[i];
        ms_key_match this = ms_key_row_match(row->key, path);
        *has_below = *has_below || this == MS_KEY_BELOW;
        if (this < MS_KEY_ABOVE || this < *match)
            continue;
        if (this > *match || strlen(row->key) > strlen(best->key)) {
            best = row;
            *match = this;
        }
    }
    return best;
}

static ms_status add_sharding(const walk *w, ms_json_value value, const char *path)
{
    bool is_ignored = w->r->draft->ignore_sharding;
    return ms_training_add_key(w->r, value, path, is_ignored ? MS_KEY_ASSUMED : MS_KEY_USED,
                               MS_EFFECT_NONE,
                               is_ignored ? "ignored with all sharding" : "parallel");
}

static ms_status add_unknown(walk *w, ms_json_value value, const char *path)
{
    const char *meant = NULL;
    if (w->unknown++ < MOST_MEANT)
        meant = ms_training_key_meant_by(ms_json_key(value), w->format);
    const char *meaning =
        meant ? ms_arena_printf(w->r->arena, "an unknown key; did you mean '%s'?", meant)
              : "an unknown key";
    bool says_nothing = ms_training_says_nothing(value);
    return ms_training_add_key(w->r, value, path, says_nothing ? MS_KEY_DEFAULT : MS_KEY_UNKNOWN,
                               says_nothing ? MS_EFFECT_NONE : MS_EFFECT_EITHER, meaning);
}

static ms_status add_row(const walk *w, ms_json_value value, const char *path,
                         const ms_key_row *row)
{
    if (row->is_used)
        return ms_training_add_key(w->r, value, path, MS_KEY_USED, MS_EFFECT_NONE, row->meaning);
    if (row->effect == MS_EFFECT_NONE)
        return ms_training_add_key(w->r, value, path, MS_KEY_HARMLESS, MS_EFFECT_NONE,
                                   row->meaning);
    if (ms_key_row_allows(row, value))
        return ms_training_add_key(w->r, value, path, MS_KEY_DEFAULT, MS_EFFECT_NONE, row->meaning);
    return ms_training_add_key(w->r, value, path, MS_KEY_NOT_PREDICTED, row->effect, row->meaning);
}

/* What shards but this run is without, of which accelerate and Trainer do not look at the settings:
 * as "DeepSpeed". NULL: the key is of none. */
static const char *idle_library(const walk *w, const char *path)
{
    static const struct {
        const char *settings, *type, *own, *name; /* own: the trainer's own key of it */
    } libraries[] = {
        {"deepspeed_config", "DEEPSPEED", "deepspeed", "DeepSpeed, which this run does not use"},
        {"fsdp_config", "FSDP", "fsdp", "FSDP, which this run does not use"},
        {"megatron_lm_config", "MEGATRON_LM", NULL, "Megatron-LM, which this run does not use"},
    };
    ms_json_value value;
    if (w->format != MS_TRAINING_HF)
        return NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const size_t bytes = strlen(libraries[i].settings);
        if (strncmp(path, libraries[i].settings, bytes) != 0 || (path[bytes] && path[bytes] != '/'))
            continue;
        const bool is_launched = ms_json_find(w->r->root, "distributed_type", &value) &&
                                 strcasecmp(ms_training_value_text(value), libraries[i].type) == 0;
        const bool is_own = libraries[i].own &&
                            ms_json_find(w->r->root, libraries[i].own, &value) &&
                            !ms_training_says_nothing(value);
        return is_launched || is_own ? NULL : libraries[i].name;
    }
    return NULL;
}

/* ---- all keys ---- */

static ms_status walk_object(walk *w, ms_json_value object, const char *path);

/* An object that is not empty, or a list that has such. */
static bool has_objects(ms_json_value value)
{
    ms_json_value item;
    if (ms_json_kind_of(value) == MS_JSON_OBJECT)
        return ms_json_length(value) > 0;
    bool more = ms_json_kind_of(value) == MS_JSON_ARRAY && ms_json_first(value, &item);
    for (; more; more = ms_json_next(&item))
        if (ms_json_kind_of(item) == MS_JSON_OBJECT && ms_json_length(item) > 0)
            return true;
    return false;
}

/* The items of a list have its path. */
static ms_status walk_inside(walk *w, ms_json_value value, const char *path)
{
    ms_json_value item;
    ms_status status = MS_OK;
    if (ms_json_kind_of(value) == MS_JSON_OBJECT)
        return walk_object(w, value, path);
    for (bool more = ms_json_first(value, &item); more && status == MS_OK;
         more = ms_json_next(&item))
        if (ms_json_kind_of(item) == MS_JSON_OBJECT)
            status = walk_object(w, item, path);
    return status;
}

static ms_status walk_key(walk *w, ms_json_value value, const char *path)
{
    ms_key_match match;
    bool has_below = false;
    const ms_key_row *row = find_row(&w->table, path, &match, &has_below);
    ms_training_key_use use = ms_training_key_use_of(path, w->format);
    if (ms_read_keys_find(&w->before, ms_json_file_name(value), path))
        return MS_OK;
    const char *idle = idle_library(w, path);
    if (has_objects(value) && (has_below || use == MS_KEY_USE_INSIDE))
        return walk_inside(w, value, path);
    if (idle)
        return ms_training_add_key(w->r, value, path, MS_KEY_DEFAULT, MS_EFFECT_NONE, idle);
    bool is_watched = row && match == MS_KEY_EXACT && row->effect != MS_EFFECT_NONE &&
                      !ms_key_row_allows(row, value);
    if (use != MS_KEY_USE_NONE && !is_watched)
        return ms_training_add_key(w->r, value, path, MS_KEY_USED, MS_EFFECT_NONE,
                                   option_of(w->r, value));
    if (row && row->is_used && w->r->draft->ignore_sharding)
        return add_sharding(w, value, path);
    bool is_of_ranks = strncmp(path, "ddp_", sizeof "ddp_" - 1) == 0;
    if (row && is_of_ranks && w->r->ranks == MS_PARALLEL_NONE &&
        w->r->draft->run.parallel.layout.kind != MS_PARALLEL_DDP)
        return ms_training_add_key(w->r, value, path, MS_KEY_DEFAULT, MS_EFFECT_NONE,
                                   "DistributedDataParallel, which this run does not use");
    if (row)
        return add_row(w, value, path, row);
    return ms_training_key_is_of_sharding(path, w->format) ? add_sharding(w, value, path)
                                                           : add_unknown(w, value, path);
}

static ms_status walk_object(walk *w, ms_json_value object, const char *path)
{
    ms_json_value value;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(object, &value); more && status == MS_OK;
         more = ms_json_next(&value)) {
        const char *inner =
            ms_arena_printf(w->r->arena, "%s%s%.200s", path, *path ? "/" : "", ms_json_key(value));
        if (!inner)
            return ms_fail(w->r->err, MS_ERR_NOMEM, "out of memory for the keys of a file");
        status = walk_key(w, value, inner);
    }
    return status;
}

ms_status ms_training_walk_keys(const ms_training_reading *r, ms_training_format format,
                                ms_json_value root, const char *path)
{
    walk w = {.r = r, .format = format, .before = *r->keys};
    ms_status status = ms_key_table_read(r->arena, format, r->tables, r->err);
    w.table = r->tables[format];
    return status == MS_OK ? walk_object(&w, root, path) : status;
}

/* ---- what the user says ---- */

/* Whether any key of that name is there. */
static bool assume(ms_read_keys *keys, const char *name, size_t bytes)
{
    bool is_there = false;
    for (uint32_t i = 0; i < keys->count; i++) {
        ms_read_key *key = &keys->items[i];
        if (strncmp(key->key, name, bytes) != 0 || key->key[bytes])
            continue;
        is_there = true;
        if (ms_key_is_left_out(key))
            key->reading = MS_KEY_ASSUMED;
    }
    return is_there;
}

ms_status ms_read_keys_assume(ms_read_keys *keys, const char *list, ms_error *err)
{
    static const char word[] = "harmless";
    while (list && *list && strcmp(list, "none") != 0) {
        size_t bytes = strcspn(list, ","), name = strcspn(list, "=,");
        bool is_said = bytes == name + sizeof word && list[name] == '=' &&
                       strncmp(list + name + 1, word, sizeof word - 1) == 0;
        if (!is_said || name == 0)
            return ms_fail(err, MS_ERR_USAGE, "assume: '%.*s': expected KEY=harmless", (int)bytes,
                           list);
        if (!assume(keys, list, name))
            return ms_fail(err, MS_ERR_USAGE, "assume: no file of this run has a key '%.*s'",
                           (int)name, list);
        list += bytes + (list[bytes] == ',');
    }
    return MS_OK;
}
