/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "input/config/names/hub.h"
#include "input/config/names/model_name.h"
#include "input/config/names/no_config.h"
#include "input/config/names/preset.h"
#include "base/text/nearest.h"
#include "base/json/read.h"

/* ---- presets ---- */

/* The only preset whose name has the same parts: "qwen3:8b". */
static const ms_embedded *find_by_parts(const char *name)
{
    ms_model_name wanted, known;
    const char *preset;
    if (strchr(name, '/') || !ms_model_name_read(name, strlen(name), &wanted) || wanted.packing)
        return NULL;
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++)
        if (ms_model_name_read(preset, strlen(preset), &known) &&
            ms_model_names_compare(&wanted, &known) == MS_NAMES_SAME)
            return ms_preset_find(preset);
    return NULL;
}

/* The preset of a name of the Hub, or of one with the same parts. A model of the Hub has a title.
 */
static const ms_embedded *find_named(const char *name, ms_hub_model *model)
{
    *model = (ms_hub_model){.title = NULL};
    if (ms_hub_find(name, model))
        return ms_preset_find(model->preset);
    const ms_embedded *preset = find_by_parts(name);
    if (!preset && ms_hub_find_by_parts(name, model))
        preset = ms_preset_find(model->preset);
    return preset;
}

/* What is at such a path comes first. */
static const ms_embedded *find_hub(const char *name, ms_hub_model *model)
{
    struct stat info;
    if (stat(name, &info) == 0)
        return NULL;
    return find_named(name, model);
}

/* The preset of the name behind an owner who may have published it again: not one whose models are
 * known, as what has another name there is another model. */
static const ms_embedded *find_namesake(const char *id, ms_hub_model *model)
{
    struct stat info;
    *model = (ms_hub_model){.title = NULL};
    if (!ms_hub_is_id(id) || ms_hub_is_author(id) || ms_hub_is_converted(id) ||
        stat(id, &info) == 0)
        return NULL;
    const char *name = strchr(id, '/') + 1;
    const ms_embedded *preset = ms_preset_find(name);
    return preset ? preset : find_named(name, model);
}

/* The text of a built-in config with another value of a key, which it need not have; NULL: out of
 * memory. */
static const char *with_value(ms_arena *arena, const char *text, const char *key, const char *value)
{
    const char *begin = text ? strstr(text, key) : NULL;
    if (!text || !value)
        return NULL;
    if (!begin)
        return ms_arena_printf(arena, "{%s: %s,%s", key, value, strchr(text, '{') + 1);
    begin += strlen(key);
    begin += strspn(begin, ": ");
    return ms_arena_printf(arena, "%.*s%s%s", (int)(begin - text), text, value,
                           begin + strcspn(begin, ",\n"));
}

/* The built-in config with what the model has otherwise; NULL: out of memory. */
static const char *text_of_hub(ms_arena *arena, const char *text, const ms_hub_model *model)
{
    if (model->positions)
        text = with_value(arena, text, "\"max_position_embeddings\"",
                          ms_arena_printf(arena, "%" PRIu32, model->positions));
    return model->stored ? with_value(arena, text, "\"torch_dtype\"",
                                      ms_arena_printf(arena, "\"%s\"", model->stored))
                         : text;
}

/* A model of the Hub is named as there, unless its name is that of the built-in one. */
static ms_status open_hub(ms_arena *arena, const ms_embedded *preset, const ms_hub_model *model,
                          ms_input *in, ms_error *err)
{
    const char *text = text_of_hub(arena, preset->text, model);
    const char *title = model->title
                            ? ms_arena_printf(arena, "%.*s", (int)model->title_bytes, model->title)
                            : preset->name;
    if (!text || !title)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a config");
    in->source = (ms_json_source){preset->name, text, strlen(text)};
    in->name = ms_name_equal(title, preset->name) ? preset->name : title;
    return MS_OK;
}

static ms_status open_namesake(ms_arena *arena, const char *id, const ms_embedded *preset,
                               const ms_hub_model *model, ms_input *in, ms_error *err)
{
    ms_status status = open_hub(arena, preset, model, in, err);
    if (status != MS_OK)
        return status;
    in->note = ms_arena_printf(
        arena, "'%.100s' was taken for %s because of its name, and its own config was not read: %s",
        id, in->name, "give that file to be sure");
    return in->note ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a note");
}

/* ---- where a config is ---- */

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool ms_is_there(const char *path)
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

static ms_status read_path(ms_arena *arena, const char *path, ms_input *in, ms_error *err)
{
    char *title = ms_arena_strdup(arena, path);
    if (!title)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    in->path = path;
    const char *of_hub = ms_hub_title_of_path(arena, path);
    in->name = of_hub ? of_hub : cut_title(title);
    return ms_json_read(ms_arena_inputs(arena), path, &in->source, &in->text, err);
}

static ms_status read_directory(ms_arena *arena, const char *path, ms_wanted what, ms_input *in,
                                ms_error *err)
{
    static const char *const names[] = {"memscope.run.json", "config.json"};
    size_t length = strlen(path);
    for (size_t i = what == MS_WANTED_MODEL; i < sizeof names / sizeof names[0]; i++) {
        const char *slash = length > 0 && path[length - 1] == '/' ? "" : "/";
        const char *file = ms_arena_printf(arena, "%s%s%s", path, slash, names[i]);
        if (!file)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
        if (ms_is_there(file))
            return read_path(arena, file, in, err);
    }
    if (what == MS_WANTED_MODEL)
        return ms_fail(err, MS_ERR_IO, "'%.100s' contains no %s", path, names[1]);
    return ms_fail(err, MS_ERR_IO, "'%.100s' contains neither %s nor %s", path, names[0], names[1]);
}

ms_status ms_input_open(ms_arena *arena, const char *config, ms_wanted what, ms_input *in,
                        ms_error *err)
{
    ms_hub_model model;
    const char *id = ms_hub_id_of_address(arena, config);
    config = id ? id : config;
    const ms_embedded *preset = ms_preset_find(config);
    if (preset) {
        in->source = (ms_json_source){preset->name, preset->text, preset->length};
        in->name = preset->name;
        return MS_OK;
    }
    if (strcmp(config, "-") == 0)
        return ms_json_read(ms_arena_inputs(arena), config, &in->source, &in->text, err);
    if (is_directory(config))
        return read_directory(arena, config, what, in, err);
    if (!id && (ms_is_there(config) || looks_like_path(config)))
        return read_path(arena, config, in, err);
    preset = find_hub(config, &model);
    if (preset)
        return open_hub(arena, preset, &model, in, err);
    preset = find_namesake(config, &model);
    return preset ? open_namesake(arena, config, preset, &model, in, err)
                  : ms_fail_no_config(arena, config, err);
}

const char *ms_path_beside(ms_arena *arena, const char *run_path, const char *path)
{
    const char *slash = run_path ? strrchr(run_path, '/') : NULL;
    if (!slash || path[0] == '/' || ms_preset_find(path))
        return path;
    const char *beside = ms_arena_printf(arena, "%.*s/%s", (int)(slash - run_path), run_path, path);
    return !beside || ms_is_there(beside) || looks_like_path(path) ? beside : path;
}

bool ms_is_regular_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool ms_is_preset(const char *name)
{
    ms_hub_model model;
    return ms_preset_find(name) || find_hub(name, &model);
}

bool ms_is_built_in(const char *name)
{
    ms_hub_model model;
    return ms_is_preset(name) || find_namesake(name, &model);
}
