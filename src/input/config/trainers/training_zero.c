/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As DeepSpeed 0.19, transformers 5.23 and accelerate 1.15 read them.
 */
#include "input/config/trainers/training_zero.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "input/config/trainers/zero/training_zero_keys.h"

/* DeepSpeed's own optimizers. */
static ms_status take_optimizer(const ms_training_ranks *t)
{
    ms_json_value value;
    if (!ms_json_find_pointer(t->config, "/optimizer/type", &value))
        return MS_OK;
    const char *type = ms_training_value_text(value);
    if (ms_run_field_is_set(t->r->draft, "optimizer"))
        return MS_OK;
    const bool is_adam = strcasecmp(type, "adamw") == 0 || strcasecmp(type, "adam") == 0;
    ms_status status =
        is_adam ? MS_OK
                : ms_training_set_aside(t, value, MS_EFFECT_EITHER, "the figures are for AdamW");
    if (status == MS_OK)
        status = ms_training_set_option(t, "optimizer", "adamw");
    if (status == MS_OK)
        status = ms_training_set_option(t, "optimizer-impl", "fused");
    return status == MS_OK && is_adam
               ? ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                             "DeepSpeed's %.40s; the optimizer is PyTorch's fused AdamW", type)
               : status;
}

/* ---- all of it ---- */

/* Of ZeRO-3 that is not predicted: FSDP2 of as many ranks; of one rank the second stage. */
static ms_status shard_instead(const ms_training_ranks *t, ms_json_value place, uint64_t world,
                               bool *is_read)
{
    const bool is_one = world == 1;
    ms_status status = ms_training_set_aside(
        t, place, MS_EFFECT_EITHER,
        is_one ? "ZeRO-3 on one rank, which is not predicted; the figures are for ZeRO-2"
               : "ZeRO-3, which is not predicted here; the figures are for FSDP2");
    return status == MS_OK
               ? ms_training_set_layout(
                     t,
                     ms_arena_printf(t->r->arena, is_one ? "zero=2,dp=%" PRIu64 : "fsdp=%" PRIu64,
                                     world),
                     is_read)
               : status;
}

static ms_status set_layout(const ms_training_ranks *t, ms_json_value place, double stage,
                            bool *is_read)
{
    uint64_t world = 0;
    if (stage == 0)
        return ms_training_refuse_whole(t);
    if (stage != 1 && stage != 2 && stage != 3)
        return ms_training_refuse(t, place, "expected stage 1, 2 or 3");
    ms_status status = ms_training_world(t, &world);
    if (status != MS_OK)
        return status;
    if (stage == 3 && t->r->draft->shards_instead)
        return shard_instead(t, place, world, is_read);
    status = ms_training_set_layout(
        t, ms_arena_printf(t->r->arena, "zero=%d,dp=%" PRIu64, (int)stage, world), is_read);
    t->r->draft->has_zero3 = *is_read && stage == 3;
    return status;
}

/* accelerate's keys: zero_stage, offload_optimizer_device, ... */
static ms_status read_short(ms_training_ranks *t, bool *is_read)
{
    ms_json_value value, place = t->sharding->value;
    bool has_stage = ms_json_find(t->config, "zero_stage", &value);
    double stage = has_stage ? ms_training_value_number(value) : 2;
    ms_status status = set_layout(t, has_stage ? value : place, stage, is_read);
    if (status != MS_OK || !*is_read)
        return status;
    status = ms_training_zero_take_short(t);
    return status == MS_OK ? ms_training_zero_take_numbers(t) : status;
}

/* Of the configuration, but for its stage. */
static ms_status take_all(const ms_training_ranks *t, ms_json_value zero)
{
    ms_status status = ms_training_zero_take_inner(t, zero);
    if (status == MS_OK)
        status = ms_training_zero_take_numbers(t);
    if (status == MS_OK)
        status = take_optimizer(t);
    return status == MS_OK ? ms_training_zero_take_types(t) : status;
}

static ms_status read_whole(ms_training_ranks *t, bool *is_read)
{
    ms_json_value zero, stage;
    bool is_given = ms_run_field_is_set(t->r->draft, "parallel");
    ms_status status = is_given ? MS_OK : ms_training_zero_take_outer(t);
    if (status != MS_OK)
        return status;
    if (!ms_json_find(t->config, "zero_optimization", &zero) ||
        !ms_json_find(zero, "stage", &stage))
        return ms_json_fail(t->r->err, t->config, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "zero_optimization has no stage");
    status = set_layout(t, stage, ms_training_value_number(stage), is_read);
    return status == MS_OK && *is_read ? take_all(t, zero) : status;
}

/* Trainer makes two groups of parameters, but has DeepSpeed make its own optimizer, which has one
 * (deepspeed_optim_sched of transformers). */
static ms_status set_groups(const ms_training_ranks *t)
{
    ms_json_value value;
    bool is_trainers = t->r->draft->is_launched_apart ||
                       (!t->is_launched && ms_json_find(t->root, "deepspeed", &value));
    if (ms_json_find(t->config, "optimizer", &value) ||
        ms_run_field_is_set(t->r->draft, "decay-groups") || t->r->file.format == MS_TRAINING_V1)
        return MS_OK;
    if (is_trainers)
        return ms_training_set_option(t, "decay-groups", "yes");
    if (t->r->draft->run.parallel.layout.stage == 3) /* a few KiB */
        return MS_OK;
    return ms_note_add(
        t->r->unsupported, t->r->arena, t->r->err,
        "Trainer's parameters without weight decay, which ZeRO partitions separately: the figures "
        "have one partition; give --decay-groups yes if Trainer runs");
}

ms_status ms_training_read_zero(ms_training_ranks *t, bool is_short, bool *is_read)
{
    ms_json_value value;
    ms_status status = is_short ? read_short(t, is_read) : read_whole(t, is_read);
    bool on_host = t->r->draft->run.training.optimizer_device == MS_OPTIMIZER_ON_HOST;
    if (status == MS_OK && *is_read && on_host)
        status = ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                             "DeepSpeedCPUAdam; the optimizer on the host is PyTorch's");
    if (status == MS_OK && *is_read && !ms_training_zero_is_sharded(t))
        status = set_groups(t);
    if (status != MS_OK || !*is_read || !t->is_launched || ms_training_zero_is_sharded(t) ||
        !ms_json_find_pointer(t->root, "/deepspeed_config/zero3_init_flag", &value))
        return status;
    bool is_third = t->r->draft->run.parallel.layout.stage == 3;
    return is_third && !ms_training_truth(value, true)
               ? ms_training_set_option(t, "zero-init", "no")
               : MS_OK;
}

ms_status ms_training_set_zero_types(ms_training_reading *r, const char *autocast)
{
    static const char *const names[] = {
        [MS_TRAINING_TYPE_BF16] = "bf16", [MS_TRAINING_TYPE_FP16] = "fp16"};
    bool is_said = r->type != MS_TRAINING_TYPE_NONE;
    const char *dtype = is_said ? names[r->type] : autocast;
    if (!is_said && ms_run_field_is_set(r->draft, "dtype") && r->draft->run.dtype != MS_DTYPE_F32)
        return ms_training_offer(r, "autocast", "none", MS_TOPIC_BF16);
    if (strcmp(dtype, "none") == 0)
        return ms_json_fail(
            r->err, r->shards, MS_JSON_AT_KEY, MS_ERR_CONFIG,
            r->takes_auto_type
                ? "bf16 and fp16 are \"auto\", which Trainer fills in from its own arguments: give "
                  "those, with this file as \"deepspeed\", or --dtype bf16"
                : "DeepSpeed without bf16 or fp16 is not predicted: set either (bf16: true in the "
                  "trainer's arguments, or --dtype bf16)");
    if (!is_said && !r->takes_auto_type && strcmp(dtype, "fp16") == 0)
        return ms_json_fail(r->err, r->shards, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "DeepSpeed's fp16 with auto_cast, which accelerate sets if its "
                            "configuration has no fp16, is not predicted: use bf16");
    ms_status status = ms_training_offer(r, "dtype", dtype, MS_TOPIC_BF16);
    return status == MS_OK ? ms_training_offer(r, "autocast", "none", MS_TOPIC_BF16) : status;
}
