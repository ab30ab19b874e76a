/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As DeepSpeed 0.19, transformers 5.23 and accelerate 1.15 read them.
 */
#include "input/config/trainers/zero/training_zero_keys.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"

/* ---- what a key stands for ---- */

typedef enum key_use {
    USE_COUNT,    /* elements; "auto" by the hidden size */
    USE_ANSWER,   /* true and false */
    USE_PLACE,    /* {"device": "cpu"} */
    USE_PLAIN,    /* read elsewhere, or of no consequence for memory */
    USE_REFUSED,  /* refused if it says something */
    USE_LEFT_OUT, /* the figures are without it, if it says something */
    USE_SHARE,    /* the same, unless it is 1 */
    USE_INSIDE    /* an object, whose keys are those of `inside` */
} key_use;

typedef struct key_row {
    const char *key;
    key_use use;
    const char *field;     /* the option, or what the key stands for */
    double squares, times; /* "auto": hidden size squared, and once */
    ms_key_effect effect;  /* of what is left out; none: either */
    const struct key_table *inside;
} key_row;

typedef struct key_table {
    const key_row *rows;
    size_t count;
} key_table;

#define TABLE(list)                                                                                \
    {                                                                                              \
        list, sizeof(list) / sizeof(list)[0]                                                       \
    }
#define PLAIN(name)                                                                                \
    {                                                                                              \
        .key = name, .use = USE_PLAIN                                                              \
    }
#define REFUSED(name, what)                                                                        \
    {                                                                                              \
        .key = name, .use = USE_REFUSED, .field = what                                             \
    }
#define LEFT_OUT(name, what)                                                                       \
    {                                                                                              \
        .key = name, .use = USE_LEFT_OUT, .field = what                                            \
    }
#define HALF_STATES(name, type)                                                                    \
    {                                                                                              \
        .key = name, .use = USE_LEFT_OUT, .effect = MS_EFFECT_SAVES,                               \
        .field = "states in " type "; the figures are for states in fp32"                          \
    }

/* clang-format off */
static const key_row bf16_rows[] = {
    PLAIN("enabled"),
    PLAIN("auto_cast"),
    PLAIN("immediate_grad_update"),
    PLAIN("check_grad_overflow"),
    HALF_STATES("bf16_master_weights_and_grads", "bf16"),
    HALF_STATES("bf16_optimizer_states", "bf16"),
};

static const key_table of_bf16 = TABLE(bf16_rows);

static const key_row fp16_rows[] = {
    PLAIN("enabled"),
    PLAIN("loss_scale"),
    PLAIN("initial_scale_power"),
    PLAIN("loss_scale_window"),
    PLAIN("hysteresis"),
    PLAIN("consecutive_hysteresis"),
    PLAIN("min_loss_scale"),
    PLAIN("opt_level"), /* of Apex, which older files have */
    LEFT_OUT("auto_cast", "inputs that are cast"),
    HALF_STATES("fp16_master_weights_and_grads", "fp16"),
};

static const key_table of_fp16 = TABLE(fp16_rows);

static const key_row optimizer_rows[] = {
    PLAIN("device"),
    PLAIN("nvme_path"),
    PLAIN("buffer_count"),
    PLAIN("pin_memory"),
    PLAIN("pipeline"),
    PLAIN("pipeline_read"),
    PLAIN("pipeline_write"),
    PLAIN("fast_init"),
    PLAIN("cpuadam_cores_perc"),
    {.key = "ratio", .use = USE_SHARE, .effect = MS_EFFECT_ADDS,
     .field = "an optimizer of which a part stays on the device; in the figures no part does"},
    LEFT_OUT("super_offload", "SuperOffload"),
};

static const key_table of_optimizer = TABLE(optimizer_rows);

static const key_row param_rows[] = {
    PLAIN("device"),
    PLAIN("nvme_path"),
    PLAIN("buffer_count"),
    PLAIN("buffer_size"), /* of NVMe */
    PLAIN("max_in_cpu"),
    PLAIN("pin_memory"),
};

static const key_table of_param = TABLE(param_rows);

static const key_row inner_rows[] = {
    PLAIN("stage"),
    {.key = "reduce_bucket_size", .use = USE_COUNT, .field = "reduce-bucket-size", .squares = 1},
    {.key = "overlap_comm", .use = USE_ANSWER, .field = "overlap-comm"},
    {.key = "contiguous_gradients", .use = USE_ANSWER, .field = "contiguous-gradients"},
    {.key = "stage3_prefetch_bucket_size", .use = USE_COUNT, .field = "stage3-prefetch-bucket-size", .squares = 0.9},
    {.key = "stage3_param_persistence_threshold", .use = USE_COUNT, .field = "stage3-param-persistence-threshold", .times = 10},
    {.key = "stage3_max_live_parameters", .use = USE_COUNT, .field = "stage3-max-live-parameters"},
    {.key = "stage3_max_reuse_distance", .use = USE_COUNT, .field = "stage3-max-reuse-distance"},
    {.key = "offload_optimizer", .use = USE_PLACE, .field = "optimizer-device", .inside = &of_optimizer},
    {.key = "offload_param", .use = USE_PLACE, .field = "offload-param", .inside = &of_param},
    PLAIN("sub_group_size"), /* this and the next are not predicted: see hf.keys */
    PLAIN("reduce_scatter"),
    PLAIN("memory_efficient_linear"),
    PLAIN("round_robin_gradients"),
    REFUSED("cpu_offload", "an old key, which DeepSpeed no longer takes: give offload_optimizer"),
    REFUSED("cpu_offload_params", "an old key, which DeepSpeed no longer takes: give offload_param"),
    LEFT_OUT("zero_hpz_partition_size", "ZeRO++"),
    LEFT_OUT("zero_quantized_weights", "ZeRO++"),
    LEFT_OUT("zero_quantized_gradients", "ZeRO++"),
    LEFT_OUT("zero_quantized_nontrainable_weights", "ZeRO++"),
    LEFT_OUT("mics_shard_size", "MiCS"),
    LEFT_OUT("stage3_module_granularity_threshold", "modules that are gathered as a unit"),
    LEFT_OUT("stage3_use_all_reduce_for_fetch_params", "all-reduces of parameters"),
    LEFT_OUT("stage3_model_persistence_threshold", "a limit of persistent parameters"),
    LEFT_OUT("zenflow", "ZenFlow"),
    LEFT_OUT("leaf_module", "modules that are gathered as a unit"),
    PLAIN("allgather_partitions"),
    PLAIN("allgather_bucket_size"),
    PLAIN("stage3_gather_16bit_weights_on_model_save"),
    PLAIN("stage3_gather_fp16_weights_on_model_save"),
    PLAIN("load_from_fp32_weights"),
    PLAIN("elastic_checkpoint"),
    PLAIN("ignore_unused_parameters"),
    PLAIN("log_trace_cache_warnings"),
};

static const key_table inner_keys = TABLE(inner_rows);

/* Beside zero_optimization. */
static const key_row outer_rows[] = {
    PLAIN("zero_optimization"),
    {.key = "bf16", .use = USE_INSIDE, .inside = &of_bf16},
    REFUSED("bfloat16", "an old key: give bf16"),
    {.key = "fp16", .use = USE_INSIDE, .inside = &of_fp16},
    PLAIN("optimizer"),
    PLAIN("data_types"),
    PLAIN("train_batch_size"),
    PLAIN("train_micro_batch_size_per_gpu"),
    PLAIN("gradient_accumulation_steps"),
    PLAIN("gradient_clipping"),
    PLAIN("scheduler"),
    PLAIN("steps_per_print"),
    PLAIN("wall_clock_breakdown"),
    PLAIN("dump_state"),
    PLAIN("zero_allow_untested_optimizer"),
    PLAIN("zero_force_ds_cpu_optimizer"),
    PLAIN("prescale_gradients"),
    PLAIN("gradient_predivide_factor"),
    PLAIN("activation_checkpointing"), /* of models that call DeepSpeed's */
    PLAIN("checkpoint"),
    PLAIN("tensorboard"),
    PLAIN("wandb"),
    PLAIN("csv_monitor"),
    PLAIN("comms_logger"),
    PLAIN("flops_profiler"),
    PLAIN("memory_breakdown"),
    PLAIN("aio"),
    LEFT_OUT("elasticity", "batches whose size depends on the number of GPUs"),
    PLAIN("communication_data_type"), /* not predicted */
    LEFT_OUT("amp", "Apex"),
    LEFT_OUT("torch_autocast", "autocast of DeepSpeed"),
    LEFT_OUT("tensor_parallel", "tensor parallelism of DeepSpeed"),
    LEFT_OUT("sequence_parallel_size", "sequence parallelism of DeepSpeed"),
    LEFT_OUT("compile", "DeepCompile"),
    LEFT_OUT("compression_training", "compression"),
};

static const key_table outer_keys = TABLE(outer_rows);

static const key_row short_places[] = {
    {.key = "offload_optimizer_device", .use = USE_PLACE, .field = "optimizer-device"},
    {.key = "offload_param_device", .use = USE_PLACE, .field = "offload-param"},
};

/* clang-format on */

/* Whether a value is left to the training arguments. */
static bool training_zero_is_auto(ms_json_value value)
{
    return strcmp(ms_training_value_text(value), "auto") == 0;
}

static ms_status take_keys(const ms_training_ranks *t, ms_json_value object,
                           const key_table *table);

/* A switch of its own: {"enabled": true}. */
static bool says_something(ms_json_value value)
{
    ms_json_value enabled;
    if (ms_json_find(value, "enabled", &enabled))
        return !ms_training_says_nothing(enabled);
    const double number = ms_training_value_number(value);
    const bool is_number = ms_json_kind_of(value) == MS_JSON_NUMBER;
    return !ms_training_says_nothing(value) && number != 1 && !(is_number && number < 0);
}

static ms_status refuse(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    return ms_training_refuse(t, value, "%s: %s", row->key, row->field);
}

static ms_status leave_out(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    return ms_training_set_aside(
        t, value, row->effect == MS_EFFECT_NONE ? MS_EFFECT_EITHER : row->effect, row->field);
}

static ms_status set_count(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    double hidden = (double)t->r->model->hidden_size;
    bool is_filled = training_zero_is_auto(value) && (row->squares > 0 || row->times > 0);
    double number = is_filled ? row->squares * hidden * hidden + row->times * hidden
                              : ms_training_value_number(value);
    if (number < 0)
        return ms_training_refuse(t, value,
                                  training_zero_is_auto(value)
                                      ? "%s: transformers does not fill this one"
                                      : "%s: expected a number of elements",
                                  row->key);
    return ms_training_set_option(t, row->field,
                                  ms_arena_printf(t->r->arena, "%" PRIu64, (uint64_t)number));
}

bool ms_training_zero_is_sharded(const ms_training_ranks *t)
{
    return ms_layout_shards(&t->r->draft->run.parallel.layout);
}

static ms_status set_place(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    ms_json_value device = value;
    (void)ms_json_find(value, "device", &device);
    const char *place = ms_training_value_text(device);
    if (ms_json_kind_of(device) == MS_JSON_NULL || ms_json_kind_of(device) == MS_JSON_OBJECT ||
        strcmp(place, "none") == 0 || training_zero_is_auto(device))
        return MS_OK;
    const bool is_disk = strcmp(place, "nvme") == 0;
    const bool is_param = strcmp(row->field, "offload-param") == 0;
    if (!is_disk && strcmp(place, "cpu") != 0)
        return ms_training_refuse(t, device, "%s to '%.20s': expected cpu, nvme or none", row->key,
                                  place);
    ms_status status = is_disk ? ms_training_set_aside(t, device, MS_EFFECT_EITHER,
                                                       "a disk; the figures are for the host")
                               : MS_OK;
    const bool is_idle = t->r->draft->shards_instead && is_param; /* ZeRO-2 has none */
    if (status == MS_OK && ms_training_zero_is_sharded(t))
        status = ms_training_set_option(t, "fsdp-offload", "yes");
    else if (status == MS_OK && !is_idle)
        status = ms_training_set_option(t, row->field, is_param ? "yes" : "host");
    return status == MS_OK && row->inside ? take_keys(t, value, row->inside) : status;
}

static ms_status set_answer(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    bool truth = ms_training_truth(value, true);
    if (truth != ms_training_truth(value, false))
        return ms_training_refuse(t, value, "%s: expected true or false", row->key);
    return ms_training_set_option(t, row->field, truth ? "yes" : "no");
}

/* What a switch that is off says besides is idle. */
static ms_status take_inside(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    ms_json_value enabled;
    bool is_on = ms_json_find(value, "enabled", &enabled) &&
                 (training_zero_is_auto(enabled) || ms_training_truth(enabled, false));
    return is_on ? take_keys(t, value, row->inside) : MS_OK;
}

static ms_status take_key(const ms_training_ranks *t, const key_row *row, ms_json_value value)
{
    switch (row->use) {
    case USE_COUNT:
        return ms_training_zero_is_sharded(t) ? MS_OK : set_count(t, row, value);
    case USE_ANSWER:
        return ms_training_zero_is_sharded(t) ? MS_OK : set_answer(t, row, value);
    case USE_PLACE:
        return set_place(t, row, value);
    case USE_REFUSED:
        return says_something(value) ? refuse(t, row, value) : MS_OK;
    case USE_LEFT_OUT:
        return says_something(value) ? leave_out(t, row, value) : MS_OK;
    case USE_SHARE:
        return ms_training_value_number(value) != 1 ? leave_out(t, row, value) : MS_OK;
    case USE_INSIDE:
        return take_inside(t, row, value);
    case USE_PLAIN:
        break;
    }
    return MS_OK;
}

static const key_row *row_of(const key_row *rows, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    return NULL;
}

static ms_status take_keys(const ms_training_ranks *t, ms_json_value object, const key_table *table)
{
    ms_json_value v;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const key_row *row = row_of(table->rows, table->count, ms_json_key(v));
        if (row)
            status = ms_json_kind_of(v) == MS_JSON_NULL ? MS_OK : take_key(t, row, v);
        else if (*ms_json_key(v) != '_') /* a comment */
            status =
                ms_note_add(t->r->notes, t->r->arena, t->r->err,
                            "'%.60s' of DeepSpeed's configuration was ignored", ms_json_key(v));
    }
    return status;
}

ms_status ms_training_zero_take_outer(const ms_training_ranks *t)
{
    return take_keys(t, t->config, &outer_keys);
}

ms_status ms_training_zero_take_inner(const ms_training_ranks *t, ms_json_value zero)
{
    return take_keys(t, zero, &inner_keys);
}

ms_status ms_training_zero_take_short(const ms_training_ranks *t)
{
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof short_places / sizeof *short_places && status == MS_OK; i++)
        if (ms_json_find(t->config, short_places[i].key, &value))
            status = set_place(t, &short_places[i], value);
    return status;
}

/* ---- numbers that both say ---- */

/* The configuration's value of a key that the training arguments need not fill in. */
static bool find_own(const ms_training_ranks *t, const char *key, ms_json_value *value)
{
    return ms_json_find(t->config, key, value) && !training_zero_is_auto(*value) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

static ms_status take_number(const ms_training_ranks *t, const char *key, const char *field,
                             const char *other)
{
    ms_json_value value, there;
    if (!find_own(t, key, &value))
        return MS_OK;
    double number = ms_training_value_number(value);
    if (ms_json_find(t->root, other, &there) && ms_json_kind_of(there) == MS_JSON_NUMBER &&
        ms_training_value_number(there) != number)
        return ms_training_refuse(t, value, "%s differs from %s of the training arguments", key,
                                  other);
    if (number <= 0 && strcmp(field, "clip") == 0)
        return ms_training_set_option(t, field, "none");
    return ms_training_set_option(t, field, ms_arena_printf(t->r->arena, "%.17g", number));
}

/* ---- train_batch_size = micro-batch * accumulation * ranks ---- */

typedef struct factor {
    const char *key, *field, *other; /* of the configuration, the run and the training arguments */
    double usual;                    /* of the training arguments, which fill in "auto" */
    bool is_asked;                   /* the run has it from elsewhere, which wins */
    double number;                   /* 0: nothing says it */
} factor;

static void find_factor(const ms_training_ranks *t, factor *f)
{
    ms_json_value value;
    bool is_left = ms_json_find(t->config, f->key, &value) && training_zero_is_auto(value);
    if (f->is_asked)
        f->number = (double)(strcmp(f->field, "batch") == 0 ? t->r->draft->run.batch
                                                            : t->r->draft->run.training.accumulate);
    else if (find_own(t, f->key, &value) ||
             (ms_json_find(t->root, f->other, &value) && !training_zero_is_auto(value)))
        f->number = ms_training_value_number(value);
    else if (is_left)
        f->number = f->usual;
}

static bool is_count(double number)
{
    enum { MOST = 1 << 30 };
    return number >= 1 && number <= MOST && number == (double)(uint64_t)number;
}

/* What is not said is what is left of the whole; both: all of it in one micro-batch. */
static ms_status split_batch(const ms_training_ranks *t, ms_json_value value, factor *micro,
                             factor *steps)
{
    double ranks = (double)ms_layout_world(&t->r->draft->run.parallel.layout);
    double whole = ms_training_value_number(value);
    factor *missing = steps->number > 0 ? micro : steps;
    if (micro->number <= 0 && steps->number <= 0) {
        steps->number = 1;
        missing = micro;
    }
    const factor *said = missing == micro ? steps : micro;
    double part = whole / (ranks * said->number);
    if (!is_count(whole) || !is_count(part))
        return ms_training_refuse(
            t, value, "train_batch_size %.17g is not a multiple of %.17g ranks x %s %.17g", whole,
            ranks, said->key, said->number);
    if (missing->number > 0 && missing->number != part)
        return ms_training_refuse(t, value,
                                  "train_batch_size %.17g is not %.17g sequences x %.17g "
                                  "micro-batches x %.17g ranks, and DeepSpeed refuses it",
                                  whole, micro->number, steps->number, ranks);
    missing->number = part;
    return MS_OK;
}

static ms_status set_factor(const ms_training_ranks *t, const factor *f)
{
    return ms_training_set_option(t, f->field, ms_arena_printf(t->r->arena, "%.17g", f->number));
}

static ms_status take_whole_batch(const ms_training_ranks *t, factor *micro, factor *steps)
{
    ms_json_value value;
    if (!find_own(t, "train_batch_size", &value) || (micro->is_asked && steps->is_asked))
        return MS_OK;
    find_factor(t, micro);
    find_factor(t, steps);
    if (micro->is_asked && steps->number > 0) /* not what the file says of the whole */
        return MS_OK;
    if (steps->is_asked && micro->number > 0)
        return MS_OK;
    ms_status status = split_batch(t, value, micro, steps);
    if (status == MS_OK)
        status = set_factor(t, micro);
    return status == MS_OK ? set_factor(t, steps) : status;
}

ms_status ms_training_zero_take_numbers(const ms_training_ranks *t)
{
    bool is_axolotl = t->r->file.format == MS_TRAINING_AXOLOTL;
    factor micro = {.key = "train_micro_batch_size_per_gpu",
                    .field = "batch",
                    .usual = is_axolotl ? 1 : 8,
                    .other = is_axolotl ? "micro_batch_size" : "per_device_train_batch_size",
                    .is_asked = ms_run_field_is_set(t->r->draft, "batch")};
    factor steps = {.key = "gradient_accumulation_steps",
                    .field = "accumulate",
                    .usual = 1,
                    .other = "gradient_accumulation_steps",
                    .is_asked = ms_run_field_is_set(t->r->draft, "accumulate")};
    ms_status status = take_number(t, micro.key, micro.field, micro.other);
    if (status == MS_OK)
        status = take_number(t, steps.key, steps.field, steps.other);
    if (status == MS_OK)
        status = take_whole_batch(t, &micro, &steps);
    return status == MS_OK ? take_number(t, "gradient_clipping", "clip", "max_grad_norm") : status;
}

/* ---- types ---- */

typedef struct type_row {
    const char *pointer, *key; /* of the configuration, and of the training arguments */
    ms_training_type type;
} type_row;

static const type_row types[] = {{"/bf16/enabled", "bf16", MS_TRAINING_TYPE_BF16},
                                 {"/fp16/enabled", "fp16", MS_TRAINING_TYPE_FP16}};

/* What the training arguments say of a type; false: nothing, or "auto". */
static bool says_type(const ms_training_ranks *t, const type_row *row, bool *truth)
{
    ms_json_value value;
    if (!ms_json_find(t->root, row->key, &value))
        return false;
    *truth = ms_training_truth(value, false);
    return *truth == ms_training_truth(value, true);
}

/* The key of the training arguments that asks for another type than this row's; NULL: none. */
static const char *asks_otherwise(const ms_training_ranks *t, const type_row *row, bool is_on)
{
    bool truth;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (says_type(t, &types[i], &truth) && (&types[i] == row ? truth != is_on : truth && is_on))
            return types[i].key;
    return NULL;
}

static ms_status take_type(const ms_training_ranks *t, const type_row *row)
{
    ms_json_value value;
    if (!ms_json_find_pointer(t->config, row->pointer, &value))
        return MS_OK;
    if (training_zero_is_auto(value)) {
        t->r->takes_auto_type = true;
        return MS_OK;
    }
    bool is_on = ms_training_truth(value, false);
    const char *other = asks_otherwise(t, row, is_on);
    if (other)
        return ms_training_refuse(t, value, "%s differs from %s of the training arguments",
                                  row->pointer + 1, other);
    if (!is_on)
        return MS_OK;
    if (t->r->type != MS_TRAINING_TYPE_NONE)
        return ms_training_refuse(t, value,
                                  "bf16 and fp16 are both enabled, which DeepSpeed "
                                  "refuses");
    t->r->type = row->type;
    return MS_OK;
}

ms_status ms_training_zero_take_types(const ms_training_ranks *t)
{
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types && status == MS_OK; i++)
        status = take_type(t, &types[i]);
    if (status != MS_OK ||
        !ms_json_find_pointer(t->config, "/data_types/grad_accum_dtype", &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return status;
    const char *text = ms_training_value_text(value);
    if (strcmp(text, "fp32") == 0)
        return ms_training_set_option(t, "grad-accumulation-dtype", "fp32");
    return ms_training_refuse(t, value, "grad_accum_dtype '%.20s' is not predicted", text);
}
