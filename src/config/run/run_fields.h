/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fields of a run: one row each, read by the command line, the run file, the help texts and the
 * schema test.
 */
#ifndef MS_CONFIG_RUN_RUN_FIELDS_H
#define MS_CONFIG_RUN_RUN_FIELDS_H

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/run/run_config.h"

/* name, value name (NULL: a flag), help, default as text, group. An X-macro, because the public
 * ms_run_field rows and the setters of run_fields.c must agree. */
#define MS_RUN_FIELD_LIST(X)                                                                       \
    X("config", "NAME", "preset, config.json, run file, directory, or - for stdin", NULL, "Model") \
    X("training-args", "FILE",                                                                     \
      "TrainingArguments, or a config of axolotl, LLaMA-Factory or torchtune", "none", "Training") \
    X("ignore-sharding", NULL,                                                                     \
      "predict one device that holds everything, even if the training arguments shard", NULL,      \
      "Training")                                                                                  \
    X("batch", "N", "sequences per micro-batch", "1", "Training")                                  \
    X("seq", "N", "tokens per sequence", "2048", "Training")                                       \
    X("dtype", "TYPE", "type of the weights: bf16, fp16 or fp32", "bf16", "Training")              \
    X("autocast", "TYPE", "none, bf16 or fp16", "none", "Training")                                \
    X("optimizer", "NAME", "adamw, sgd, adafactor, muon, lion, adamw-8bit, ...", "adamw",          \
      "Training")                                                                                  \
    X("optimizer-impl", "NAME", "fused, foreach or loop", "the usual one", "Training")             \
    X("optimizer-in-backward", "YESNO", "update each parameter as soon as its gradient is ready",  \
      "no", "Training")                                                                            \
    X("optimizer-device", "PLACE", "where optimizer states are kept and updated: device or host",  \
      "device", "Training")                                                                        \
    X("parameter-device", "PLACE", "where the layers' parameters are kept: device or host",        \
      "device", "Training")                                                                        \
    X("weight-decay", "X", "0 or more", "0.01 for adamw, else 0", "Training")                      \
    X("accumulate", "N", "micro-batches per optimizer step", "1", "Training")                      \
    X("grad-accumulation-dtype", "TYPE",                                                           \
      "type of accumulated gradients: same as the parameter, or fp32", "same", "Training")         \
    X("clip", "X", "maximum gradient norm, or none", "none", "Training")                           \
    X("label-smoothing", "X", "label smoothing of Trainer's loss, 0 to 1", "0", "Training")        \
    X("liger", "NAMES", "Liger kernels: none, all, or any of rope+rms-norm+swiglu+loss", "none",   \
      "Training")                                                                                  \
    X("logits-to-keep", "N", "head and loss on the last N tokens of a sequence only, or none",     \
      "none", "Training")                                                                          \
    X("empty-cache-steps", "N", "empty the allocator's cache every N-th step, or none", "none",    \
      "Training")                                                                                  \
    X("eval-batch", "N", "sequences per batch of an evaluation between steps, or none", "none",    \
      "Training")                                                                                  \
    X("eval-logits", "N", "batches whose logits an evaluation keeps on the device, or none",       \
      "none", "Training")                                                                          \
    X("checkpointing", "SPEC", "layers: none, all, first:8, last:4, every:2 or 0,2,5-9", "none",   \
      "Training")                                                                                  \
    X("treat", "SPEC", "treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8",   \
      "none", "Training")                                                                          \
    X("adapter", "FILE", "an adapter_config.json of PEFT: train only the adapter", "none",         \
      "Training")                                                                                  \
    X("lora", "SPEC", "a LoRA adapter in short form, e.g. r=16,targets=all-linear,dropout=0.05",   \
      "none", "Training")                                                                          \
    X("adapter-dtype", "TYPE", "type of the adapter's weights: fp32, bf16 or fp16",                \
      "fp32 if the model is in half precision", "Training")                                        \
    X("quantize", "KIND",                                                                          \
      "type of the frozen base, e.g. nf4:double, int8, gptq:4:128 or fp8-block",                   \
      "as in the config", "Training")                                                              \
    X("upcast", "YESNO", "cast a quantised base's other weights to fp32, as PEFT prepares them",   \
      "yes for bitsandbytes", "Training")                                                          \
    X("plan", "FILE", "treatments from a plan.json written by `memscope plan`", "none",            \
      "Training")                                                                                  \
    X("checkpoint-kind", "KIND", "non-reentrant or reentrant", "non-reentrant", "Training")        \
    X("attention", "NAME", "auto, flash, efficient, math, eager or cpu-flash", "auto", "Training") \
    X("experts", "NAME", "how mixtures of experts run: auto, grouped or eager", "auto",            \
      "Training")                                                                                  \
    X("routing", "NAME",                                                                           \
      "for eager experts: balanced, or skewed, where few experts get all tokens", "balanced",      \
      "Training")                                                                                  \
    X("device", "NAME", "a device of `memscope devices`, or cpu", "a100-80gb", "Device")           \
    X("calibration", "FILE", "a calibration.json from `memscope calibrate` for that device",       \
      "none", "Device")                                                                            \
    X("torch", "X.Y", "version of PyTorch", "2.11", "Device")                                      \
    X("allocator", "NAME", "raw, cuda or cuda-expandable", "cuda; raw on cpu", "Device")           \
    X("max-split-size", "SIZE", "largest block the allocator splits, e.g. 128MiB, or none",        \
      "none", "Device")                                                                            \
    X("roundup-power2-divisions", "N", "round sizes to N steps per power of two, or none", "none", \
      "Device")                                                                                    \
    X("budget", "SIZE", "memory the run may use, e.g. 80GiB", "all of the device", "Device")

/* The run as far as it is set; ms_run_load fills in the rest. */
typedef struct ms_run_draft {
    const char *config;
    uint64_t batch, seq_tokens, accumulate;
    ms_quantization quantize;
    int ignore_sharding, dtype, adapter_dtype, upcast, autocast, optimizer, optimizer_impl,
        optimizer_in_backward, optimizer_device, parameter_device, checkpoint_kind, attention,
        grad_accumulation_dtype, experts, routing, allocator;
    double weight_decay, clip_norm, label_smoothing;
    uint64_t logits_to_keep, liger, empty_cache_steps, eval_batch, eval_logits;
    const char *checkpointing, *treat, *adapter, *lora, *plan, *training_args, *device,
        *calibration;
    const struct ms_calibration *measured; /* what is in that file; NULL: none */
    ms_several_gpus several_gpus;          /* by the training arguments */
    uint32_t torch[2];                     /* major, minor */
    uint64_t max_split_size_bytes, roundup_power2_divisions, budget_bytes;
    uint64_t said; /* bit i: field i was given */
} ms_run_draft;

/* The row of that name; case and `_` for `-` are forgiven. -1 when unknown. */
int ms_run_field_find(const char *name);
size_t ms_run_field_count(void);
const char *ms_run_field_name(size_t index); /* NULL past the last */
bool ms_run_field_said(const ms_run_draft *draft, const char *name);
/* Whether a text of an adapter was given; "none" is none. */
static inline bool ms_run_has_lora(const ms_run_draft *draft)
{
    return ms_run_field_said(draft, "lora") && strcmp(draft->lora, "none") != 0;
}
void ms_run_field_unsay(ms_run_draft *draft, const char *name);

/* How a run file writes the field. */
typedef enum ms_run_field_form {
    MS_RUN_FIELD_STRING,
    MS_RUN_FIELD_NUMBER, /* a number, or "none" where the field knows it */
    MS_RUN_FIELD_SIZE,   /* a string with a unit */
    MS_RUN_FIELD_FLAG    /* true or false; on the command line it takes no value */
} ms_run_field_form;
ms_run_field_form ms_run_field_form_of(size_t index);

/* What the values of a field are like. */
typedef struct ms_run_field_traits {
    bool is_count;              /* whole numbers */
    bool is_file;               /* names of files; of the config also of built-in models */
    bool has_commas;            /* they hold commas themselves */
    const char *const *choices; /* all there are; past the last, NULL. NULL: not a choice */
} ms_run_field_traits;
ms_run_field_traits ms_run_field_traits_of(size_t index);

/* "; did you mean 'batch'?" for a misspelt name, ": " and why for a setting that is not modelled,
 * or
 * "". */
enum { MS_RUN_FIELD_HINT_BYTES = 256 };
const char *ms_run_field_hint(const char *name, char out[MS_RUN_FIELD_HINT_BYTES]);

/* Refuses an unknown field with the nearest known spelling, and a value its field does not take.
 * Text that is kept is copied into the arena. */
ms_status ms_run_field_set(ms_run_draft *draft, ms_arena *arena, const char *name,
                           const char *value, ms_error *err);

#endif
