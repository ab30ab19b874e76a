/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/adapter/adapter_text.h"
#include "config/run/attention.h"
#include "config/run/experts.h"
#include "report/view/calibrated.h"

/* clang-format off */
static const char *const autocast_names[] = {
    [MS_AUTOCAST_NONE] = "none", [MS_AUTOCAST_BF16] = "bf16", [MS_AUTOCAST_F16] = "fp16",
};
static const char *const checkpoint_names[] = {
    [MS_CHECKPOINT_NON_REENTRANT] = "non-reentrant", [MS_CHECKPOINT_REENTRANT] = "reentrant",
};
static const char *const allocator_names[MS_ALLOCATOR_COUNT] = {
    [MS_ALLOCATOR_RAW] = "raw", [MS_ALLOCATOR_CUDA] = "cuda",
    [MS_ALLOCATOR_CUDA_EXPANDABLE] = "cuda-expandable",
};
/* clang-format on */

const char *const ms_optimizer_device_names[] = {
    [MS_OPTIMIZER_ON_DEVICE] = "device",
    [MS_OPTIMIZER_ON_HOST] = "host",
};

const char *const ms_parameter_device_names[] = {
    [MS_PARAMETERS_ON_DEVICE] = "device",
    [MS_PARAMETERS_ON_HOST] = "host",
};

typedef struct list {
    ms_field *fields;
    uint32_t count;
    ms_field_group group;
    bool failed;
} list;

static void add(list *l, ms_field field)
{
    field.group = l->group;
    if (l->count < MS_METADATA_FIELDS)
        l->fields[l->count++] = field;
}

/* NULL marks an allocation that failed. */
static void add_text(list *l, const char *name, const char *text)
{
    l->failed = l->failed || !text;
    add(l, (ms_field){.name = name, .kind = MS_FIELD_TEXT, .text = text});
}

static void add_count(list *l, const char *name, uint64_t count)
{
    add(l, (ms_field){.name = name, .kind = MS_FIELD_COUNT, .count = count});
}

static void add_bool(list *l, const char *name, bool value)
{
    add(l, (ms_field){.name = name, .kind = MS_FIELD_BOOL, .count = value});
}

static void add_number(list *l, const char *name, double number)
{
    add(l, (ms_field){.name = name, .kind = MS_FIELD_NUMBER, .number = number});
}

static void add_null(list *l, const char *name)
{
    add(l, (ms_field){.name = name, .kind = MS_FIELD_NULL});
}

/* A count of which 0 is none. */
static void add_some(list *l, const char *name, uint64_t count)
{
    if (count)
        add_count(l, name, count);
    else
        add_null(l, name);
}

static void add_training(list *l, const ms_metadata_source *source, ms_arena *arena)
{
    const ms_run_config *run = source->run;
    add_count(l, "batch", run->batch);
    add_count(l, "seq", run->seq_tokens);
    add_text(l, "dtype", ms_dtype_info_of(run->dtype)->short_name);
    add_text(l, "autocast", autocast_names[run->autocast]);
    add_text(l, "optimizer", ms_optimizer_names[run->optimizer]);
    add_text(l, "optimizer_impl", ms_optimizer_impl_names[run->optimizer_impl]);
    add_bool(l, "optimizer_in_backward", run->optimizer_in_backward);
    add_text(l, "optimizer_device", ms_optimizer_device_names[run->optimizer_device]);
    add_text(l, "parameter_device", ms_parameter_device_names[run->parameter_device]);
    add_number(l, "weight_decay", run->weight_decay);
    add_count(l, "accumulate", run->accumulate);
    add_text(l, "grad_accumulation_dtype",
             run->accumulation == MS_ACCUMULATE_F32 ? "fp32" : "same");
    if (run->clip)
        add_number(l, "clip", run->clip_norm);
    else
        add_null(l, "clip");
    add_number(l, "label_smoothing", run->label_smoothing);
    add_text(l, "liger", ms_liger_text(arena, run->liger));
    add_some(l, "logits_to_keep", run->logits_to_keep);
    add_some(l, "empty_cache_steps", run->empty_cache_steps);
    add_some(l, "eval_batch", run->eval_batch);
    add_some(l, "eval_logits", run->eval_logits);
    add_text(l, "checkpointing", run->checkpointing ? run->checkpointing : "none");
    add_text(l, "treat", run->treat && *run->treat ? run->treat : "none");
    add_text(l, "adapter", run->adapter ? ms_adapter_text(arena, run->adapter) : "none");
    add_text(l, "quantize", ms_quantization_text(arena, &run->quantization));
    if (ms_is_packed(&run->quantization))
        add_text(l, "upcast", run->upcast ? "yes" : "no");
    add_text(l, "checkpoint_kind", checkpoint_names[run->checkpoint_kind]);
    add_text(l, "attention", ms_attention_names[source->attention]);
    if (source->model->num_experts)
        add_text(l, "experts", ms_experts_names[run->experts]);
    if (source->model->num_experts && run->experts == MS_EXPERTS_EAGER)
        add_text(l, "routing", ms_routing_names[run->routing]);
}

static void add_place(list *l, const ms_metadata_source *source, ms_arena *arena)
{
    const ms_run_config *run = source->run;
    add_text(l, "device", run->device->name);
    if (run->calibration)
        add_text(l, "calibration", ms_calibrated_field(run, arena));
    add_text(l, "torch",
             ms_arena_printf(arena, "%" PRIu32 ".%" PRIu32, run->torch_major, run->torch_minor));
    add_text(l, "allocator", allocator_names[run->allocator.kind]);
}

static void add_details(list *l, const ms_metadata_source *source)
{
    const ms_run_config *run = source->run;
    add_text(l, "attention_asked", ms_attention_names[run->attention]);
    add_text(l, "device_title", run->device->title);
    add_count(l, "max_split_size_bytes", run->allocator.max_split_size_bytes);
    add_count(l, "roundup_power2_divisions", run->allocator.roundup_power2_divisions);
    if (run->budget_bytes)
        add_count(l, "budget_bytes", run->budget_bytes);
    else
        add_null(l, "budget_bytes");
    add_bool(l, "budget_given", run->has_budget);
    if (run->several_gpus.text)
        add_text(l, "several_gpus", run->several_gpus.text);
}

static void add_model(list *l, const ms_model_config *model)
{
    add_count(l, "num_layers", model->num_layers);
    add_count(l, "hidden_size", model->hidden_size);
    add_count(l, "intermediate_size", model->intermediate_size);
    if (model->num_experts) {
        add_count(l, "num_experts", model->num_experts);
        add_count(l, "experts_per_token", model->experts_per_token);
        add_count(l, "expert_intermediate_size", ms_expert_size(model));
    }
    add_count(l, "num_heads", model->num_heads);
    add_count(l, "num_kv_heads", model->num_kv_heads);
    add_count(l, "head_dim", ms_key_dim(model));
    add_count(l, "vocab_size", model->vocab_size);
    add_bool(l, "tie_word_embeddings", model->tie_word_embeddings);
}

uint32_t ms_metadata_fill(const ms_metadata_source *source, ms_arena *arena,
                          ms_field fields[MS_METADATA_FIELDS])
{
    list l = {.fields = fields, .group = MS_FIELD_MODEL};
    add_text(&l, "model", source->model->name ? source->model->name : "");
    add_text(&l, "model_type", source->model->model_type);
    add_model(&l, source->model);
    l.group = MS_FIELD_RUN;
    add_training(&l, source, arena);
    add_place(&l, source, arena);
    l.group = MS_FIELD_DETAIL;
    add_details(&l, source);
    return l.failed ? 0 : l.count;
}

const char *ms_metadata_text(const ms_field *fields, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].kind == MS_FIELD_TEXT && strcmp(fields[i].name, name) == 0)
            return fields[i].text;
    return "";
}
