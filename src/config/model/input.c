/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/model/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "config/model/hub.h"
#include "config/model/model_name.h"
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
            return find_preset(preset);
    return NULL;
}

/* The preset of a name of the Hub, or of one with the same parts; what is at such a path comes
 * first. A model of the Hub has a title. */
static const ms_embedded *find_hub(const char *name, ms_hub_model *model)
{
    struct stat info;
    *model = (ms_hub_model){.title = NULL};
    if (stat(name, &info) == 0)
        return NULL;
    if (ms_hub_find(name, model))
        return find_preset(model->preset);
    const ms_embedded *preset = find_by_parts(name);
    if (!preset && ms_hub_find_by_parts(name, model))
        preset = find_preset(model->preset);
    return preset;
}

/* ---- names that are not known ---- */

/* Weights that are packed: the same sizes, and how to say the rest. */
static bool hint_at_packed(const ms_model_name *wanted, char *hint, size_t size)
{
    ms_model_name known;
    const char *preset;
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++) {
        if (!ms_model_name_read(preset, strlen(preset), &known) ||
            ms_model_names_compare(wanted, &known) < MS_NAMES_OF_SIZE)
            continue;
        snprintf(hint, size,
                 *wanted->packing ? "; its weights are packed: did you mean '%s' with %s?"
                                  : "; its weights are packed: did you mean '%s', for infer with "
                                    "--quant?",
                 preset, wanted->packing);
        return true;
    }
    return false;
}

/* Presets of that family, generation and size, else of that family and generation. */
static bool hint_at_kin(const ms_model_name *wanted, char *hint, size_t size)
{
    static const struct {
        ms_name_kinship kinship;
        const char *one, *several, *last, *end;
    } kinds[] = {{MS_NAMES_OF_SIZE, "; did you mean ", "; did you mean ", " or ", "?"},
                 {MS_NAMES_OF_GENERATION, "; of that generation there is ",
                  "; of that generation there are ", " and ", ""}};
    ms_model_name known;
    const char *preset, *found[MS_NEAREST_MOST_BEGUN] = {NULL};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        size_t count = 0, used = 0;
        for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++) {
            bool is_kin = ms_model_name_read(preset, strlen(preset), &known) &&
                          ms_model_names_compare(wanted, &known) >= kinds[kind].kinship;
            if (is_kin && count < MS_NEAREST_MOST_BEGUN)
                found[count] = preset;
            count += is_kin;
        }
        bool has_more = count > MS_NEAREST_MOST_BEGUN;
        size_t shown = has_more ? MS_NEAREST_MOST_BEGUN : count;
        for (size_t i = 0; i < shown && used < size; i++) {
            bool is_last = i + 1 == shown;
            const char *before = i > 0       ? is_last && !has_more ? kinds[kind].last : ", "
                                 : count > 1 ? kinds[kind].several
                                             : kinds[kind].one;
            used += (size_t)snprintf(hint + used, size - used, "%s'%s'%s", before, found[i],
                                     !is_last   ? ""
                                     : has_more ? " and others"
                                                : kinds[kind].end);
        }
        if (count > 0)
            return true;
    }
    return false;
}

static bool has_nearest(const char *name, char *hint, size_t size)
{
    ms_model_name wanted;
    bool has_parts = ms_model_name_read(name, strlen(name), &wanted);
    if (has_parts && wanted.packing && hint_at_packed(&wanted, hint, size))
        return true;
    /* "meta-llama/Llama-3.1-8B": a hub's name of a model ends in the model's own. */
    const char *slash = strrchr(name, '/'), *preset;
    ms_nearest nearest = ms_nearest_same_or_begun(slash ? slash + 1 : name);
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++)
        ms_nearest_offer(&nearest, preset);
    return *ms_nearest_hint(&nearest, hint, size) != '\0' ||
           (has_parts && hint_at_kin(&wanted, hint, size));
}

/* Whose configs would be refused, so that no line to download one helps; what is predicted of them.
 */
static const struct missing_row {
    const char *begin, *but;
} missing[] = {
    {"mt5-", ""},         {"umt5-", ""},
    {"bart-", ""},        {"mbart", ""},
    {"pegasus", ""},      {"deberta", ""},
    {"falcon-mamba", ""}, {"rwkv", ""},
    {"jamba", ""},        {"mllama", ""},
    {"molmo", ""},        {"pixtral", ""},
    {"paligemma", ""},    {"idefics", ""},
    {"kimi-k2", ""},      {"gemma-3n", ", but its text models are (gemma-3n-e2b, gemma-3n-e4b)"},
    {"nemotron-4", ""},   {"llava", ""},
    {"internvl", ""},     {"qwen-vl", ""},
    {"qwen2.5-omni", ""}, {"stable-diffusion", ""},
    {"sdxl", ""},         {"flux", ""},
    {"qwen-image", ""},   {"hotshot", ""},
    {"hunyuanvideo", ""}, {"ltx-video", ""},
    {"wan2", ""},         {"resnet", ""},
    {"yolo", ""},
};

static const struct missing_row *missing_family(const char *name)
{
    const char *slash = strrchr(name, '/');
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strncasecmp(slash ? slash + 1 : name, missing[i].begin, strlen(missing[i].begin)) == 0)
            return &missing[i];
    return NULL;
}

ms_status ms_fail_no_config(ms_arena *arena, const char *name, ms_error *err)
{
    char hint[200] = "";
    const char *id = ms_hub_is_id(name) ? name : ms_hub_id_of_address(arena, name);
    const struct missing_row *row = missing_family(id ? id : name);
    if (row)
        return ms_fail(err, MS_ERR_IO,
                       "'%.80s' is of a family that is not predicted yet%s; memscope capture -- "
                       "python train.py runs your program on a GPU that is not there",
                       name, row->but);
    bool is_near = has_nearest(id ? id : name, hint, sizeof hint);
    if (id)
        return ms_fail(
            err, MS_ERR_IO,
            "'%.80s' is not a built-in model, file or directory%s%s download its config, "
            "and give that file: curl -fLO "
            "https://huggingface.co/%.80s/resolve/main/config.json",
            name, hint,
            is_near ? (hint[strlen(hint) - 1] == '?' ? " Or" : "; or")
                    : "; if it is a model of the Hugging Face Hub,",
            id);
    return ms_fail(err, MS_ERR_IO, "'%.100s' is not a built-in model, file or directory%s", name,
                   is_near
                       ? hint
                       : "; `memscope models` lists the built-in ones, `memscope capture` runs any "
                         "PyTorch program");
}

/* The text of a built-in config with another max_position_embeddings; NULL: out of memory. */
static const char *with_positions(ms_arena *arena, const char *text, uint32_t positions)
{
    static const char key[] = "\"max_position_embeddings\": ";
    const char *begin = strstr(text, key);
    if (!begin)
        return text;
    begin += sizeof key - 1;
    return ms_arena_printf(arena, "%.*s%" PRIu32 "%s", (int)(begin - text), text, positions,
                           begin + strspn(begin, "0123456789"));
}

/* A model of the Hub is named as there, unless its name is that of the built-in one. */
static ms_status open_hub(ms_arena *arena, const ms_embedded *preset, const ms_hub_model *model,
                          ms_input *in, ms_error *err)
{
    const char *text = preset->text;
    if (model->positions)
        text = with_positions(arena, text, model->positions);
    const char *title = model->title
                            ? ms_arena_printf(arena, "%.*s", (int)model->title_bytes, model->title)
                            : preset->name;
    if (!text || !title)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a config");
    in->source = (ms_json_source){preset->name, text, strlen(text)};
    in->name = ms_name_equal(title, preset->name) ? preset->name : title;
    return MS_OK;
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
    if (!id && (ms_is_there(config) || looks_like_path(config)))
        return read_path(arena, config, in, err);
    preset = find_hub(config, &model);
    if (preset)
        return open_hub(arena, preset, &model, in, err);
    return ms_fail_no_config(arena, config, err);
}

const char *ms_path_beside(ms_arena *arena, const char *run_path, const char *path)
{
    const char *slash = run_path ? strrchr(run_path, '/') : NULL;
    if (!slash || path[0] == '/' || find_preset(path))
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
    return find_preset(name) || find_hub(name, &model);
}
