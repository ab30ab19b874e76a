/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_context.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/resolve/parallel/refusals.h"
#include "input/config/run/attention.h"

static bool drops_scores(const ms_resolving *c)
{
    return c->model->attention_dropout > 0;
}

static bool attends_otherwise(const ms_resolving *c)
{
    return ms_attention_choose(c->model, c->run) != MS_ATTENTION_FLASH;
}

static bool has_odd_heads(const ms_resolving *c)
{
    return c->model->head_dim % 8 != 0;
}

static bool reshards_otherwise(const ms_resolving *c)
{
    return c->run->parallel.offloads || c->run->parallel.reshard_ranks;
}

static bool builds_otherwise(const ms_resolving *c)
{
    return c->run->parallel.build != MS_BUILD_META || c->run->parallel.units != MS_UNITS_LAYERS;
}

static const ms_rank_refusal refusals[] = {
    {ms_has_other_head, "with a head that is no causal language model"},
    {ms_any_layer_slides, "with sliding windows"},
    {ms_has_long_rotary, "with rotary embeddings that depend on the length"},
    {drops_scores, "with dropout in attention"},
    {attends_otherwise, "with attention other than flash, which takes bf16 or fp16"},
    {has_odd_heads, "with heads whose size is no multiple of 8"},
    {ms_has_other_loss, "with another loss"},
    {reshards_otherwise, "with fsdp-offload or reshard-ranks"},
    {builds_otherwise, "with build or fsdp-units"},
    {NULL, NULL},
};

ms_status ms_resolve_context_parallel(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    if (layout->context <= 1)
        return MS_OK;
    if (!ms_is_compared(c->model, MS_WITH_CONTEXT))
        return ms_resolve_fail(c, "parallel", "context parallelism is not predicted for %s, %s",
                               c->model->model_type,
                               ms_why_not_compared(c->model, MS_WITH_CONTEXT));
    const char *why = ms_rank_refusal_of(c, refusals);
    if (why)
        return ms_resolve_fail(c, "parallel", "context parallelism is not predicted %s", why);
    if (ms_layout_splits(layout, c->run->seq_tokens))
        return MS_OK;
    return ms_resolve_fail(
        c, "seq", "%" PRIu64 ", but %s divides a sequence into %" PRIu64 " equal parts",
        c->run->seq_tokens, ms_layout_text(c->arena, layout), 2 * layout->context);
}
