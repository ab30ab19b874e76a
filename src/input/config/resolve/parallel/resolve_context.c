/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_context.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/run/attention.h"

static bool any_layer_slides(const ms_model_config *model)
{
    for (uint64_t i = 0; i < model->num_layers && model->layer_kinds; i++)
        if (model->layer_kinds[i] & MS_LAYER_SLIDES)
            return true;
    return false;
}

/* What is not predicted, as "with ..."; NULL: all of it is. */
static const char *unsupported(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    const ms_parallel *parallel = &run->parallel;
    if (c->model->head != MS_HEAD_CAUSAL_LM)
        return "with a head that is no causal language model";
    if (any_layer_slides(c->model))
        return "with sliding windows";
    if (c->model->attention_dropout > 0)
        return "with dropout in attention";
    if (ms_attention_choose(c->model, run) != MS_ATTENTION_FLASH)
        return "with attention other than flash, which takes bf16 or fp16";
    if (c->model->head_dim % 8)
        return "with heads whose size is no multiple of 8";
    if (run->training.label_smoothing > 0 || run->training.logits_to_keep)
        return "with another loss";
    if (parallel->offloads || parallel->reshard_ranks)
        return "with fsdp-offload or reshard-ranks";
    if (parallel->build != MS_BUILD_META || parallel->units != MS_UNITS_LAYERS)
        return "with build or fsdp-units";
    return NULL;
}

ms_status ms_resolve_context_parallel(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    if (layout->context <= 1)
        return MS_OK;
    if (!ms_is_compared(c->model, MS_WITH_CONTEXT))
        return ms_resolve_fail(
            c, "parallel",
            "context parallelism is predicted for llama, mistral, qwen2 and qwen3, not for %s",
            c->model->model_type);
    const char *why = unsupported(c);
    if (why)
        return ms_resolve_fail(c, "parallel", "context parallelism is not predicted %s", why);
    if (ms_layout_splits(layout, c->run->seq_tokens))
        return MS_OK;
    return ms_resolve_fail(
        c, "seq", "%" PRIu64 ", but %s divides a sequence into %" PRIu64 " equal parts",
        c->run->seq_tokens, ms_layout_text(c->arena, layout), 2 * layout->context);
}
