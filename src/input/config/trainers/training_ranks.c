/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/training_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/adapters/training_adapter.h"

/* ---- values ---- */

bool ms_training_truth(ms_json_value value, bool absent)
{
    static const char *const yes[] = {"true", "yes", "y", "t", "on", "1"};
    static const char *const no[] = {"false", "no", "n", "f", "off", "0"};
    bool truth = absent;
    const char *text = ms_training_value_text(value);
    const double number = ms_training_value_number(value);
    if (ms_json_get_bool(value, &truth, NULL) == MS_OK)
        return truth;
    if (number == 0 || number == 1)
        return number == 1;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp(text, yes[i]) == 0)
            return true;
        if (strcasecmp(text, no[i]) == 0)
            return false;
    }
    return absent;
}

int ms_training_word_of(ms_json_value value, const char *const *words)
{
    const char *text = ms_training_value_text(value);
    double number = ms_training_value_number(value);
    for (int i = 0; words[i]; i++)
        if (strcasecmp(words[i], text) == 0 || number == i + 1)
            return i;
    return -1;
}

/* ---- ranks ---- */

uint64_t ms_training_given_world(const ms_training_reading *r)
{
    if (ms_run_field_is_set(r->draft, "world"))
        return r->draft->world;
    return ms_run_field_is_set(r->draft, "parallel")
               ? ms_layout_world(&r->draft->run.parallel.layout)
               : 0;
}

ms_status ms_training_world(const ms_training_ranks *t, uint64_t *world)
{
    ms_training_reading *r = t->r;
    ms_json_value processes;
    bool has_world = ms_run_field_is_set(r->draft, "world");
    uint64_t said = t->sharding->processes;
    *world = ms_training_given_world(r);
    if (said && has_world && *world != said && ms_json_find(t->root, "num_processes", &processes))
        return ms_training_refuse(
            t, processes, "found %" PRIu64 " processes, but world is %" PRIu64, said, *world);
    if (!*world)
        *world = said;
    if (*world)
        return MS_OK;
    return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                        "this file shards but does not say over how many GPUs: give --world N, or "
                        "--ignore-sharding for one device that holds everything");
}

/* ---- what is not read ---- */

ms_status ms_training_set_aside(const ms_training_ranks *t, ms_json_value value,
                                ms_key_effect effect, const char *meaning)
{
    return ms_training_add_key(t->r, value, NULL, MS_KEY_NOT_PREDICTED, effect, meaning);
}

ms_status ms_training_refuse_whole(const ms_training_ranks *t)
{
    bool is_fsdp = strcmp(t->sharding->library, "FSDP") == 0;
    return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                        "%s leaves the whole model on every GPU and may also keep a copy in fp32, "
                        "which is not predicted: give the layout (--parallel dp=8), or "
                        "--ignore-sharding for one device with the weights in their loaded type",
                        is_fsdp ? "NO_SHARD of FSDP" : "DeepSpeed without a stage of ZeRO");
}

static ms_status no_memory(const ms_training_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for options of several ranks");
}

ms_status ms_training_add_others(ms_training_ranks *t, ms_json_value value, uint64_t ranks)
{
    return __builtin_mul_overflow(t->others ? t->others : 1, ranks, &t->others) ||
                   t->others > MS_MOST_RANKS
               ? ms_training_refuse(t, value, "more than %d ranks", MS_MOST_RANKS)
               : MS_OK;
}

/* ---- options ---- */

ms_status ms_training_set_option(const ms_training_ranks *t, const char *field, const char *text)
{
    ms_training_reading *r = t->r;
    if (ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (!text)
        return no_memory(r);
    ms_status status = ms_training_set_by(r, t->sharding->value, field, text);
    const char *before = r->ranks_said ? r->ranks_said : "";
    r->ranks_said =
        ms_arena_printf(r->arena, "%s%s--%s %s", before, *before ? " " : "", field, text);
    return status == MS_OK && !r->ranks_said ? no_memory(r) : status;
}

ms_status ms_training_set_layout(const ms_training_ranks *t, const char *layout, bool *is_read)
{
    ms_training_reading *r = t->r;
    const ms_layout *given = &r->draft->run.parallel.layout;
    ms_layout own = {0};
    *is_read = false;
    if (!layout)
        return no_memory(r);
    ms_error reason = {0};
    if (ms_layout_parse(layout, &own, &reason) != MS_OK)
        return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "this file shards with %s, which is not predicted", layout);
    bool is_given = ms_run_field_is_set(r->draft, "parallel");
    *is_read = !is_given || (given->kind == own.kind && given->stage == own.stage &&
                             given->tensor == own.tensor);
    return *is_read ? ms_training_set_option(t, "parallel", layout) : MS_OK;
}

/* The bytes of the first options, as many as fit a note. */
static size_t options_within(const char *text)
{
    enum { MOST = 110 };
    size_t length = strlen(text);
    if (length <= MOST)
        return length;
    const char *end = strstr(text + 1, " --");
    for (const char *next = end; next && next - text <= MOST; next = strstr(next + 1, " --"))
        end = next;
    return end ? (size_t)(end - text) : length;
}

/* Notes hold a sentence: many options take several. */
ms_status ms_training_note_ranks(const ms_training_ranks *t)
{
    ms_training_reading *r = t->r;
    ms_status status = MS_OK;
    const char *line = ms_training_line(r->arena, t->sharding->value);
    const char *left = r->ranks_said ? r->ranks_said : "given";
    while (*left && status == MS_OK) {
        size_t length = options_within(left);
        status = ms_note_add(r->notes, r->arena, r->err, "%.60s (%s) was read as %.*s",
                             ms_json_key(t->sharding->value), line ? line : "", (int)length, left);
        left += length + (left[length] == ' ');
    }
    return status;
}

/* ---- DistributedDataParallel of Trainer ---- */

static ms_status set_if(ms_training_reading *r, const char *field, const char *text)
{
    if (ms_run_field_is_set(r->draft, field))
        return MS_OK;
    return text ? ms_run_field_set(r->draft, r->arena, field, text, r->err) : no_memory(r);
}

/* Trainer does with PEFT's models and where no layer is checkpointed, LLaMA-Factory not with LoRA,
 * axolotl where it is asked to. */
static bool finds_unused(const ms_training_reading *r, ms_json_value root)
{
    ms_json_value value;
    const char *layers = r->draft->run.checkpointing;
    bool checkpoints = layers && *layers && strcmp(layers, "none") != 0;
    bool has_adapter = ms_training_has_adapter(r) || ms_run_has_lora(r->draft) ||
                       ms_run_field_is_set(r->draft, "adapter");
    bool is_plain = r->file.format == MS_TRAINING_HF || r->file.format == MS_TRAINING_SWIFT;
    bool absent = is_plain                                ? has_adapter || !checkpoints
                  : r->file.format == MS_TRAINING_FACTORY ? !has_adapter && !checkpoints
                                                          : false;
    return ms_json_find(root, "ddp_find_unused_parameters", &value) &&
                   ms_json_kind_of(value) != MS_JSON_NULL
               ? ms_training_truth(value, absent)
               : absent;
}

ms_status ms_training_set_of_trainer(ms_training_reading *r, ms_json_value root)
{
    enum { PASSED_OVER = 25 }; /* accelerate does not hand on what is its own default */
    static const char field[] = "find-unused-parameters";
    ms_json_value value;
    bool is_launcher =
        !r->draft->is_launched_apart && ms_json_find(root, "distributed_type", &value);
    bool is_trainer = r->file.format != MS_TRAINING_TORCHTUNE &&
                      r->file.format != MS_TRAINING_TITAN && r->file.format != MS_TRAINING_V1;
    bool is_engine = ms_json_find(root, "zero_optimization", &value);
    ms_parallel_kind kind = r->draft->run.parallel.layout.kind;
    if (kind == MS_PARALLEL_ZERO && is_trainer && !is_launcher && !is_engine &&
        r->ranks == MS_PARALLEL_NONE)
        return set_if(r, "decay-groups", "yes");
    if (kind != MS_PARALLEL_DDP || !is_trainer)
        return MS_OK;
    if (is_launcher && (ms_run_field_is_set(r->draft, field) || !finds_unused(r, root)))
        return MS_OK;
    if (is_launcher)
        return ms_note_add(r->notes, r->arena, r->err,
                           "Trainer copies the outputs of DistributedDataParallel unless layers "
                           "are checkpointed: give --find-unused-parameters yes");
    ms_status status = MS_OK;
    bool is_static =
        ms_json_find(root, "ddp_static_graph", &value) && ms_training_truth(value, false);
    if (is_static)
        status = set_if(r, "static-graph", "yes");
    if (status == MS_OK && ms_json_find(root, "ddp_bucket_cap_mb", &value) &&
        ms_training_value_number(value) >= 1 && ms_training_value_number(value) != PASSED_OVER)
        status = set_if(r, "bucket-cap-mb",
                        ms_arena_printf(r->arena, "%.17g", ms_training_value_number(value)));
    if (status == MS_OK && !is_static)
        status = set_if(r, "no-sync", "yes");
    return status == MS_OK && !is_static && finds_unused(r, root) ? set_if(r, field, "yes")
                                                                  : status;
}
