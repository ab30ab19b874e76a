/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/training_keys.h"

#include <string.h>

#include "input/config/trainers/keys/format_marks.h"
#include "input/config/trainers/keys/key_table.h"
#include "input/config/trainers/others/training_foreign.h"
#include "base/text/nearest.h"
#include "input/config/trainers/training_sharding.h"

enum { ALL = TRAINER | AXOLOTL | TORCHTUNE };

/* ---- keys that decide memory ---- */

typedef enum key_form {
    FORM_NUMBER,
    FORM_FLAG,
    FORM_TEXT,
    FORM_FLAG_OR_TEXT,
    FORM_NAMES, /* a text or a list of texts */
    FORM_OBJECT
} key_form;

typedef struct key_row {
    unsigned formats;
    const char *pointer;
    ms_training_topic topic; /* of several keys of one topic the first that is there counts */
    key_form form;
} key_row;

/* clang-format off */
static const key_row rows[] = {
    {TRAINER,           "/per_device_train_batch_size",   MS_TOPIC_BATCH,            FORM_NUMBER},
    {AXOLOTL,           "/micro_batch_size",              MS_TOPIC_BATCH,            FORM_NUMBER},
    {TORCHTUNE,         "/batch_size",                    MS_TOPIC_BATCH,            FORM_NUMBER},
    {TITAN,             "/training/local_batch_size",     MS_TOPIC_BATCH,            FORM_NUMBER},
    {TITAN,             "/training/batch_size",           MS_TOPIC_BATCH,            FORM_NUMBER},
    {TITAN,             "/training/seq_len",              MS_TOPIC_SEQ,              FORM_NUMBER},
    {TITAN,             "/training/max_norm",             MS_TOPIC_CLIP,             FORM_NUMBER},
    {TITAN,             "/training/dtype",                MS_TOPIC_DTYPE,            FORM_TEXT},
    {TITAN,             "/training/mixed_precision_param", MS_TOPIC_MIXED_PRECISION, FORM_TEXT},
    {TITAN,             "/optimizer/weight_decay",        MS_TOPIC_WEIGHT_DECAY,     FORM_NUMBER},
    {HF | SWIFT,        "/max_length",                    MS_TOPIC_SEQ,              FORM_NUMBER},
    {TRAINER,           "/packing",                       MS_TOPIC_PACKED,           FORM_FLAG},
    {FACTORY,           "/neat_packing",                  MS_TOPIC_PADDING_FREE,     FORM_FLAG},
    {AXOLOTL,           "/sample_packing",                MS_TOPIC_PACKED,           FORM_FLAG},
    {TRAINER,           "/padding_free",                  MS_TOPIC_PADDING_FREE,     FORM_FLAG},
    {HF,                "/packing_strategy",              MS_TOPIC_PACKING_STRATEGY, FORM_TEXT},
    {HF,                "/max_seq_length",                MS_TOPIC_SEQ,              FORM_NUMBER},
    {AXOLOTL,           "/sequence_len",                  MS_TOPIC_SEQ,              FORM_NUMBER},
    {FACTORY,           "/cutoff_len",                    MS_TOPIC_SEQ,              FORM_NUMBER},
    {TORCHTUNE,         "/tokenizer/max_seq_len",         MS_TOPIC_SEQ,              FORM_NUMBER},
    {ALL,               "/gradient_accumulation_steps",   MS_TOPIC_ACCUMULATE,       FORM_NUMBER},
    {TRAINER | AXOLOTL, "/max_grad_norm",                 MS_TOPIC_CLIP,             FORM_NUMBER},
    {TORCHTUNE,         "/clip_grad_norm",                MS_TOPIC_CLIP,             FORM_NUMBER},
    {TRAINER | AXOLOTL, "/weight_decay",                  MS_TOPIC_WEIGHT_DECAY,     FORM_NUMBER},
    {TORCHTUNE,         "/optimizer/weight_decay",        MS_TOPIC_WEIGHT_DECAY,     FORM_NUMBER},
    {TRAINER,           "/optim",                         MS_TOPIC_OPTIMIZER,        FORM_TEXT},
    {AXOLOTL,           "/optimizer",                     MS_TOPIC_OPTIMIZER,        FORM_TEXT},
    {TORCHTUNE,         "/optimizer/_component_",         MS_TOPIC_OPTIMIZER,        FORM_TEXT},
    {TORCHTUNE,         "/optimizer/fused",               MS_TOPIC_FUSED,            FORM_FLAG},
    {TORCHTUNE,         "/optimizer/momentum",            MS_TOPIC_MOMENTUM,         FORM_NUMBER},
    {TRAINER,           "/bf16",                          MS_TOPIC_BF16,             FORM_FLAG},
    {AXOLOTL,           "/bf16",                          MS_TOPIC_BF16,             FORM_FLAG_OR_TEXT},
    {TRAINER | AXOLOTL, "/fp16",                          MS_TOPIC_FP16,             FORM_FLAG},
    {TRAINER,           "/mixed_precision",               MS_TOPIC_MIXED_PRECISION,  FORM_FLAG_OR_TEXT},
    {FACTORY,           "/pure_bf16",                     MS_TOPIC_PURE_BF16,        FORM_FLAG},
    {AXOLOTL,           "/bfloat16",                      MS_TOPIC_WEIGHTS_BF16,     FORM_FLAG},
    {AXOLOTL,           "/float16",                       MS_TOPIC_WEIGHTS_FP16,     FORM_FLAG},
    {HF,                "/model_init_kwargs/dtype",       MS_TOPIC_DTYPE,            FORM_TEXT},
    {HF,                "/model_init_kwargs/torch_dtype", MS_TOPIC_DTYPE,            FORM_TEXT},
    {HF | TORCHTUNE,    "/dtype",                         MS_TOPIC_DTYPE,            FORM_TEXT},
    {HF | SWIFT,        "/torch_dtype",                   MS_TOPIC_DTYPE,            FORM_TEXT},
    {HF,                "/activation_checkpointing",      MS_TOPIC_CHECKPOINTING,    FORM_FLAG},
    {HF | SWIFT,        "/gradient_checkpointing",        MS_TOPIC_CHECKPOINTING,    FORM_FLAG},
    {AXOLOTL,           "/gradient_checkpointing",        MS_TOPIC_CHECKPOINTING,    FORM_FLAG_OR_TEXT},
    {TORCHTUNE,         "/enable_activation_checkpointing", MS_TOPIC_CHECKPOINTING,  FORM_FLAG},
    {FACTORY,           "/disable_gradient_checkpointing", MS_TOPIC_NO_CHECKPOINTING, FORM_FLAG},
    {HF,                "/activation_checkpointing_kwargs", MS_TOPIC_CHECKPOINT_KWARGS, FORM_OBJECT},
    {HF | AXOLOTL | SWIFT, "/gradient_checkpointing_kwargs", MS_TOPIC_CHECKPOINT_KWARGS, FORM_OBJECT},
    {FACTORY,           "/use_reentrant_gc",              MS_TOPIC_REENTRANT,        FORM_FLAG},
    {AXOLOTL,           "/attn_implementation",           MS_TOPIC_ATTENTION,        FORM_TEXT},
    {HF,                "/attn_implementation",           MS_TOPIC_ATTENTION,        FORM_TEXT},
    {HF,                "/model_init_kwargs/attn_implementation", MS_TOPIC_ATTENTION, FORM_TEXT},
    {SWIFT,             "/attn_impl",                     MS_TOPIC_ATTENTION,        FORM_TEXT},
    {FACTORY,           "/flash_attn",                    MS_TOPIC_ATTENTION,        FORM_TEXT},
    {AXOLOTL,           "/eager_attention",               MS_TOPIC_EAGER,            FORM_FLAG},
    {AXOLOTL,           "/flash_attention",               MS_TOPIC_FLASH,            FORM_FLAG},
    {AXOLOTL,           "/adapter",                       MS_TOPIC_ADAPTER,          FORM_TEXT},
    {FACTORY,           "/finetuning_type",               MS_TOPIC_ADAPTER,          FORM_TEXT},
    {SWIFT,             "/tuner_type",                    MS_TOPIC_ADAPTER,          FORM_TEXT},
    {SWIFT,             "/train_type",                    MS_TOPIC_ADAPTER,          FORM_TEXT},
    {HF,                "/use_peft",                      MS_TOPIC_ADAPTER,          FORM_FLAG},
    {HF | AXOLOTL,      "/lora_r",                        MS_TOPIC_RANK,             FORM_NUMBER},
    {FACTORY | SWIFT,   "/lora_rank",                     MS_TOPIC_RANK,             FORM_NUMBER},
    {TORCHTUNE,         "/model/lora_rank",               MS_TOPIC_RANK,             FORM_NUMBER},
    {TRAINER | AXOLOTL, "/lora_dropout",                  MS_TOPIC_DROPOUT,          FORM_NUMBER},
    {TORCHTUNE,         "/model/lora_dropout",            MS_TOPIC_DROPOUT,          FORM_NUMBER},
    {HF | AXOLOTL,      "/lora_target_modules",           MS_TOPIC_TARGETS,          FORM_NAMES},
    {SWIFT,             "/target_modules",                MS_TOPIC_TARGETS,          FORM_NAMES},
    {FACTORY,           "/lora_target",                   MS_TOPIC_TARGETS,          FORM_NAMES},
    {TORCHTUNE,         "/model/lora_attn_modules",       MS_TOPIC_TARGETS,          FORM_NAMES},
    {AXOLOTL,           "/lora_target_linear",            MS_TOPIC_ALL_LINEAR,       FORM_FLAG},
    {TORCHTUNE,         "/model/apply_lora_to_mlp",       MS_TOPIC_MLP,              FORM_FLAG},
    {TORCHTUNE,         "/model/apply_lora_to_output",    MS_TOPIC_HEAD,             FORM_FLAG},
    {HF | AXOLOTL,      "/lora_modules_to_save",          MS_TOPIC_SAVED,            FORM_NAMES},
    {SWIFT,             "/modules_to_save",               MS_TOPIC_SAVED,            FORM_NAMES},
    {FACTORY,           "/additional_target",             MS_TOPIC_SAVED,            FORM_NAMES},
    {AXOLOTL,           "/peft_use_dora",                 MS_TOPIC_DORA,             FORM_FLAG},
    {TRAINER,           "/use_dora",                      MS_TOPIC_DORA,             FORM_FLAG},
    {TORCHTUNE,         "/model/use_dora",                MS_TOPIC_DORA,             FORM_FLAG},
    {HF | AXOLOTL,      "/load_in_4bit",                  MS_TOPIC_FOUR_BITS,        FORM_FLAG},
    {HF | AXOLOTL,      "/load_in_8bit",                  MS_TOPIC_EIGHT_BITS,       FORM_FLAG},
    {SWIFT,             "/quant_method",                  MS_TOPIC_QUANTIZE_METHOD,  FORM_TEXT},
    {SWIFT,             "/quant_bits",                    MS_TOPIC_BITS,             FORM_NUMBER},
    {SWIFT,             "/bnb_4bit_use_double_quant",     MS_TOPIC_DOUBLE,           FORM_FLAG},
    {FACTORY,           "/quantization_bit",              MS_TOPIC_BITS,             FORM_NUMBER},
    {FACTORY,           "/quantization_type",             MS_TOPIC_QUANTIZE_TYPE,    FORM_TEXT},
    {FACTORY,           "/double_quantization",           MS_TOPIC_DOUBLE,           FORM_FLAG},
    {HF | SWIFT,        "/bnb_4bit_quant_type",           MS_TOPIC_QUANTIZE_TYPE,    FORM_TEXT},
    {HF,                "/use_bnb_nested_quant",          MS_TOPIC_DOUBLE,           FORM_FLAG},
    {TORCHTUNE,         "/model/quantize_base",           MS_TOPIC_QUANTIZE_BASE,    FORM_FLAG},
    {TORCHTUNE,         "/model/_component_",             MS_TOPIC_MODEL,            FORM_TEXT},
    {TRAINER,           "/label_smoothing_factor",        MS_TOPIC_LABEL_SMOOTHING,  FORM_NUMBER},
    {TRAINER,           "/use_liger_kernel",              MS_TOPIC_LIGER,            FORM_FLAG},
    {FACTORY,           "/enable_liger_kernel",           MS_TOPIC_LIGER,            FORM_FLAG},
    {TRAINER,           "/liger_kernel_config",           MS_TOPIC_LIGER_CONFIG,     FORM_OBJECT},
    {AXOLOTL,           "/liger_rope",                    MS_TOPIC_LIGER_ROPE,       FORM_FLAG},
    {AXOLOTL,           "/liger_rms_norm",                MS_TOPIC_LIGER_RMS_NORM,   FORM_FLAG},
    {AXOLOTL,           "/liger_glu_activation",          MS_TOPIC_LIGER_SWIGLU,     FORM_FLAG},
    {AXOLOTL,           "/liger_fused_linear_cross_entropy", MS_TOPIC_LIGER_LOSS,    FORM_FLAG},
    {V1,                "/micro_batch_size",              MS_TOPIC_BATCH,            FORM_NUMBER},
    {V1,                "/cutoff_len",                    MS_TOPIC_SEQ,              FORM_NUMBER},
    {V1,                "/max_grad_norm",                 MS_TOPIC_CLIP,             FORM_NUMBER},
    {V1,                "/bf16",                          MS_TOPIC_BF16,             FORM_FLAG},
    {V1,                "/optim_config/name",             MS_TOPIC_OPTIMIZER,        FORM_TEXT},
    {V1,                "/enable_activation_checkpointing", MS_TOPIC_CHECKPOINTING,  FORM_FLAG},
    {V1,                "/flash_attn",                    MS_TOPIC_ATTENTION,        FORM_TEXT},
    {V1,                "/peft_config/name",              MS_TOPIC_ADAPTER,          FORM_TEXT},
    {V1,                "/peft_config/r",                 MS_TOPIC_RANK,             FORM_NUMBER},
    {V1,                "/peft_config/lora_dropout",      MS_TOPIC_DROPOUT,          FORM_NUMBER},
    {V1,                "/peft_config/target_modules",    MS_TOPIC_TARGETS,          FORM_NAMES},
    {V1,                "/peft_config/modules_to_save",   MS_TOPIC_SAVED,            FORM_NAMES},
    {V1,                "/peft_config/use_dora",          MS_TOPIC_DORA,             FORM_FLAG},
    {V1,                "/quant_config/name",             MS_TOPIC_QUANTIZE_METHOD,  FORM_TEXT},
    {V1,                "/quant_config/quantization_bit", MS_TOPIC_BITS,             FORM_NUMBER},
    {V1,                "/quant_config/quantization_type", MS_TOPIC_QUANTIZE_TYPE,   FORM_TEXT},
    {V1,                "/quant_config/double_quantization", MS_TOPIC_DOUBLE,        FORM_FLAG},
    {SWIFT,             "/ENV/PYTORCH_ALLOC_CONF",        MS_TOPIC_ALLOCATOR,        FORM_TEXT},
    {SWIFT,             "/ENV/PYTORCH_CUDA_ALLOC_CONF",   MS_TOPIC_ALLOCATOR,        FORM_TEXT},
    {TRAINER | AXOLOTL, "/torch_empty_cache_steps",       MS_TOPIC_EMPTY_CACHE,      FORM_NUMBER},
    {TRAINER | AXOLOTL, "/eval_strategy",                 MS_TOPIC_EVAL_STRATEGY,    FORM_FLAG_OR_TEXT},
    {AXOLOTL,           "/eval_steps",                    MS_TOPIC_EVAL_STEPS,       FORM_NUMBER},
    {AXOLOTL,           "/evals_per_epoch",               MS_TOPIC_EVAL_STEPS,       FORM_NUMBER},
    {HF | FACTORY,      "/do_eval",                       MS_TOPIC_DO_EVAL,          FORM_FLAG},
    {SWIFT,             "/val_dataset",                   MS_TOPIC_VALIDATION,       FORM_NAMES},
    {SWIFT,             "/cached_val_dataset",            MS_TOPIC_VALIDATION,       FORM_NAMES},
    {SWIFT,             "/split_dataset_ratio",           MS_TOPIC_VALIDATION,       FORM_NUMBER},
    {SWIFT,             "/lora_dtype",                    MS_TOPIC_ADAPTER_DTYPE,    FORM_TEXT},
    {SWIFT,             "/save_strategy",                 MS_TOPIC_SAVE_STRATEGY,    FORM_FLAG_OR_TEXT},
    {SWIFT,             "/packing_length",                MS_TOPIC_PACKED_LENGTH,    FORM_NUMBER},
    {TRAINER,           "/eval_on_start",                 MS_TOPIC_EVAL_ON_START,    FORM_FLAG},
    {AXOLOTL,           "/val_set_size",                  MS_TOPIC_VALIDATION,       FORM_NUMBER},
    {TRAINER,           "/per_device_eval_batch_size",    MS_TOPIC_EVAL_BATCH,       FORM_NUMBER},
    {AXOLOTL,           "/eval_batch_size",               MS_TOPIC_EVAL_BATCH,       FORM_NUMBER},
    {TRAINER,           "/prediction_loss_only",          MS_TOPIC_LOSS_ONLY,        FORM_FLAG},
    {TRAINER | AXOLOTL, "/eval_accumulation_steps",       MS_TOPIC_KEPT_BATCHES,     FORM_NUMBER},
    {TRAINER | AXOLOTL, "/metric_for_best_model",         MS_TOPIC_BEST_METRIC,      FORM_TEXT},
    {TRAINER,           "/batch_eval_metrics",            MS_TOPIC_BATCH_METRICS,    FORM_FLAG},
    {TRAINER,           "/include_for_metrics",           MS_TOPIC_METRIC_INPUTS,    FORM_NAMES},
    {TRAINER,           "/include_inputs_for_metrics",    MS_TOPIC_METRICS,          FORM_FLAG},
    {FACTORY,           "/compute_accuracy",              MS_TOPIC_ACCURACY,         FORM_FLAG},
    {TORCHTUNE,         "/loss/_component_",              MS_TOPIC_LOSS,             FORM_TEXT},
    {TORCHTUNE,         "/optimizer_in_bwd",              MS_TOPIC_IN_BACKWARD,      FORM_FLAG},
    {TORCHTUNE,         "/enable_activation_offloading",  MS_TOPIC_OFFLOADING,       FORM_FLAG},
    {TORCHTUNE,         "/activation_offloading_use_streams", MS_TOPIC_STREAMS,      FORM_FLAG},
};

/* Inside the value of another key. */
static const key_row inner_rows[] = {
    {TRAINER,           "/rope",                          MS_TOPIC_LIGER_ROPE,       FORM_FLAG},
    {TRAINER,           "/rms_norm",                      MS_TOPIC_LIGER_RMS_NORM,   FORM_FLAG},
    {TRAINER,           "/swiglu",                        MS_TOPIC_LIGER_SWIGLU,     FORM_FLAG},
    {TRAINER,           "/geglu",                         MS_TOPIC_LIGER_GEGLU,      FORM_FLAG},
    {TRAINER,           "/fused_linear_cross_entropy",    MS_TOPIC_LIGER_LOSS,       FORM_FLAG},
    {HF | AXOLOTL | SWIFT, "/use_reentrant",                 MS_TOPIC_REENTRANT,        FORM_FLAG},
    {HF,                "/every_n_layers",                MS_TOPIC_EVERY_LAYERS,     FORM_NUMBER},
    {HF,                "/offload",                       MS_TOPIC_INPUT_ON_HOST,    FORM_FLAG},
};
/* clang-format on */

static const ms_json_kind form_kinds[] = {
    [FORM_NUMBER] = MS_JSON_NUMBER, [FORM_FLAG] = MS_JSON_BOOL,
    [FORM_TEXT] = MS_JSON_STRING,   [FORM_FLAG_OR_TEXT] = MS_JSON_BOOL,
    [FORM_NAMES] = MS_JSON_ARRAY,   [FORM_OBJECT] = MS_JSON_OBJECT,
};

static ms_status check_form(ms_json_value value, key_form form, ms_error *err)
{
    bool or_text = form == FORM_FLAG_OR_TEXT || form == FORM_NAMES;
    if (or_text && ms_json_kind_of(value) == MS_JSON_STRING)
        return MS_OK;
    ms_status status = ms_json_expect(value, form_kinds[form], err);
    ms_json_value v;
    if (status == MS_OK && form == FORM_NAMES)
        for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v))
            status = ms_json_expect(v, MS_JSON_STRING, err);
    return status;
}

/* DeepSpeed's own file has such values in the place of numbers and flags. */
static bool is_of_deepspeed(ms_json_value root, ms_json_value value)
{
    ms_json_value zero;
    const char *text = "";
    (void)ms_json_get_string(value, &text, NULL);
    return ms_json_find(root, "zero_optimization", &zero) &&
           (ms_json_kind_of(value) == MS_JSON_OBJECT || strcmp(text, "auto") == 0);
}

static ms_status take_rows(ms_json_value root, const key_row *from, size_t count,
                           ms_training_file *file, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count; i++) {
        ms_error one = {0};
        ms_json_value value;
        const key_row *row = &from[i];
        if (!(row->formats & 1U << file->format) || file->given[row->topic] ||
            !ms_json_find_pointer(root, row->pointer, &value) ||
            ms_json_kind_of(value) == MS_JSON_NULL || is_of_deepspeed(root, value))
            continue;
        file->given[row->topic] = check_form(value, row->form, &one) == MS_OK;
        file->values[row->topic] = value;
        ms_error_add(err, &one);
        status = one.status != MS_OK && status == MS_OK ? one.status : status;
    }
    return status;
}

/* ---- which format ---- */

static bool has_hf_key(ms_json_value root)
{
    ms_json_value value;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((rows[i].formats & HF) && ms_json_find_pointer(root, rows[i].pointer, &value))
            return true;
    for (bool more = ms_json_first(root, &value); more; more = ms_json_next(&value))
        if ((ms_key_is_listed(ms_json_key(value), MS_TRAINING_HF) &&
             strcmp(ms_json_key(value), "model_type") != 0) || /* a model's config has it too */
            ms_training_key_is_of_sharding(ms_json_key(value), MS_TRAINING_HF))
            return true;
    return false;
}

static ms_status tell_format(ms_json_value root, ms_training_format *format, ms_error *err)
{
    bool is_marked = false;
    ms_status status = ms_training_find_mark(root, format, &is_marked, err);
    if (status != MS_OK || is_marked)
        return status;
    *format = MS_TRAINING_HF;
    if (has_hf_key(root))
        return MS_OK;
    return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "it has no known settings: expected those of TrainingArguments, axolotl, "
                        "LLaMA-Factory, ms-swift or torchtune");
}

ms_status ms_training_format_find(ms_json_value root, ms_training_format *format, ms_error *err)
{
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = ms_training_refuse_foreign(root, err);
    return status == MS_OK ? tell_format(root, format, err) : status;
}

ms_status ms_training_file_read(ms_json_value root, ms_training_format format,
                                ms_training_file *file, ms_error *err)
{
    *file = (ms_training_file){.format = format};
    ms_status status = take_rows(root, rows, sizeof rows / sizeof rows[0], file, err);
    static const ms_training_topic outer[] = {MS_TOPIC_CHECKPOINT_KWARGS, MS_TOPIC_LIGER_CONFIG};
    for (size_t i = 0; i < sizeof outer / sizeof outer[0] && status == MS_OK; i++)
        if (file->given[outer[i]])
            status = take_rows(file->values[outer[i]], inner_rows,
                               sizeof inner_rows / sizeof inner_rows[0], file, err);
    return status;
}

/* ---- what is known of a key ---- */

/* Whether it is a member of an object, "/offload", that is read. */
static bool is_inner(const char *member, ms_training_format format)
{
    for (size_t i = 0; i < sizeof inner_rows / sizeof inner_rows[0]; i++)
        if ((inner_rows[i].formats & 1U << format) && strcmp(inner_rows[i].pointer, member) == 0)
            return true;
    return false;
}

ms_training_key_use ms_training_key_use_of(const char *path, ms_training_format format)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const key_row *row = &rows[i];
        const bool is_object = row->form == FORM_OBJECT;
        const ms_key_match match =
            row->formats & 1U << format ? ms_key_row_match(row->pointer + 1, path) : MS_KEY_APART;
        if (match == MS_KEY_EXACT)
            return is_object ? MS_KEY_USE_INSIDE : MS_KEY_USE_READ;
        if (match == MS_KEY_ABOVE && is_object && is_inner(path + strlen(row->pointer + 1), format))
            return MS_KEY_USE_READ;
    }
    return MS_KEY_USE_NONE;
}

const char *ms_training_key_meant_by(const char *name, ms_training_format format)
{
    enum { LEAST_LENGTH = 5, MOST_SLIPS = 2, MOST_MISSING = 4 };
    ms_nearest nearest = ms_nearest_within(name, MOST_SLIPS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((rows[i].formats & 1U << format) && !strchr(rows[i].pointer + 1, '/'))
            ms_nearest_offer(&nearest, rows[i].pointer + 1);
    if (!nearest.name || strlen(name) < LEAST_LENGTH)
        return NULL;
    /* Its beginning is at no distance at all. */
    return strlen(nearest.name) <= strlen(name) + MOST_MISSING ? nearest.name : NULL;
}
