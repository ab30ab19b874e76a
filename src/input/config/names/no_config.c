/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/names/no_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "input/config/names/hub.h"
#include "input/config/names/preset.h"
#include "input/config/names/model_name.h"
#include "base/text/nearest.h"

enum { HINT_BYTES = 200 };

/* Weights that are packed: the same sizes, and how to say the rest. */
static bool hint_at_packed(const ms_model_name *wanted, char *hint, size_t size)
{
    ms_model_name known;
    const char *preset;
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++) {
        if (!ms_model_name_read(preset, strlen(preset), &known) ||
            ms_model_names_compare(wanted, &known) < MS_NAMES_OF_SIZE)
            continue;
        bool is_gguf = strcmp(wanted->packing, MS_PACKED_IN_GGUF) == 0;
        snprintf(hint, size,
                 is_gguf ? "; its weights are packed: did you mean '%s', for infer --engine "
                           "llama.cpp with --quant?"
                 : *wanted->packing ? "; its weights are packed: did you mean '%s' with %s and "
                                      "--lora, for analyze?"
                                    : "; its weights are packed, but those of '%s' are not",
                 preset, wanted->packing);
        return true;
    }
    return false;
}

/* Presets of that family, generation and size, else of that family and generation or size, else of
 * that family. */
static bool hint_at_kin(const ms_model_name *wanted, char *hint, size_t size)
{
    static const struct {
        ms_name_kinship kinship;
        const char *one, *several, *last, *end;
    } kinds[] = {{MS_NAMES_OF_SIZE, "; did you mean ", "; did you mean ", " or ", "?"},
                 {MS_NAMES_OF_GENERATION, "; of that generation there is ",
                  "; of that generation there are ", " and ", ""},
                 {MS_NAMES_OF_SIZES, "; of that family and size there is ",
                  "; of that family and size there are ", " and ", ""},
                 {MS_NAMES_OF_FAMILY, "; of that family there is ", "; of that family there are ",
                  " and ", ""}};
    ms_model_name known;
    const char *preset, *found[MS_NEAREST_MOST_BEGUN] = {NULL};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        ms_name_kinship kinship = kinds[kind].kinship;
        if (kinship != MS_NAMES_OF_FAMILY && ms_model_name_is_family(wanted))
            continue;
        if (kinship < MS_NAMES_OF_GENERATION && strcmp(wanted->family, "gpt") == 0)
            continue; /* names of several families begin so */
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
        if (has_more && used < size)
            snprintf(hint + used, size - used, " (memscope models %.24s)", wanted->family);
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
    {"nemotron-4", ""},   {"llava", ", but LLaVA 1.5 is (llava-1.5-7b, llava-1.5-13b)"},
    {"internvl", ""},     {"qwen-vl", ", but Qwen2-VL is (qwen2-vl-7b)"},
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

/* False: its family is not known to be missing. */
static bool fail_missing(const char *name, const char *model, ms_error *err)
{
    const struct missing_row *row = missing_family(model);
    if (row)
        ms_error_set(err, MS_ERR_IO,
                     "'%.80s' is of a family that is not predicted yet%s; memscope capture -- "
                     "python train.py runs your program on a simulated GPU",
                     name, row->but);
    return row != NULL;
}

bool ms_config_suggest(const char *name, ms_error *err)
{
    char hint[HINT_BYTES] = "";
    if (fail_missing(name, name, err))
        return true;
    if (!has_nearest(name, hint, sizeof hint))
        return false;
    ms_error_set(err, MS_ERR_IO, "'%.100s' is not a built-in model, file or directory%s", name,
                 hint);
    return true;
}

/* `id`: of the Hub, where the config can be downloaded. */
static ms_status fail_id(const char *name, const char *id, ms_error *err)
{
    char hint[HINT_BYTES] = "";
    if (fail_missing(name, id, err))
        return err->status;
    if (ms_hub_is_converted(id))
        return ms_fail(err, MS_ERR_IO,
                       "'%.80s' was converted to another layout by its owner, so no built-in model "
                       "matches it: download its config and give that file: curl -fLO "
                       "https://huggingface.co/%.80s/resolve/main/config.json",
                       name, id);
    bool is_near = has_nearest(id, hint, sizeof hint);
    return ms_fail(err, MS_ERR_IO,
                   "'%.80s' is not a built-in model, file or directory%s%s download its config and "
                   "give that file: curl -fLO "
                   "https://huggingface.co/%.80s/resolve/main/config.json",
                   name, hint,
                   is_near ? (hint[strlen(hint) - 1] == '?' ? " Or" : "; or")
                           : "; if it is a model of the Hugging Face Hub,",
                   id);
}

ms_status ms_fail_no_config(ms_arena *arena, const char *name, ms_error *err)
{
    const char *id = ms_hub_id_of_address(arena, name);
    if (id || ms_hub_is_id(name))
        return fail_id(name, id ? id : name, err);
    if (ms_config_suggest(name, err))
        return err->status;
    return ms_fail(err, MS_ERR_IO,
                   "'%.100s' is not a built-in model, file or directory; `memscope models` lists "
                   "the built-in ones, `memscope capture` runs any PyTorch program",
                   name);
}
