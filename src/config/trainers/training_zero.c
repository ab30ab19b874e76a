/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As DeepSpeed 0.19, transformers 5.23 and accelerate 1.15 read them.
 */
#include "config/trainers/training_zero.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* ---- what a key stands for ---- */

typedef enum key_use {
    USE_COUNT,       /* elements; "auto" by the hidden size */
    USE_ANSWER,      /* true and false */
    USE_PLACE,       /* {"device": "cpu"} */
    USE_PLAIN,       /* read elsewhere, or of no consequence for memory */
    USE_REFUSED,     /* refused if it says something */
    USE_REFUSED_OFF, /* refused if it is false */
    USE_USUAL        /* refused unless it is 1e9 */
} key_use;

typedef struct key_row {
    const char *key;
    key_use use;
    const char *field;     /* the option, or what the key stands for */
    double squares, times; /* "auto": hidden size squared, and once */
} key_row;

/* clang-format off */
static const key_row keys[] = {
    {"stage",                               USE_PLAIN,   NULL, 0, 0},
    {"reduce_bucket_size",                  USE_COUNT,   "reduce-bucket-size", 1, 0},
    {"overlap_comm",                        USE_ANSWER,  "overlap-comm", 0, 0},
    {"contiguous_gradients",                USE_ANSWER,  "contiguous-gradients", 0, 0},
    {"stage3_prefetch_bucket_size",         USE_COUNT,   "stage3-prefetch-bucket-size", 0.9, 0},
    {"stage3_param_persistence_threshold",  USE_COUNT,   "stage3-param-persistence-threshold", 0, 10},
    {"stage3_max_live_parameters",          USE_COUNT,   "stage3-max-live-parameters", 0, 0},
    {"stage3_max_reuse_distance",           USE_COUNT,   "stage3-max-reuse-distance", 0, 0},
    {"offload_optimizer",                   USE_PLACE,   "optimizer-device", 0, 0},
    {"offload_param",                       USE_PLACE,   "offload-param", 0, 0},
    {"sub_group_size",                      USE_USUAL,   "other groups of ZeRO-3's optimizer", 0, 0},
    {"reduce_scatter",                      USE_REFUSED_OFF, "all-reduces of gradients", 0, 0},
    {"memory_efficient_linear",             USE_REFUSED_OFF, "PyTorch's linear layers in ZeRO-3", 0, 0},
    {"round_robin_gradients",               USE_REFUSED, "gradients that go round", 0, 0},
    {"cpu_offload",                         USE_REFUSED, "an old key for offload_optimizer", 0, 0},
    {"cpu_offload_params",                  USE_REFUSED, "an old key for offload_param", 0, 0},
    {"zero_hpz_partition_size",             USE_REFUSED, "ZeRO++", 0, 0},
    {"zero_quantized_weights",              USE_REFUSED, "ZeRO++", 0, 0},
    {"zero_quantized_gradients",            USE_REFUSED, "ZeRO++", 0, 0},
    {"zero_quantized_nontrainable_weights", USE_REFUSED, "ZeRO++", 0, 0},
    {"mics_shard_size",                     USE_REFUSED, "MiCS", 0, 0},
    {"stage3_module_granularity_threshold", USE_REFUSED, "modules that are gathered as one", 0, 0},
    {"stage3_use_all_reduce_for_fetch_params", USE_REFUSED, "all-reduces of parameters", 0, 0},
    {"stage3_model_persistence_threshold",  USE_REFUSED, "a limit of persistent parameters", 0, 0},
    {"zenflow",                             USE_REFUSED, "ZenFlow", 0, 0},
    {"leaf_module",                         USE_REFUSED, "modules that are gathered as one", 0, 0},
    {"allgather_partitions",                USE_PLAIN,   NULL, 0, 0},
    {"allgather_bucket_size",               USE_PLAIN,   NULL, 0, 0},
    {"stage3_gather_16bit_weights_on_model_save", USE_PLAIN, NULL, 0, 0},
    {"stage3_gather_fp16_weights_on_model_save", USE_PLAIN, NULL, 0, 0},
    {"load_from_fp32_weights",              USE_PLAIN,   NULL, 0, 0},
    {"elastic_checkpoint",                  USE_PLAIN,   NULL, 0, 0},
    {"ignore_unused_parameters",            USE_PLAIN,   NULL, 0, 0},
    {"log_trace_cache_warnings",            USE_PLAIN,   NULL, 0, 0},
};

/* Beside zero_optimization. */
static const key_row outer_keys[] = {
    {"zero_optimization",             USE_PLAIN,   NULL, 0, 0},
    {"bf16",                          USE_PLAIN,   NULL, 0, 0},
    {"bfloat16",                      USE_REFUSED, "an old key for bf16", 0, 0},
    {"fp16",                          USE_PLAIN,   NULL, 0, 0},
    {"optimizer",                     USE_PLAIN,   NULL, 0, 0},
    {"data_types",                    USE_PLAIN,   NULL, 0, 0},
    {"train_batch_size",              USE_PLAIN,   NULL, 0, 0},
    {"train_micro_batch_size_per_gpu", USE_PLAIN,  NULL, 0, 0},
    {"gradient_accumulation_steps",   USE_PLAIN,   NULL, 0, 0},
    {"gradient_clipping",             USE_PLAIN,   NULL, 0, 0},
    {"scheduler",                     USE_PLAIN,   NULL, 0, 0},
    {"steps_per_print",               USE_PLAIN,   NULL, 0, 0},
    {"wall_clock_breakdown",          USE_PLAIN,   NULL, 0, 0},
    {"dump_state",                    USE_PLAIN,   NULL, 0, 0},
    {"zero_allow_untested_optimizer", USE_PLAIN,   NULL, 0, 0},
    {"zero_force_ds_cpu_optimizer",   USE_PLAIN,   NULL, 0, 0},
    {"prescale_gradients",            USE_PLAIN,   NULL, 0, 0},
    {"gradient_predivide_factor",     USE_PLAIN,   NULL, 0, 0},
    {"activation_checkpointing",      USE_PLAIN,   NULL, 0, 0}, /* of models that call DeepSpeed's */
    {"checkpoint",                    USE_PLAIN,   NULL, 0, 0},
    {"tensorboard",                   USE_PLAIN,   NULL, 0, 0},
    {"wandb",                         USE_PLAIN,   NULL, 0, 0},
    {"csv_monitor",                   USE_PLAIN,   NULL, 0, 0},
    {"comms_logger",                  USE_PLAIN,   NULL, 0, 0},
    {"flops_profiler",                USE_PLAIN,   NULL, 0, 0},
    {"memory_breakdown",              USE_PLAIN,   NULL, 0, 0},
    {"aio",                           USE_PLAIN,   NULL, 0, 0},
    {"communication_data_type",       USE_REFUSED, "another type of reductions", 0, 0},
    {"amp",                           USE_REFUSED, "Apex", 0, 0},
    {"torch_autocast",                USE_REFUSED, "autocast of DeepSpeed", 0, 0},
    {"tensor_parallel",               USE_REFUSED, "tensor parallelism of DeepSpeed", 0, 0},
    {"sequence_parallel_size",        USE_REFUSED, "sequence parallelism of DeepSpeed", 0, 0},
    {"compile",                       USE_REFUSED, "DeepCompile", 0, 0},
    {"compression_training",          USE_REFUSED, "compression", 0, 0},
};
/* clang-format on */

static bool is_auto(ms_json_value value)
{
    return strcmp(ms_training_value_text(value), "auto") == 0;
}

/* A switch of its own: {"enabled": true}. */
static bool says_something(ms_json_value value)
{
    ms_json_value enabled;
    if (ms_json_find(value, "enabled", &enabled))
        return !ms_training_says_nothing(enabled);
    return !ms_training_says_nothing(value) && ms_training_value_number(value) != 1;
}

static ms_status refuse(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    return ms_training_refuse(t, value, "%s: %s: not predicted", row->key, row->field);
}

static ms_status set_count(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    double hidden = (double)t->r->model->hidden_size;
    bool is_filled = is_auto(value) && (row->squares > 0 || row->times > 0);
    double number = is_filled ? row->squares * hidden * hidden + row->times * hidden
                              : ms_training_value_number(value);
    if (number < 0)
        return ms_training_refuse(t, value,
                                  is_auto(value) ? "%s: transformers does not fill this one"
                                                 : "%s: expected a number of elements",
                                  row->key);
    return ms_training_set_option(t, row->field,
                                  ms_arena_printf(t->r->arena, "%" PRIu64, (uint64_t)number));
}

static ms_status set_place(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    ms_json_value device = value;
    (void)ms_json_find(value, "device", &device);
    const char *place = ms_training_value_text(device);
    if (ms_json_kind_of(device) == MS_JSON_NULL || ms_json_kind_of(device) == MS_JSON_OBJECT ||
        strcmp(place, "none") == 0 || is_auto(device))
        return MS_OK;
    if (strcmp(place, "cpu") != 0)
        return ms_training_refuse(t, device, "%s to '%.20s' is not predicted", row->key, place);
    return ms_training_set_option(t, row->field,
                                  strcmp(row->field, "offload-param") == 0 ? "yes" : "host");
}

static ms_status set_answer(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    bool truth = ms_training_truth(value, true);
    if (truth != ms_training_truth(value, false))
        return ms_training_refuse(t, value, "%s: expected true or false", row->key);
    return ms_training_set_option(t, row->field, truth ? "yes" : "no");
}

static ms_status take_key(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    enum { USUAL_GROUP = 1000000000 };
    bool is_off = !ms_training_truth(value, true);
    switch (row->use) {
    case USE_COUNT:
        return set_count(t, row, value);
    case USE_ANSWER:
        return set_answer(t, row, value);
    case USE_PLACE:
        return set_place(t, row, value);
    case USE_REFUSED:
        return says_something(value) ? refuse(t, row, value) : MS_OK;
    case USE_REFUSED_OFF:
        return is_off ? refuse(t, row, value) : MS_OK;
    case USE_USUAL:
        return ms_training_value_number(value) != USUAL_GROUP ? refuse(t, row, value) : MS_OK;
    case USE_PLAIN:
        break;
    }
    return MS_OK;
}

static ms_status take_keys(const ms_training_ranks *t, ms_json_value object, const key_row *rows,
                           size_t count)
{
    ms_json_value v;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const key_row *row = NULL;
        for (size_t i = 0; i < count && !row; i++)
            row = strcmp(rows[i].key, ms_json_key(v)) == 0 ? &rows[i] : NULL;
        if (row)
            status = ms_json_kind_of(v) == MS_JSON_NULL ? MS_OK : take_key(t, row, v);
        else if (*ms_json_key(v) != '_') /* a comment */
            status =
                ms_note_add(t->r->notes, t->r->arena, t->r->err,
                            "'%.60s' of DeepSpeed's configuration was not read", ms_json_key(v));
    }
    return status;
}

/* ---- what TrainingArguments say too ---- */

static ms_status take_number(const ms_training_ranks *t, const char *key, const char *field,
                             const char *other)
{
    ms_json_value value, there;
    if (!ms_json_find(t->config, key, &value) || is_auto(value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    double number = ms_training_value_number(value);
    if (ms_json_find(t->root, other, &there) && strcmp(key, other) != 0 &&
        ms_training_value_number(there) != number)
        return ms_training_refuse(t, value, "%s differs from %s of the training arguments", key,
                                  other);
    if (number <= 0 && strcmp(field, "clip") == 0)
        return ms_training_set_option(t, field, "none");
    return ms_training_set_option(t, field, ms_arena_printf(t->r->arena, "%.17g", number));
}

static ms_status take_numbers(const ms_training_ranks *t)
{
    bool is_axolotl = t->r->file.format == MS_TRAINING_AXOLOTL;
    const char *const rows[][3] = {
        {"train_micro_batch_size_per_gpu", "batch",
         is_axolotl ? "micro_batch_size" : "per_device_train_batch_size"},
        {"gradient_accumulation_steps", "accumulate", "gradient_accumulation_steps"},
        {"gradient_clipping", "clip", "max_grad_norm"},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == MS_OK; i++)
        status = take_number(t, rows[i][0], rows[i][1], rows[i][2]);
    return status;
}

/* DeepSpeed's own optimizers. */
static ms_status take_optimizer(const ms_training_ranks *t)
{
    ms_json_value value;
    if (!ms_json_find_pointer(t->config, "/optimizer/type", &value))
        return MS_OK;
    const char *type = ms_training_value_text(value);
    if (strcasecmp(type, "adamw") != 0 && strcasecmp(type, "adam") != 0)
        return ms_training_refuse(t, value, "'%.40s': AdamW and Adam are predicted", type);
    ms_status status = ms_training_set_option(t, "optimizer", "adamw");
    if (status == MS_OK)
        status = ms_training_set_option(t, "optimizer-impl", "fused");
    return status == MS_OK
               ? ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                             "DeepSpeed's %.40s; the optimizer is PyTorch's fused AdamW", type)
               : status;
}

static ms_status take_types(const ms_training_ranks *t)
{
    static const struct {
        const char *pointer;
        ms_training_type type;
    } rows[] = {{"/bf16/enabled", MS_TRAINING_TYPE_BF16}, {"/fp16/enabled", MS_TRAINING_TYPE_FP16}};
    ms_json_value value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ms_json_find_pointer(t->config, rows[i].pointer, &value) && is_auto(value))
            t->r->takes_auto_type = true;
        else if (ms_json_find_pointer(t->config, rows[i].pointer, &value) &&
                 ms_training_truth(value, false))
            t->r->type = rows[i].type;
    if (!ms_json_find_pointer(t->config, "/data_types/grad_accum_dtype", &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    const char *text = ms_training_value_text(value);
    if (strcmp(text, "fp32") == 0)
        return ms_training_set_option(t, "grad-accumulation-dtype", "fp32");
    return ms_training_refuse(t, value, "grad_accum_dtype '%.20s' is not predicted", text);
}

/* ---- all of it ---- */

static ms_status set_layout(const ms_training_ranks *t, ms_json_value place, double stage,
                            bool *is_read)
{
    uint64_t world = 0;
    if (stage != 1 && stage != 2 && stage != 3)
        return ms_training_refuse(t, place, "expected stage 1, 2 or 3");
    ms_status status = ms_training_world(t, &world);
    return status == MS_OK
               ? ms_training_set_layout(
                     t, ms_arena_printf(t->r->arena, "zero=%d,dp=%" PRIu64, (int)stage, world),
                     is_read)
               : status;
}

/* accelerate's keys: zero_stage, offload_optimizer_device, ... */
static ms_status read_short(ms_training_ranks *t, bool *is_read)
{
    static const key_row places[] = {
        {"offload_optimizer_device", USE_PLACE, "optimizer-device", 0, 0},
        {"offload_param_device", USE_PLACE, "offload-param", 0, 0},
    };
    ms_json_value value, place = t->sharding->value;
    bool has_stage = ms_json_find(t->config, "zero_stage", &value);
    double stage = has_stage ? ms_training_value_number(value) : 2;
    ms_status status = set_layout(t, has_stage ? value : place, stage, is_read);
    for (size_t i = 0; i < 2 && status == MS_OK && *is_read; i++)
        if (ms_json_find(t->config, places[i].key, &value))
            status = set_place(t, &places[i], value);
    return status == MS_OK && *is_read ? take_numbers(t) : status;
}

/* Of the configuration, but for its stage. */
static ms_status take_all(const ms_training_ranks *t, ms_json_value zero)
{
    ms_status status = take_keys(t, zero, keys, sizeof keys / sizeof *keys);
    if (status == MS_OK)
        status = take_numbers(t);
    if (status == MS_OK)
        status = take_optimizer(t);
    return status == MS_OK ? take_types(t) : status;
}

static ms_status read_whole(ms_training_ranks *t, bool *is_read)
{
    ms_json_value zero, stage;
    bool is_given = ms_run_field_is_set(t->r->draft, "parallel");
    ms_status status =
        is_given ? MS_OK
                 : take_keys(t, t->config, outer_keys, sizeof outer_keys / sizeof *outer_keys);
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
    bool is_trainers = !t->is_launched && ms_json_find(t->root, "deepspeed", &value);
    if (ms_json_find(t->config, "optimizer", &value) ||
        ms_run_field_is_set(t->r->draft, "decay-groups"))
        return MS_OK;
    if (is_trainers)
        return ms_training_set_option(t, "decay-groups", "yes");
    if (t->r->draft->run.parallel.layout.stage == 3) /* a few KiB */
        return MS_OK;
    return ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                       "Trainer's parameters without weight decay, which ZeRO partitions apart: "
                       "the figures have one partition; --decay-groups yes if Trainer runs");
}

ms_status ms_training_read_zero(ms_training_ranks *t, bool is_short, bool *is_read)
{
    ms_json_value value;
    ms_status status = is_short ? read_short(t, is_read) : read_whole(t, is_read);
    bool on_host = t->r->draft->run.training.optimizer_device == MS_OPTIMIZER_ON_HOST;
    if (status == MS_OK && *is_read && on_host)
        status = ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                             "DeepSpeedCPUAdam; the optimizer on the host is PyTorch's");
    if (status == MS_OK && *is_read)
        status = set_groups(t);
    if (status != MS_OK || !*is_read || !t->is_launched ||
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
        return ms_fail(
            r->err, MS_ERR_CONFIG,
            r->takes_auto_type
                ? "training-args: bf16 and fp16 are \"auto\" for DeepSpeed, which Trainer "
                  "fills from its own arguments: give those, with this file as "
                  "\"deepspeed\", or --dtype bf16"
                : "training-args: DeepSpeed without bf16 or fp16 is not predicted");
    if (!is_said && !r->takes_auto_type && strcmp(dtype, "fp16") == 0)
        return ms_fail(
            r->err, MS_ERR_CONFIG,
            "training-args: DeepSpeed's fp16 with auto_cast, which accelerate sets where "
            "its configuration has no fp16, is not predicted");
    ms_status status = ms_training_offer(r, "dtype", dtype, MS_TOPIC_BF16);
    return status == MS_OK ? ms_training_offer(r, "autocast", "none", MS_TOPIC_BF16) : status;
}
