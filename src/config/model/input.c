/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/model/input.h"

#include <string.h>
#include <sys/stat.h>

#include "text/nearest.h"
#include "json/embedded.h"
#include "json/read.h"

/* Embedded files that are no models. */
static const char *const tables[] = {"devices", "rates"};

static bool is_preset(const ms_embedded *file)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(file->name, tables[i]) == 0)
            return false;
    return true;
}

/* ---- presets ---- */

static const ms_embedded *find_preset(const char *name)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (ms_name_equal(ms_embedded_files[i].name, name) && is_preset(&ms_embedded_files[i]))
            return &ms_embedded_files[i];
    return NULL;
}

const char *ms_preset_name(size_t index)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (is_preset(&ms_embedded_files[i]) && index-- == 0)
            return ms_embedded_files[i].name;
    return NULL;
}

ms_status ms_fail_no_config(const char *name, ms_error *err)
{
    char hint[160];
    /* "meta-llama/Llama-3.1-8B": a hub's name of a model ends in the model's own. */
    const char *slash = strrchr(name, '/'), *preset;
    ms_nearest nearest = ms_nearest_same_or_begun(slash ? slash + 1 : name);
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++)
        ms_nearest_offer(&nearest, preset);
    return ms_fail(err, MS_ERR_IO, "'%.100s' is not a built-in model, file or directory%s", name,
                   *ms_nearest_hint(&nearest, hint, sizeof hint)
                       ? hint
                       : "; `memscope models` lists the built-in ones");
}

/* ---- where a config is ---- */

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

static ms_status read_path(ms_arena *arena, const char *path, ms_input *in, ms_error *err)
{
    char *title = ms_arena_strdup(arena, path);
    if (!title)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    in->path = path;
    in->name = cut_title(title);
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
        if (exists(file))
            return read_path(arena, file, in, err);
    }
    if (what == MS_WANTED_MODEL)
        return ms_fail(err, MS_ERR_IO, "'%.100s' contains no %s", path, names[1]);
    return ms_fail(err, MS_ERR_IO, "'%.100s' contains neither %s nor %s", path, names[0], names[1]);
}

ms_status ms_input_open(ms_arena *arena, const char *config, ms_wanted what, ms_input *in,
                        ms_error *err)
{
    const ms_embedded *preset = find_preset(config);
    if (preset) {
        in->source = (ms_json_source){preset->name, preset->text, preset->length};
        in->name = preset->name;
        return MS_OK;
    }
    if (strcmp(config, "-") == 0)
        return ms_json_read(ms_arena_inputs(arena), config, &in->source, &in->text, err);
    if (is_directory(config))
        return read_directory(arena, config, what, in, err);
    if (exists(config) || looks_like_path(config))
        return read_path(arena, config, in, err);
    return ms_fail_no_config(config, err);
}

const char *ms_path_beside(ms_arena *arena, const char *run_path, const char *path)
{
    const char *slash = run_path ? strrchr(run_path, '/') : NULL;
    if (!slash || path[0] == '/' || find_preset(path))
        return path;
    const char *beside = ms_arena_printf(arena, "%.*s/%s", (int)(slash - run_path), run_path, path);
    return !beside || exists(beside) || looks_like_path(path) ? beside : path;
}

bool ms_is_regular_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool ms_is_preset(const char *name)
{
    return find_preset(name) != NULL;
}
