/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/named_model.h"

#include <string.h>

#include "input/config/model/input.h"
#include "input/config/names/no_config.h"
#include "input/config/trainers/training_keys.h"
#include "base/text/nearest.h"

/* Where each format names its model. */
static const struct {
    ms_training_format format;
    const char *pointer;
} keys[] = {
    {MS_TRAINING_AXOLOTL, "/base_model"},
    {MS_TRAINING_FACTORY, "/model_name_or_path"},
    {MS_TRAINING_HF, "/model_name_or_path"},
    {MS_TRAINING_TORCHTUNE, "/model/_component_"},
    {MS_TRAINING_TITAN, "/model/name"},
    {MS_TRAINING_SWIFT, "/model"},
    {MS_TRAINING_V1, "/model"},
};

/* torchtune 0.6's builders, without "lora_" and "qlora_", and models with these sizes. */
static const struct {
    const char *builder, *model;
} builders[] = {
    {"gemma_2b", "google/gemma-2b"},
    {"gemma_7b", "google/gemma-7b"},
    {"gemma2_2b", "google/gemma-2-2b-it"},
    {"gemma2_9b", "google/gemma-2-9b-it"},
    {"gemma2_27b", "google/gemma-2-27b-it"},
    {"llama2_7b", "meta-llama/Llama-2-7b-hf"},
    {"llama2_13b", "meta-llama/Llama-2-13b-hf"},
    {"llama2_70b", "meta-llama/Llama-2-70b-hf"},
    {"llama3_8b", "meta-llama/Meta-Llama-3-8B"},
    {"llama3_70b", "meta-llama/Meta-Llama-3-70B"},
    {"llama3_1_8b", "meta-llama/Llama-3.1-8B"},
    {"llama3_1_70b", "meta-llama/Llama-3.1-70B"},
    {"llama3_1_405b", "meta-llama/Llama-3.1-405B"},
    {"llama3_2_1b", "meta-llama/Llama-3.2-1B"},
    {"llama3_2_3b", "meta-llama/Llama-3.2-3B"},
    {"llama3_3_70b", "meta-llama/Llama-3.3-70B-Instruct"},
    {"mistral_7b", "mistralai/Mistral-7B-v0.1"},
    {"phi3_mini", "microsoft/Phi-3-mini-4k-instruct"},
    {"phi4_14b", "microsoft/phi-4"},
    {"qwen2_0_5b", "Qwen/Qwen2.5-0.5B"}, /* Qwen2.5 has the sizes of Qwen2 */
    {"qwen2_1_5b", "Qwen/Qwen2.5-1.5B"},
    {"qwen2_7b", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_0_5b", "Qwen/Qwen2.5-0.5B"},
    {"qwen2_5_1_5b_base", "Qwen/Qwen2.5-1.5B"},
    {"qwen2_5_1_5b_instruct", "Qwen/Qwen2.5-1.5B-Instruct"},
    {"qwen2_5_3b", "Qwen/Qwen2.5-3B"},
    {"qwen2_5_7b_base", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_7b_instruct", "Qwen/Qwen2.5-7B-Instruct"},
    {"qwen2_5_14b_base", "Qwen/Qwen2.5-14B"},
    {"qwen2_5_14b_instruct", "Qwen/Qwen2.5-14B-Instruct"},
    {"qwen2_5_32b_base", "Qwen/Qwen2.5-32B"},
    {"qwen2_5_32b_instruct", "Qwen/Qwen2.5-32B-Instruct"},
    {"qwen2_5_72b_base", "Qwen/Qwen2.5-72B"},
    {"qwen2_5_72b_instruct", "Qwen/Qwen2.5-72B-Instruct"},
    {"qwen3_0_6b_base", "Qwen/Qwen3-0.6B-Base"},
    {"qwen3_0_6b_instruct", "Qwen/Qwen3-0.6B"},
    {"qwen3_1_7b_base", "Qwen/Qwen3-1.7B-Base"},
    {"qwen3_1_7b_instruct", "Qwen/Qwen3-1.7B"},
    {"qwen3_4b_base", "Qwen/Qwen3-4B-Base"},
    {"qwen3_4b_instruct", "Qwen/Qwen3-4B"},
    {"qwen3_8b_base", "Qwen/Qwen3-8B-Base"},
    {"qwen3_8b_instruct", "Qwen/Qwen3-8B"},
    {"qwen3_14b_base", "Qwen/Qwen3-14B-Base"},
    {"qwen3_14b_instruct", "Qwen/Qwen3-14B"},
    {"qwen3_32b", "Qwen/Qwen3-32B"},
    {"smollm2_135m", "HuggingFaceTB/SmolLM2-135M"},
    {"smollm2_360m", "HuggingFaceTB/SmolLM2-360M"},
    {"smollm2_1_7b", "HuggingFaceTB/SmolLM2-1.7B"},
};

/* torchtitan's flavors with the sizes of models that have other names. */
static const char *const flavors[][2] = {
    {"llama3-405B", "meta-llama/Llama-3.1-405B"},
    {"deepseek_v3-16B", "deepseek-ai/DeepSeek-V2-Lite"},
    {"deepseek_v3-236B", "deepseek-ai/DeepSeek-V2"},
    {"deepseek_v3-671B", "deepseek-ai/DeepSeek-V3"},
    {"deepseek_v2-deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V2-Lite"},
    {"llama4-17bx16e", "meta-llama/Llama-4-Scout-17B-16E"},
    {"llama3-debugmodel", "torchtitan-llama3-debug"},
    {"qwen3-debugmodel_moe", "torchtitan-qwen3-moe-debug"},
    {"deepseek_v3-debugmodel", "torchtitan-deepseek-debug"},
    {"llama4-17bx128e", "meta-llama/Llama-4-Maverick-17B-128E"},
};

static const char *of_builder(const char *component)
{
    static const char *const adapted[] = {"qlora_", "lora_"};
    const char *name = ms_training_last_name(component);
    for (size_t i = 0; i < sizeof adapted / sizeof adapted[0]; i++)
        if (strncmp(name, adapted[i], strlen(adapted[i])) == 0)
            name += strlen(adapted[i]);
    for (size_t i = 0; i < sizeof builders / sizeof builders[0]; i++)
        if (strcmp(name, builders[i].builder) == 0)
            return builders[i].model;
    return NULL;
}

/* "llama3" with its flavor: "llama3-8B". */
static const char *with_flavor(ms_arena *arena, ms_json_value root, const char *name)
{
    ms_json_value value;
    const char *flavor;
    if (!ms_json_find_pointer(root, "/model/flavor", &value) ||
        ms_json_get_string(value, &flavor, NULL) != MS_OK)
        return name;
    const char *whole = ms_arena_printf(arena, "%s-%s", name, flavor);
    for (size_t i = 0; whole && i < sizeof flavors / sizeof flavors[0]; i++)
        if (strcmp(whole, flavors[i][0]) == 0)
            return flavors[i][1];
    return whole;
}

static ms_status find_value(ms_json_value root, ms_training_format format, ms_json_value *value,
                            ms_error *err)
{
    const char *pointer = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].format == format)
            pointer = keys[i].pointer;
    if (pointer && ms_json_find_pointer(root, pointer, value))
        return MS_OK;
    return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_USAGE,
                        "no model is given, and this file names none; name a built-in model, a "
                        "config.json or a directory");
}

static ms_status find_in_document(ms_arena *arena, ms_json_value root, const char **config,
                                  ms_error *err)
{
    ms_training_format format = MS_TRAINING_HF;
    ms_json_value value;
    const char *name = NULL;
    ms_status status = ms_training_format_find(root, &format, err);
    if (status == MS_OK)
        status = find_value(root, format, &value, err);
    if (status == MS_OK)
        status = ms_json_get_string(value, &name, err);
    if (status != MS_OK)
        return status;
    *config = format == MS_TRAINING_TORCHTUNE ? of_builder(name)
              : format == MS_TRAINING_TITAN   ? with_flavor(arena, root, name)
                                              : name;
    if (*config && (ms_is_built_in(*config) || ms_is_there(*config)))
        return MS_OK;
    if (ms_arena_has_failed(arena))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a model's name");
    ms_error reason = {0};
    (void)ms_fail_no_config(arena, *config ? *config : name, &reason);
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s", reason.text);
}

/* The last of that field; NULL: none. */
static const char *setting_of(const ms_run_setting *settings, size_t count, const char *field)
{
    const char *value = NULL;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, field))
            value = settings[i].value;
    return value && *value ? value : NULL;
}

/* All of that field, with a character between; NULL: none, or no memory. */
static const char *settings_of(ms_arena *arena, const ms_run_setting *settings, size_t count,
                               const char *field, char between)
{
    const char *values = NULL;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, field) && *settings[i].value)
            values = values ? ms_arena_printf(arena, "%s%c%s", values, between, settings[i].value)
                            : settings[i].value;
    return values;
}

/* The model that the training arguments name, read apart from their settings. */
ms_status ms_settings_find_model(ms_arena *arena, const ms_settings_places *places,
                                 const char **config, ms_error *err)
{
    ms_settings_files files;
    const char *found = NULL;
    ms_error second = {0};
    ms_status status = ms_settings_files_open(arena, places, &files, NULL, err);
    if (ms_settings_files_are_there(&files, status)) {
        const ms_status model =
            find_in_document(arena, ms_settings_files_root(&files), &found, &second);
        ms_error_add(err, &second);
        status = status == MS_OK ? model : status;
    }
    if (status == MS_OK && !(*config = ms_arena_strdup(arena, found)))
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a model's name");
    ms_settings_files_close(&files);
    return status;
}

ms_status ms_config_find_model(ms_arena *arena, const ms_run_setting *settings, size_t count,
                               const char **config, ms_error *err)
{
    const ms_settings_places places = {
        .paths = settings_of(arena, settings, count, "training-args", '\n'),
        .launch = settings_of(arena, settings, count, "launch", ' ')};
    const char *args = places.paths;
    *config = setting_of(settings, count, "config");
    if (*config)
        return MS_OK;
    bool has_files = args && strcmp(args, "-") != 0 && strcmp(args, "none") != 0;
    if (!has_files && !places.launch)
        return ms_fail(err, MS_ERR_USAGE,
                       "no config was given; name a built-in model, a config.json or a directory");
    return ms_settings_find_model(arena, &places, config, err);
}
