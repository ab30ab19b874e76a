/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As transformers 5.23 and accelerate 1.15 do it: the launcher hands its file on as variables of
 * the environment, and the trainer's own settings replace them.
 */
#include "input/config/launch/join_settings.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/json/merge.h"
#include "input/config/model/input.h"
#include "input/config/trainers/training_keys.h"
#include "input/config/trainers/training_ranks.h"

/* ---- settings part ---- */

static bool has_one_of(ms_json_value root, const char *const *names)
{
    ms_json_value value;
    for (; *names; names++)
        if (ms_json_find(root, *names, &value))
            return true;
    return false;
}

/* Keys of accelerate's questionnaire, and those that only a trainer has. */
static const char *const of_launcher[] = {"compute_environment", "distributed_type", "num_machines",
                                          "num_processes", NULL};
static const char *const of_engine[] = {"zero_optimization", "train_micro_batch_size_per_gpu",
                                        "train_batch_size", NULL};
static const char *const of_trainer[] = {"per_device_train_batch_size",
                                         "gradient_checkpointing",
                                         "learning_rate",
                                         "model_name_or_path",
                                         "output_dir",
                                         "num_train_epochs",
                                         "max_steps",
                                         "max_length",
                                         "bf16",
                                         "optim",
                                         "deepspeed",
                                         "fsdp",
                                         NULL};

ms_status ms_settings_part_of(ms_json_value root, ms_settings_part *part, ms_error *err)
{
    *part = (ms_settings_part){.kind = MS_SETTINGS_TRAINER, .root = root};
    ms_status status = ms_training_format_find(root, &part->format, err);
    if (status != MS_OK || part->format != MS_TRAINING_HF)
        return status;
    if (has_one_of(root, of_engine) && !has_one_of(root, of_launcher))
        part->kind = MS_SETTINGS_ENGINE;
    else if (has_one_of(root, of_launcher) && !has_one_of(root, of_trainer))
        part->kind = MS_SETTINGS_LAUNCHER;
    return MS_OK;
}

/* "axolotl", "accelerate", "DeepSpeed". Static text. */
static const char *settings_part_name(const ms_settings_part *part)
{
    return part->kind == MS_SETTINGS_LAUNCHER ? "accelerate"
           : part->kind == MS_SETTINGS_ENGINE ? "DeepSpeed"
                                              : ms_training_format_name(part->format);
}

/* ---- join settings ---- */

typedef struct joining {
    ms_arena *arena;
    const ms_settings_part *parts;
    size_t count;
    ms_notes *notes;
    ms_error *err;
    const ms_settings_part *trainer; /* the last one; NULL: none */
    const ms_settings_part *engine;
    bool has_launcher;
    bool drops_launched; /* the trainer shards by itself */
    bool drops_fsdp;     /* the trainer does not look at its fsdp_config */
    bool drops_engine;   /* another file names it */
} joining;

/* ---- what is said where ---- */

static ms_error place_of(ms_json_value value, ms_json_part part)
{
    ms_error at = {0};
    ms_json_error_set(&at, value, part, MS_ERR_CONFIG, "here");
    return at;
}

/* The last part of a kind that says something by that key. */
static bool find_said(const joining *j, ms_settings_kind kind, const char *key,
                      ms_json_value *value)
{
    bool is_found = false;
    ms_json_value v;
    for (size_t i = 0; i < j->count; i++)
        if (j->parts[i].kind == kind && ms_json_find(j->parts[i].root, key, &v) &&
            !ms_training_says_nothing(v)) {
            *value = v;
            is_found = true;
        }
    return is_found;
}

static bool trainer_says(const joining *j, const char *key, ms_json_value *value)
{
    return find_said(j, MS_SETTINGS_WORDS, key, value) ||
           find_said(j, MS_SETTINGS_TRAINER, key, value);
}

/* "bf16 true (a.yaml, line 3)"; of what is long, the key alone. NULL: out of memory. */
static const char *described(const joining *j, ms_json_value value)
{
    enum { LONGEST = 40 };
    size_t bytes;
    const char *text = ms_json_source_text(value, &bytes);
    const ms_error at = place_of(value, MS_JSON_AT_KEY);
    bool is_short = bytes <= LONGEST && !memchr(text, '\n', bytes);
    return ms_arena_printf(j->arena, "%.60s%s%.*s (%.80s, line %" PRIu32 ")", ms_json_key(value),
                           is_short && *ms_json_key(value) ? " " : "", is_short ? (int)bytes : 0,
                           text, at.file, at.line);
}

static ms_status note_unused(const joining *j, ms_json_value unused, ms_json_value used)
{
    const char *no = described(j, unused), *yes = described(j, used);
    if (!no || !yes)
        return ms_fail(j->err, MS_ERR_NOMEM, "out of memory for a note");
    return ms_note_add(j->notes, j->arena, j->err, "%s is used, not %s", yes, no);
}

/* ---- which files go together ---- */

static ms_status refuse_mixture(const joining *j, const ms_settings_part *part)
{
    return ms_json_fail(j->err, part->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "this file is one of %s, but another is one of %s (%.120s): their settings "
                        "do not belong to one training",
                        settings_part_name(part), settings_part_name(j->trainer),
                        ms_json_file_name(j->trainer->root));
}

static bool is_of_trainer_class(ms_training_format format)
{
    return format == MS_TRAINING_HF || format == MS_TRAINING_FACTORY || format == MS_TRAINING_SWIFT;
}

static ms_status check_trainers(joining *j)
{
    for (size_t i = 0; i < j->count; i++) {
        const ms_settings_part *part = &j->parts[i];
        if (part->kind != MS_SETTINGS_TRAINER)
            continue;
        bool differs =
            j->trainer && j->trainer->format != part->format &&
            !(is_of_trainer_class(j->trainer->format) && is_of_trainer_class(part->format));
        if (differs)
            return refuse_mixture(j, part);
        j->trainer = part;
    }
    return MS_OK;
}

static ms_status check_others(joining *j)
{
    bool takes_others = !j->trainer || (j->trainer->format != MS_TRAINING_TORCHTUNE &&
                                        j->trainer->format != MS_TRAINING_TITAN);
    for (size_t i = 0; i < j->count; i++) {
        const ms_settings_part *part = &j->parts[i];
        bool is_other = part->kind == MS_SETTINGS_LAUNCHER || part->kind == MS_SETTINGS_ENGINE;
        if (is_other && !takes_others)
            return refuse_mixture(j, part);
        if (part->kind == MS_SETTINGS_ENGINE && j->engine)
            return ms_json_fail(
                j->err, part->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                "this is a second configuration of DeepSpeed, besides %.200s: give only one",
                ms_json_file_name(j->engine->root));
        if (part->kind == MS_SETTINGS_ENGINE)
            j->engine = part;
        j->has_launcher |= part->kind == MS_SETTINGS_LAUNCHER;
    }
    return MS_OK;
}

/* ---- who shards ---- */

static bool is_same_file(const joining *j, ms_json_value named)
{
    struct stat one, other;
    const char *path = ms_training_value_text(named);
    const char *beside = ms_path_beside(j->arena, ms_json_file_name(named), path);
    bool is_found = *path && beside && (stat(beside, &one) == 0 || stat(path, &one) == 0);
    return is_found && stat(ms_json_file_name(j->engine->root), &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* A configuration of DeepSpeed's that is given, and named by another file as well. */
static ms_status settle_engine(joining *j)
{
    ms_json_value named, settings;
    if (!j->engine)
        return MS_OK;
    if (trainer_says(j, "deepspeed", &named)) {
        j->drops_engine = is_same_file(j, named);
        return j->drops_engine
                   ? MS_OK
                   : ms_json_fail(
                         j->err, named, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                         "deepspeed names a configuration other than %.200s: give only one",
                         ms_json_file_name(j->engine->root));
    }
    j->drops_engine = find_said(j, MS_SETTINGS_LAUNCHER, "deepspeed_config", &settings) &&
                      ms_json_find(settings, "deepspeed_config_file", &named) &&
                      is_same_file(j, named);
    return MS_OK;
}

/* What the trainer itself shards by, and the value that says so. */
static bool find_own(const joining *j, ms_json_value *value, bool *is_engine)
{
    *is_engine = trainer_says(j, "deepspeed", value);
    if (*is_engine)
        return true;
    if (j->engine && !j->drops_engine) {
        *is_engine = true;
        *value = j->engine->root;
        return true;
    }
    return trainer_says(j, "fsdp", value) ||
           (j->trainer && j->trainer->format == MS_TRAINING_AXOLOTL &&
            trainer_says(j, "fsdp_config", value));
}

static ms_status settle_sharding(joining *j)
{
    ms_json_value type, own, config;
    bool is_engine = false;
    if (!find_said(j, MS_SETTINGS_LAUNCHER, "distributed_type", &type))
        return MS_OK;
    bool by_fsdp = strcasecmp(ms_training_value_text(type), "FSDP") == 0;
    bool by_engine = strcasecmp(ms_training_value_text(type), "DEEPSPEED") == 0;
    if (!by_fsdp && !by_engine)
        return MS_OK;
    if (!find_own(j, &own, &is_engine)) {
        j->drops_fsdp = by_fsdp && trainer_says(j, "fsdp_config", &config);
        return j->drops_fsdp ? note_unused(j, config, type) : MS_OK;
    }
    if (is_engine != by_engine)
        return ms_json_fail(
            j->err, type, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
            "accelerate launches with %s, but the trainer uses %s (%.120s): give one of them",
            by_fsdp ? "FSDP" : "DeepSpeed", is_engine ? "DeepSpeed" : "FSDP",
            ms_json_file_name(own));
    j->drops_launched = true;
    return note_unused(j, type, own);
}

/* ---- the type of the step ---- */

/* accelerate's mixed_precision, where the trainer's own bf16 and fp16 replace it. */
static ms_status note_precision(const joining *j)
{
    static const char *const types[] = {"bf16", "fp16"};
    ms_json_value launched, own;
    bool is_found = false;
    for (size_t i = 0; i < j->count; i++)
        is_found |= j->parts[i].kind == MS_SETTINGS_LAUNCHER &&
                    ms_json_find(j->parts[i].root, "mixed_precision", &launched);
    for (size_t i = 0; is_found && i < sizeof types / sizeof *types; i++)
        if (trainer_says(j, types[i], &own) &&
            strcmp(ms_training_value_text(launched), types[i]) != 0)
            return note_unused(j, launched, own);
    return MS_OK;
}

/* ---- joining ---- */

static bool is_equal(ms_json_value a, ms_json_value b)
{
    size_t bytes, others;
    const char *text = ms_json_source_text(a, &bytes), *other = ms_json_source_text(b, &others);
    return bytes == others && memcmp(text, other, bytes) == 0;
}

static bool is_default(const joining *j, ms_json_value value)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->parts[i].kind == MS_SETTINGS_DEFAULTS && j->parts[i].root.document == value.document)
            return true;
    return false;
}

static ms_status tell_hidden(void *context, ms_json_value winner, ms_json_value loser,
                             ms_error *err)
{
    const joining *j = context;
    if (is_equal(winner, loser) || is_default(j, loser))
        return MS_OK;
    (void)err; /* the same */
    return note_unused(j, loser, winner);
}

/* As its layer; false: it has none. */
static bool layer_of(const joining *j, const ms_settings_part *part, ms_json_layer *layer)
{
    static const char *const launched[] = {"distributed_type", "fsdp_config", "deepspeed_config",
                                           NULL};
    static const char *const fsdp[] = {"fsdp_config", NULL};
    *layer = (ms_json_layer){.object = part->root, .is_deep = part->is_deep};
    switch (part->kind) {
    case MS_SETTINGS_LAUNCHER:
        layer->without = j->drops_launched ? launched : NULL;
        return true;
    case MS_SETTINGS_ENGINE:
        layer->member = "deepspeed";
        return !j->drops_engine;
    case MS_SETTINGS_WORDS:
        layer->nulls_count = true;
        break;
    case MS_SETTINGS_DEFAULTS:
    case MS_SETTINGS_TRAINER:
        break;
    }
    layer->without = j->drops_fsdp ? fsdp : NULL;
    return true;
}

static ms_status merge(joining *j, ms_json **merged)
{
    static const ms_settings_kind order[] = {MS_SETTINGS_DEFAULTS, MS_SETTINGS_LAUNCHER,
                                             MS_SETTINGS_TRAINER, MS_SETTINGS_ENGINE,
                                             MS_SETTINGS_WORDS};
    ms_json_layer layers[MS_JSON_MOST_LAYERS];
    const ms_json_hiding hiding = {tell_hidden, j};
    size_t used = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < j->count; i++)
            if (j->parts[i].kind == order[k] && used < MS_JSON_MOST_LAYERS &&
                layer_of(j, &j->parts[i], &layers[used]))
                used++;
    return ms_json_merge(layers, used, &hiding, merged, j->err);
}

/* Who shards, and with which type: what is refused of it does not keep the rest from being read. */
static ms_status settle(joining *j)
{
    static ms_status (*const steps[])(joining * j) = {settle_engine, settle_sharding};
    ms_error *err = j->err;
    ms_status first = MS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        ms_error one = {0};
        j->err = &one;
        const ms_status status = steps[i](j);
        ms_error_add(err, &one);
        first = first == MS_OK ? status : first;
    }
    j->err = err;
    return first == MS_OK ? note_precision(j) : first;
}

ms_status ms_settings_join(ms_arena *arena, const ms_settings_part *parts, size_t count,
                           ms_json **merged, ms_notes *notes, ms_error *err)
{
    joining j = {.arena = arena, .parts = parts, .count = count, .notes = notes, .err = err};
    ms_status status = check_trainers(&j);
    if (status == MS_OK)
        status = check_others(&j);
    if (status != MS_OK)
        return status;
    status = settle(&j);
    if (status != MS_OK && !ms_status_is_of_input(status))
        return status;
    const ms_status joined = merge(&j, merged);
    return status == MS_OK ? joined : status;
}
