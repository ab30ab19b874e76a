/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/settings_files.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/read.h"
#include "base/json/yaml.h"
#include "input/config/launch/join_settings.h"
#include "input/config/launch/launch.h"
#include "input/config/launch/launch_words.h"
#include "input/config/model/input.h"
#include "input/config/trainers/training_keys.h"

/* ---- trl configs ---- */

/* accelerate's configurations that come with TRL 1.16, which `accelerate_config` names:
 * "zero3". */

#define OF(type, inside)                                                                           \
    "{\"compute_environment\": \"LOCAL_MACHINE\", \"distributed_type\": \"" type "\", "            \
    "\"mixed_precision\": \"bf16\", \"num_machines\": 1, \"num_processes\": 8" inside "}"
#define FSDP(inside)                                                                               \
    OF("FSDP", ", \"fsdp_config\": {\"fsdp_activation_checkpointing\": false, "                    \
               "\"fsdp_auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\", "                           \
               "\"fsdp_cpu_ram_efficient_loading\": true, \"fsdp_offload_params\": false, "        \
               "\"fsdp_state_dict_type\": \"FULL_STATE_DICT\", " inside "}")
#define ZERO(inside) OF("DEEPSPEED", ", \"deepspeed_config\": {" inside "}")
#define NO_OFFLOAD "\"offload_optimizer_device\": \"none\", \"offload_param_device\": \"none\", "

static const struct {
    const char *name, *text;
} configs[] = {
    {"fsdp1",
     FSDP("\"fsdp_backward_prefetch\": \"BACKWARD_PRE\", \"fsdp_forward_prefetch\": true, "
          "\"fsdp_reshard_after_forward\": \"FULL_SHARD\", \"fsdp_sync_module_states\": true, "
          "\"fsdp_use_orig_params\": true, \"fsdp_version\": 1")},
    {"fsdp2", FSDP("\"fsdp_reshard_after_forward\": true, \"fsdp_version\": 2")},
    {"multi_gpu", OF("MULTI_GPU", "")},
    {"single_gpu", OF("NO", "")},
    {"zero1",
     ZERO("\"gradient_accumulation_steps\": 1, \"zero3_init_flag\": false, \"zero_stage\": 1")},
    {"zero2", ZERO(NO_OFFLOAD "\"zero3_init_flag\": false, \"zero_stage\": 2")},
    {"zero3", ZERO(NO_OFFLOAD "\"zero3_init_flag\": true, \"zero3_save_16bit_model\": true, "
                              "\"zero_stage\": 3")},
};

/* As JSON; NULL: there is none of that name. */
static const char *trl_config(const char *name)
{
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        if (strcmp(configs[i].name, name) == 0)
            return configs[i].text;
    return NULL;
}

/* "fsdp1, ... and zero3". */
static const char *trl_config_names(void)
{
    return "fsdp1, fsdp2, multi_gpu, single_gpu, zero1, zero2 and zero3";
}

/* ---- settings files ---- */

static ms_status open_one(ms_arena *arena, const char *path, ms_settings_files *files,
                          ms_error *err)
{
    ms_json_source source;
    uint32_t i = files->count;
    if (!path)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    if (i == MS_SETTINGS_MOST_FILES)
        return ms_fail(err, MS_ERR_LIMIT, "more than %d files of training settings",
                       MS_SETTINGS_MOST_FILES);
    ms_status status = ms_json_read(ms_arena_inputs(arena), path, &source, &files->texts[i], err);
    if (status == MS_OK)
        status = ms_json_or_yaml_parse(&source, &files->documents[i], err);
    files->count += files->texts[i] != NULL;
    return status;
}

static ms_status open_all(ms_arena *arena, const char *paths, const char *run_path,
                          ms_settings_files *files, ms_error *err)
{
    ms_status status = MS_OK;
    for (bool more = true; more && status == MS_OK;) {
        size_t bytes = strcspn(paths, "\n");
        more = paths[bytes] != '\0';
        const char *path = ms_arena_printf(arena, "%.*s", (int)bytes, paths);
        if (path && run_path)
            path = ms_path_beside(arena, run_path, path);
        status = open_one(arena, path, files, err);
        paths += bytes + more;
    }
    return status;
}

/* ---- accelerate's file that TRL's settings name ---- */

static ms_status take_text(const char *text, const char *name, ms_settings_files *files,
                           ms_error *err)
{
    const uint32_t i = files->count;
    files->texts[i] = strdup(text);
    if (!files->texts[i])
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a configuration of TRL's");
    const ms_json_source source = {name, files->texts[i], strlen(text)};
    files->count++;
    return ms_json_or_yaml_parse(&source, &files->documents[i], err);
}

/* A file, else one of those that come with TRL. */
static ms_status open_named(ms_arena *arena, ms_json_value value, ms_settings_files *files,
                            ms_error *err)
{
    const char *name = "";
    if (ms_json_get_string(value, &name, err) != MS_OK)
        return err ? err->status : MS_ERR_CONFIG;
    const char *beside = ms_path_beside(arena, ms_json_file_name(value), name);
    const char *text = trl_config(name);
    const char *path = beside && !ms_is_regular_file(name) ? beside : name;
    if (!beside)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    files->named = files->count + 1;
    if (ms_is_regular_file(path))
        return open_one(arena, path, files, err);
    const char *shown = ms_arena_printf(arena, "TRL's %s.yaml", name);
    if (text && !shown)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a name");
    if (text)
        return take_text(text, shown, files, err);
    return ms_json_fail(
        err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
        "'%.60s' is neither a file nor a configuration that comes with TRL; those are %s", name,
        trl_config_names());
}

/* TRL's launcher takes the key from its own settings, of which the words win. */
static bool find_named(const ms_settings_files *files, ms_json_value *found)
{
    ms_json_value value;
    ms_training_format format = MS_TRAINING_HF;
    bool is_found = false;
    for (uint32_t i = 0; i < files->count; i++) {
        const ms_json_value root = ms_json_root(files->documents[i]);
        if (!ms_json_find(root, "accelerate_config", &value) || ms_training_says_nothing(value) ||
            ms_training_format_find(root, &format, NULL) != MS_OK || format != MS_TRAINING_HF)
            continue;
        *found = value;
        is_found = true;
    }
    return is_found;
}

static ms_status check_named(const ms_settings_files *files, ms_json_value value, ms_error *err)
{
    ms_settings_part part;
    ms_error reason = {0};
    const ms_json_value root = ms_json_root(files->documents[files->named - 1]);
    const ms_status status = ms_settings_part_of(root, &part, &reason);
    return status == MS_OK && part.kind == MS_SETTINGS_LAUNCHER
               ? MS_OK
               : ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                              "'%.120s' is not a configuration of accelerate",
                              ms_json_file_name(root));
}

/* What is refused of it does not keep the others from being joined. */
static ms_status open_accelerate(ms_arena *arena, ms_settings_files *files, ms_error *err)
{
    ms_json_value value;
    const uint32_t count = files->count;
    files->is_whole = true;
    if (!find_named(files, &value))
        return MS_OK;
    ms_status status = open_named(arena, value, files, err);
    if (status == MS_OK)
        status = check_named(files, value, err);
    if (status != MS_OK) {
        files->named = 0;
        while (files->count > count) {
            ms_json_free(files->documents[--files->count]);
            files->documents[files->count] = NULL;
            free(files->texts[files->count]);
        }
    }
    return status;
}

/* ---- the words of a launch ---- */

static ms_status take_words(const ms_launch *launch, const ms_launch_settings *settings,
                            bool is_launcher, ms_settings_files *files, ms_error *err)
{
    uint32_t i = files->count;
    ms_status status =
        ms_launch_document(launch, settings, &files->documents[i], &files->texts[i], err);
    files->is_launcher[i] = is_launcher;
    files->count += files->documents[i] != NULL;
    return status;
}

/* What the variables of a script, or in front of a launch, say of PyTorch's allocator. */
static ms_allocator_conf allocator_of(const ms_shell *shell)
{
    for (size_t i = 0; ms_allocator_conf_names[i]; i++) {
        const ms_shell_variable *variable = ms_shell_find(shell, ms_allocator_conf_names[i]);
        if (variable && variable->count > 0 && variable->is_exported)
            return (ms_allocator_conf){.name = ms_allocator_conf_names[i],
                                       .value = variable->items->text,
                                       .file = shell->source.name,
                                       .unknown = variable->items->unknown,
                                       .line = variable->items->line};
    }
    return (ms_allocator_conf){0};
}

static ms_status take_launch(const ms_launch *launch, ms_settings_files *files, ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < launch->file_count && status == MS_OK; i++)
        status = open_one(launch->arena, launch->files[i], files, err);
    files->file_count = files->count;
    files->is_deep = launch->is_deep;
    files->is_recipe = launch->is_recipe;
    files->processes = launch->processes;
    files->allocator = allocator_of(&launch->shell);
    files->by_axolotl = strcmp(launch->command, "axolotl") == 0;
    files->is_module = launch->is_module;
    if (status == MS_OK)
        status = take_words(launch, &launch->launcher, true, files, err);
    if (status == MS_OK)
        status = take_words(launch, &launch->trainer, false, files, err);
    if (status != MS_OK || files->count > 0)
        return status;
    return ms_shell_fail(&launch->shell, launch->words[0].line, MS_ERR_CONFIG,
                         "this launch has no settings, and memscope does not read those inside "
                         "%.60s: give them as options",
                         launch->program ? launch->program : "the program");
}

/* Whether they name a file of accelerate's by TRL's key. */
static bool has_named(const ms_settings_files *files)
{
    ms_json_value value;
    return find_named(files, &value);
}

/* Whether a file or a word says how many processes there are. */
static bool has_count(const ms_settings_files *files)
{
    ms_json_value value;
    for (uint32_t i = 0; i < files->count; i++)
        if (ms_json_find(ms_json_root(files->documents[i]), "num_processes", &value))
            return true;
    return false;
}

static ms_status open_launch(ms_arena *arena, const ms_settings_places *places,
                             ms_settings_files *files, ms_notes *notes, ms_error *err)
{
    ms_launch launch;
    ms_status status =
        ms_launch_read(arena, places->launch, places->launch_beside, &launch, notes, err);
    if (status == MS_OK)
        status = take_launch(&launch, files, err);
    if (status == MS_OK && !has_count(files) && !has_named(files))
        status = ms_launch_note_uncounted(&launch);
    ms_launch_end(&launch);
    return status;
}

/* ---- all of them ---- */

/* torchtune's and torchtitan's settings say nothing of a launcher. */
static bool has_no_launcher(const ms_settings_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].kind == MS_SETTINGS_TRAINER &&
            (parts[i].format == MS_TRAINING_TORCHTUNE || parts[i].format == MS_TRAINING_TITAN))
            return true;
    return false;
}

static ms_status find_parts(ms_settings_files *files, ms_settings_part *parts, uint32_t *count,
                            ms_error *err)
{
    ms_status status = MS_OK;
    *count = files->named > 0; /* first, as words win over it */
    for (uint32_t i = 0; i < files->file_count && status == MS_OK; i++)
        status = ms_settings_part_of(ms_json_root(files->documents[i]), &parts[(*count)++], err);
    bool is_alone = has_no_launcher(parts, *count);
    files->world = is_alone ? files->processes : 0;
    for (uint32_t i = files->file_count; i < files->count && status == MS_OK; i++) {
        if (i + 1 == files->named) {
            status = ms_settings_part_of(ms_json_root(files->documents[i]), &parts[0], err);
            continue;
        }
        ms_settings_part part = {.kind = MS_SETTINGS_WORDS,
                                 .root = ms_json_root(files->documents[i]),
                                 .is_deep = files->is_deep || files->is_launcher[i]};
        if (files->is_launcher[i])
            part.kind = files->is_recipe ? MS_SETTINGS_DEFAULTS : MS_SETTINGS_LAUNCHER;
        if (!is_alone || part.kind != MS_SETTINGS_LAUNCHER)
            parts[(*count)++] = part;
    }
    return status;
}

static ms_status join(ms_arena *arena, ms_settings_files *files, ms_notes *notes, ms_error *err)
{
    ms_settings_part parts[MS_SETTINGS_MOST_PARTS];
    bool has_launcher = false, has_other = false;
    uint32_t count;
    ms_status status = find_parts(files, parts, &count, err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        has_launcher |= parts[i].kind == MS_SETTINGS_LAUNCHER;
        has_other |= parts[i].kind != MS_SETTINGS_LAUNCHER;
    }
    files->has_trainer_too = has_launcher && has_other;
    return status == MS_OK ? ms_settings_join(arena, parts, count, &files->merged, notes, err)
                           : status;
}

ms_status ms_settings_files_open(ms_arena *arena, const ms_settings_places *places,
                                 ms_settings_files *files, ms_notes *notes, ms_error *err)
{
    ms_error second = {0};
    *files = (ms_settings_files){0};
    ms_status status =
        places->paths ? open_all(arena, places->paths, places->paths_beside, files, err) : MS_OK;
    files->file_count = files->count;
    if (status == MS_OK && places->launch)
        status = open_launch(arena, places, files, notes, err);
    if (status != MS_OK)
        return status;
    status = open_accelerate(arena, files, err);
    if (!(files->count > 1 || places->launch) ||
        (status != MS_OK && !ms_status_is_of_input(status)))
        return status;
    const ms_status joined = join(arena, files, notes, &second);
    ms_error_add(err, &second);
    return status == MS_OK ? joined : status;
}

bool ms_settings_files_are_there(const ms_settings_files *files, ms_status status)
{
    return status == MS_OK || (ms_status_is_of_input(status) && files->is_whole &&
                               (files->merged || files->count == 1));
}

void ms_settings_files_close(ms_settings_files *files)
{
    ms_json_free(files->merged);
    for (uint32_t i = 0; i < files->count; i++) {
        ms_json_free(files->documents[i]);
        free(files->texts[i]);
    }
    *files = (ms_settings_files){0};
}

ms_json_value ms_settings_files_root(const ms_settings_files *files)
{
    return ms_json_root(files->merged ? files->merged : files->documents[0]);
}
