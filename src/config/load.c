/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/model_read.h"
#include "config/nearest.h"
#include "config/resolve.h"
#include "config/run_file.h"
#include "json/embedded.h"
#include "json/read.h"
#include "json/value.h"

static const char devices_name[] = "devices"; /* the one embedded file that is no model */

static ms_family_list families(void)
{
    ms_family_list list = {0};
    list.items = ms_families(&list.count);
    return list;
}

/* ---- presets ---- */

static const ms_embedded *find_preset(const char *name)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (ms_name_equal(ms_embedded_files[i].name, name) &&
            strcmp(ms_embedded_files[i].name, devices_name) != 0)
            return &ms_embedded_files[i];
    return NULL;
}

const char *ms_preset_name(size_t index)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (strcmp(ms_embedded_files[i].name, devices_name) != 0 && index-- == 0)
            return ms_embedded_files[i].name;
    return NULL;
}

static ms_status fail_no_config(const char *name, ms_error *err)
{
    char hint[96];
    /* "meta-llama/Llama-3.1-8B": a hub's name of a model ends in the model's own. */
    const char *slash = strrchr(name, '/'), *preset;
    ms_nearest nearest = ms_nearest_to(slash ? slash + 1 : name);
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++)
        ms_nearest_offer(&nearest, preset);
    return ms_fail(err, MS_ERR_IO, "'%.100s' is no built-in model, file or directory%s", name,
                   nearest.name ? ms_nearest_hint(&nearest, hint, sizeof hint)
                                : "; `memscope models` lists the built-in ones");
}

/* ---- where a config is ---- */

/* What "config", or "model" in a run file, turned out to name. */
typedef struct input {
    ms_json_source source;
    char *text;       /* to free; NULL for presets */
    const char *path; /* of the file; NULL for presets and standard input */
    const char *name; /* for titles; NULL: the model type will do */
} input;

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Cuts a path down to the part that names the model: "x/llama/config.json" and "x/llama/" give
 * "llama"; NULL when nothing does. */
static const char *cut_title(char *text)
{
    for (int tries = 0; tries < 2; tries++) {
        size_t length = strlen(text);
        while (length > 0 && text[length - 1] == '/')
            text[--length] = '\0';
        char *slash = strrchr(text, '/'), *base = slash ? slash + 1 : text;
        char *dot = strrchr(base, '.');
        if (dot && strcmp(dot, ".json") == 0)
            *dot = '\0';
        if (strcmp(base, "config") != 0 && strcmp(base, "memscope.run") != 0)
            return *base && strcmp(base, ".") != 0 && strcmp(base, "..") != 0 ? base : NULL;
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    return NULL;
}

static bool looks_like_path(const char *text)
{
    return strstr(text, ".json") || text[0] == '/' || text[0] == '.';
}

static ms_status read_path(ms_arena *arena, const char *path, input *in, ms_error *err)
{
    char *title = ms_arena_strdup(arena, path);
    if (!title)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    in->path = path;
    in->name = cut_title(title);
    return ms_json_read(path, &in->source, &in->text, err);
}

/* What a directory is asked for: a run, which may be there beside the model, or the model alone. */
typedef enum wanted { WANTED_RUN, WANTED_MODEL } wanted;

static ms_status read_directory(ms_arena *arena, const char *path, wanted what, input *in,
                                ms_error *err)
{
    static const char *const names[] = {"memscope.run.json", "config.json"};
    size_t length = strlen(path);
    for (size_t i = what == WANTED_MODEL; i < sizeof names / sizeof names[0]; i++) {
        const char *slash = length > 0 && path[length - 1] == '/' ? "" : "/";
        const char *file = ms_arena_printf(arena, "%s%s%s", path, slash, names[i]);
        if (!file)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
        if (exists(file))
            return read_path(arena, file, in, err);
    }
    if (what == WANTED_MODEL)
        return ms_fail(err, MS_ERR_IO, "'%.100s' holds no %s", path, names[1]);
    return ms_fail(err, MS_ERR_IO, "'%.100s' holds neither %s nor %s", path, names[0], names[1]);
}

static ms_status open_input(ms_arena *arena, const char *config, wanted what, input *in,
                            ms_error *err)
{
    const ms_embedded *preset = find_preset(config);
    if (preset) {
        in->source = (ms_json_source){preset->name, preset->text, preset->length};
        in->name = preset->name;
        return MS_OK;
    }
    if (strcmp(config, "-") == 0)
        return ms_json_read(config, &in->source, &in->text, err);
    if (is_directory(config))
        return read_directory(arena, config, what, in, err);
    if (exists(config) || looks_like_path(config))
        return read_path(arena, config, in, err);
    return fail_no_config(config, err);
}

/* ---- models ---- */

static ms_status read_model(ms_arena *arena, ms_json_value root, const char *name,
                            ms_model_config *model, ms_notes *notes, ms_error *err)
{
    ms_status status = ms_model_config_read(arena, root, families(), model, notes, err);
    if (status == MS_OK)
        model->name = name ? name : model->model_type;
    return status;
}

/* A config of its own, named by a preset name or a path. */
static ms_status load_model(ms_arena *arena, const char *config, ms_model_config *model,
                            ms_notes *notes, ms_error *err)
{
    input in = {0};
    ms_json *document = NULL;
    ms_status status = open_input(arena, config, WANTED_MODEL, &in, err);
    if (status == MS_OK)
        status = ms_json_parse(&in.source, &document, err);
    if (status == MS_OK)
        status = read_model(arena, ms_json_root(document), in.name, model, notes, err);
    ms_json_free(document);
    free(in.text);
    return status;
}

ms_status ms_preset_load(ms_arena *arena, const char *name, ms_model_config *model, ms_error *err)
{
    return find_preset(name) ? load_model(arena, name, model, NULL, err)
                             : fail_no_config(name, err);
}

/* A path in a run file starts at the run file; what is neither there nor looks like a path is taken
 * for a misspelt preset. */
static const char *path_beside(ms_arena *arena, const char *run_path, const char *path)
{
    const char *slash = run_path ? strrchr(run_path, '/') : NULL;
    if (!slash || path[0] == '/' || find_preset(path))
        return path;
    const char *beside = ms_arena_printf(arena, "%.*s/%s", (int)(slash - run_path), run_path, path);
    return !beside || exists(beside) || looks_like_path(path) ? beside : path;
}

/* "model" of a run file: a config, or the name of one. */
static ms_status read_run_model(ms_arena *arena, const input *in, ms_json_value value,
                                ms_model_config *model, ms_notes *notes, ms_error *err)
{
    const char *text = NULL;
    if (ms_json_kind_of(value) == MS_JSON_OBJECT)
        return read_model(arena, value, in->name, model, notes, err);
    if (ms_json_kind_of(value) != MS_JSON_STRING)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a config, the name of a built-in model, or a path");
    (void)ms_json_get_string(value, &text, err);
    const char *config = path_beside(arena, in->path, text);
    if (!config)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    if (strcmp(config, "-") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a run file cannot take its model from standard input");
    ms_error found = {0};
    ms_status status = load_model(arena, config, model, notes, &found);
    if (status == MS_OK || (found.file[0] && found.line > 0)) {
        if (status != MS_OK && err && err->status == MS_OK)
            *err = found;
        return status;
    }
    /* Nothing to point at in the other file: the name here is what is wrong. */
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, status, "%.100s%s%s",
                        found.file[0] ? text : "", found.file[0] ? ": " : "", found.text);
}

/* ---- runs ---- */

typedef struct loading {
    ms_arena *arena;
    ms_run_draft draft;
    ms_run_origins origins;
    ms_model_config *model;
    ms_run_config *run;
    ms_adapter *adapter;
    ms_notes *notes;
    ms_error *err;
} loading;

/* Flags come after the file, and win. */
static ms_status apply_settings(loading *l, const ms_run_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ms_status status =
            ms_run_field_set(&l->draft, l->arena, settings[i].field, settings[i].value, l->err);
        if (status != MS_OK)
            return status;
        l->origins.in_file[ms_run_field_find(settings[i].field)] = false;
    }
    return MS_OK;
}

static bool in_file(const loading *l, const char *field)
{
    return l->origins.in_file[ms_run_field_find(field)];
}

/* Reads the file that a field names, beside the run file if that names it, and takes what is in it.
 */
static ms_status read_beside(loading *l, const char *field, const char *path, const char *run_path,
                             ms_status (*take)(loading *l, ms_json_value root))
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    if (in_file(l, field))
        path = path_beside(l->arena, run_path, path);
    if (!path)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a path");
    ms_status status = ms_json_read(path, &source, &text, l->err);
    if (status == MS_OK)
        status = ms_json_parse(&source, &document, l->err);
    if (status == MS_OK)
        status = take(l, ms_json_root(document));
    ms_json_free(document);
    free(text);
    return status;
}

/* ---- plans ---- */

/* A plan and what says the same do not go together; of a flag and the run file the flag wins. */
static ms_status settle_plan(loading *l, const char *other)
{
    if (!ms_run_field_said(&l->draft, "plan") || !ms_run_field_said(&l->draft, other))
        return MS_OK;
    if (in_file(l, "plan") == in_file(l, other))
        return ms_fail(l->err, MS_ERR_USAGE,
                       "a plan says what becomes of each layer, and so does "
                       "%s: give one of them",
                       other);
    ms_run_field_unsay(&l->draft, in_file(l, "plan") ? "plan" : other);
    return MS_OK;
}

static ms_status take_field(loading *l, ms_json_value value, const char *field)
{
    const char *text = NULL;
    ms_error reason = {0};
    ms_status status = ms_json_get_string(value, &text, l->err);
    if (status != MS_OK || !*text)
        return status;
    status = ms_run_field_set(&l->draft, l->arena, field, text, &reason);
    if (status != MS_OK)
        return ms_json_fail(l->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s",
                            reason.text + strlen(field) + strlen(": ")); /* the place names it */
    l->origins.in_file[ms_run_field_find(field)] = false;
    return MS_OK;
}

/* Where the optimizer or the parameters are was said by the plan, unless it was said beside it. */
static ms_status take_place(loading *l, ms_json_value root, const char *field, const char *key)
{
    ms_json_value value;
    bool said = ms_run_field_said(&l->draft, field) && (!in_file(l, field) || in_file(l, "plan"));
    if (said || !ms_json_find(root, key, &value))
        return MS_OK;
    return take_field(l, value, field);
}

static ms_status take_plan(loading *l, ms_json_value root)
{
    ms_json_value value;
    if (!ms_json_find(root, "treat", &value))
        return ms_json_fail(
            l->err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
            "no \"treat\" in it: expected what `memscope plan -o plan.json` writes");
    ms_status status = take_field(l, value, "treat");
    if (status == MS_OK)
        status = take_place(l, root, "optimizer-device", "optimizer_device");
    if (status == MS_OK)
        status = take_place(l, root, "parameter-device", "parameter_device");
    return status;
}

/* The treatments of a plan stand for those that could have been given. */
static ms_status apply_plan(loading *l, const char *run_path)
{
    ms_status status = settle_plan(l, "treat");
    if (status == MS_OK)
        status = settle_plan(l, "checkpointing");
    if (status != MS_OK || !ms_run_field_said(&l->draft, "plan"))
        return status;
    return read_beside(l, "plan", l->draft.plan, run_path, take_plan);
}

/* ---- adapters ---- */

static ms_status take_adapter(loading *l, ms_json_value root)
{
    ms_adapter *adapter = ms_arena_array(l->arena, ms_adapter, 1);
    l->run->adapter = l->adapter = adapter;
    if (!adapter)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the adapter");
    return ms_adapter_read(l->arena, root, adapter, l->err);
}

static ms_status parse_adapter(loading *l)
{
    ms_adapter *adapter = ms_arena_array(l->arena, ms_adapter, 1);
    l->run->adapter = l->adapter = adapter;
    if (!adapter)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the adapter");
    return ms_adapter_parse(l->arena, l->draft.lora, adapter, l->err);
}

static ms_status apply_adapter(loading *l, const char *run_path)
{
    bool has_file = ms_run_field_said(&l->draft, "adapter");
    bool has_text = ms_run_field_said(&l->draft, "lora");
    bool has_dtype = ms_run_field_said(&l->draft, "adapter-dtype");
    if (has_file && has_text)
        return ms_fail(l->err, MS_ERR_USAGE, "adapter and lora say the same: give one of them");
    if ((has_file || has_text) && l->run->parameter_device == MS_PARAMETERS_ON_HOST)
        return ms_fail(l->err, MS_ERR_USAGE,
                       "parameter-device host is not modelled with an adapter: leave out one");
    if (!has_file && !has_text)
        return has_dtype ? ms_fail(l->err, MS_ERR_USAGE,
                                   "adapter-dtype without an adapter: give adapter or lora too")
                         : MS_OK;
    ms_status status = has_text
                           ? parse_adapter(l)
                           : read_beside(l, "adapter", l->draft.adapter, run_path, take_adapter);
    if (status != MS_OK)
        return status;
    ms_adapter *adapter = l->adapter;
    adapter->dtype = l->run->dtype == MS_DTYPE_BF16 || l->run->dtype == MS_DTYPE_F16
                         ? MS_DTYPE_F32 /* get_peft_model(autocast_adapter_dtype=True) */
                         : l->run->dtype;
    if (has_dtype)
        adapter->dtype = (ms_dtype)l->draft.adapter_dtype;
    return MS_OK;
}

/* ---- all of it ---- */

static ms_status load_document(loading *l, const input *in, ms_json_value root,
                               const ms_run_setting *settings, size_t count)
{
    ms_json_value member;
    ms_status status;
    if (ms_json_find(root, "model", &member)) {
        status = ms_run_file_read(l->arena, root, &l->draft, &l->origins, l->err);
        if (status == MS_OK)
            status = read_run_model(l->arena, in, member, l->model, l->notes, l->err);
    } else {
        status = read_model(l->arena, root, in->name, l->model, l->notes, l->err);
    }
    if (status == MS_OK)
        status = apply_settings(l, settings, count);
    if (status == MS_OK)
        status = apply_plan(l, in->path);
    if (status == MS_OK)
        status =
            ms_run_resolve(l->arena, &l->draft, &l->origins, l->model, l->run, l->notes, l->err);
    return status == MS_OK ? apply_adapter(l, in->path) : status;
}

static ms_status load_config(loading *l, const char *config, const ms_run_setting *settings,
                             size_t count)
{
    input in = {0};
    ms_json *document = NULL;
    ms_status status = open_input(l->arena, config, WANTED_RUN, &in, l->err);
    if (status == MS_OK)
        status = ms_json_parse(&in.source, &document, l->err);
    if (status == MS_OK)
        status = load_document(l, &in, ms_json_root(document), settings, count);
    ms_json_free(document);
    free(in.text);
    return status;
}

ms_status ms_run_load(ms_arena *arena, const ms_run_setting *settings, size_t count,
                      ms_model_config *model, ms_run_config *run, ms_notes *notes, ms_error *err)
{
    loading l = {.arena = arena, .model = model, .run = run, .notes = notes, .err = err};
    const char *config = NULL;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, "config"))
            config = settings[i].value;
    if (!config || !*config)
        return ms_fail(err, MS_ERR_USAGE,
                       "no config given; name a built-in model, a config.json or a directory");
    return load_config(&l, config, settings, count);
}
