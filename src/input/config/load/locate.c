/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/locate.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/input.h"
#include "input/config/load/load.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/model_read.h"
#include "base/text/nearest.h"

/* Looks into an object of a file. */
typedef bool (*finder)(ms_json_value object, const char *name, ms_json_value *found);

static void take_place(ms_json_value value, ms_error *place)
{
    *place = (ms_error){0};
    ms_json_error_set(place, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "here");
}

/* ---- finding ---- */

static bool find_field(ms_json_value object, const char *name, ms_json_value *found)
{
    for (bool more = ms_json_first(object, found); more; more = ms_json_next(found))
        if (ms_name_equal(ms_json_key(*found), name))
            return true;
    return false;
}

/* Keys of one table; `name` has the object before a point where the table has one. */
static bool find_in_table(ms_json_value root, const char *object, const ms_key *keys, size_t count,
                          const char *name, ms_json_value *found)
{
    size_t length = object ? strlen(object) : 0;
    if (object && (strncmp(name, object, length) != 0 || name[length] != '.' ||
                   !ms_json_find(root, object, &root)))
        return false;
    name += object ? length + 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0 && ms_model_key_find(root, &keys[i], found))
            return true;
    return false;
}

static bool find_in_family(ms_json_value root, const ms_family *family, const char *name,
                           ms_json_value *found)
{
    if (find_in_table(root, family->object, family->keys, family->key_count, name, found))
        return true;
    for (size_t i = 0; i < family->more_count; i++)
        if (find_in_table(root, family->more[i].object, family->more[i].keys,
                          family->more[i].key_count, name, found))
            return true;
    return false;
}

/* What is looked for. */
typedef struct question {
    ms_arena *arena;
    const ms_family_list *families;
    const char *name;
    bool is_key; /* of the model's config, not a field of the run */
} question;

static bool find_key(const question *q, ms_json_value root, const char *name, ms_json_value *found)
{
    const ms_family_list *families = q->families;
    ms_json_value type;
    ms_error err = {0};
    const char *model_type = NULL;
    if (ms_json_find(root, name, found)) /* model_type, architectures */
        return true;
    if (!ms_json_find(root, "model_type", &type) ||
        ms_json_get_string(type, &model_type, &err) != MS_OK)
        return false;
    const ms_family *family = ms_family_named(families, model_type);
    if (family && families->read)
        family = families->read(q->arena, family, &err);
    return family && find_in_family(root, family, name, found);
}

/* ---- files ---- */

static bool lacks_memory(ms_error *place)
{
    place->status = MS_ERR_NOMEM;
    return false;
}

static bool look_in_file(const question *q, const char *config, ms_wanted what, ms_error *place);

/* In a run file, the fields; the model's keys are in "model", or in the file that it names. */
static bool look_in_run(const question *q, ms_json_value run, const char *path, ms_error *place)
{
    ms_json_value found, model;
    const char *config = NULL;
    ms_error err = {0};
    if (!q->is_key) {
        if (!find_field(run, q->name, &found))
            return find_field(run, "training-args", &found) &&
                   ms_config_find_origin(q->arena, q->families, run, path, q->name, place);
        take_place(found, place);
        return true;
    }
    if (!ms_json_find(run, "model", &model))
        return false;
    if (ms_json_kind_of(model) == MS_JSON_OBJECT) {
        if (!find_key(q, model, q->name, &found))
            return false;
        take_place(found, place);
        return true;
    }
    if (ms_json_get_string(model, &config, &err) != MS_OK || strcmp(config, "-") == 0)
        return false;
    config = ms_path_beside(q->arena, path, config);
    if (!config)
        return lacks_memory(place);
    if (look_in_file(q, config, MS_WANTED_MODEL, place))
        return true;
    if (place->status == MS_ERR_NOMEM)
        return false;
    take_place(model, place); /* built in, or without the key: what names the model */
    return true;
}

static bool look_in_root(const question *q, ms_json_value root, const char *path, ms_wanted what,
                         ms_error *place)
{
    ms_json_value found;
    if (what == MS_WANTED_RUN && ms_json_find(root, "model", &found))
        return look_in_run(q, root, path, place);
    if (!q->is_key || !find_key(q, root, q->name, &found))
        return false;
    take_place(found, place);
    return true;
}

static bool look_in_file(const question *q, const char *config, ms_wanted what, ms_error *place)
{
    ms_input in = {0};
    ms_json *document = NULL;
    ms_error err = {0};
    bool found = !ms_is_built_in(config) && strcmp(config, "-") != 0 &&
                 ms_input_open(q->arena, config, what, &in, &err) == MS_OK &&
                 ms_json_parse(&in.source, &document, &err) == MS_OK &&
                 look_in_root(q, ms_json_root(document), in.path, what, place);
    ms_json_free(document);
    free(in.text);
    return err.status == MS_ERR_NOMEM ? lacks_memory(place) : found;
}

static bool look(ms_arena *arena, const ms_run_files *files, const char *name, bool is_key,
                 ms_error *place)
{
    const question q = {arena, files->families, name, is_key};
    *place = (ms_error){0};
    return files->config ? look_in_file(&q, files->config, MS_WANTED_RUN, place)
                         : look_in_run(&q, files->run, files->path, place);
}

bool ms_run_locate(ms_arena *arena, const ms_run_files *files, const char *field, ms_error *place)
{
    return look(arena, files, field, false, place);
}

bool ms_model_locate(ms_arena *arena, const ms_run_files *files, const char *key, ms_error *place)
{
    return look(arena, files, key, true, place);
}
