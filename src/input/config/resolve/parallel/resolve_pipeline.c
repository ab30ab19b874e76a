/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_pipeline.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/parallel/refusals.h"

ms_status ms_resolve_micro_batches(const ms_resolving *c)
{
    ms_pipeline_layout *pipeline = &c->run->parallel.layout.pipeline;
    uint64_t *steps = &c->run->training.accumulate;
    if (!pipeline->ranks)
        return MS_OK;
    bool is_set = ms_resolve_is_set(c, "accumulate");
    if (!pipeline->micro_batches && !is_set)
        return ms_resolve_fail(c, "parallel", "with pp=N, microbatches=M is needed");
    if (!pipeline->micro_batches)
        pipeline->micro_batches = *steps;
    if (is_set && *steps != pipeline->micro_batches)
        return ms_resolve_fail(c, "accumulate",
                               "%" PRIu64 ", but parallel has microbatches=%" PRIu64, *steps,
                               pipeline->micro_batches);
    *steps = pipeline->micro_batches;
    return MS_OK;
}

/* ---- the schedule ---- */

static ms_status check_stages(const ms_resolving *c)
{
    const ms_pipeline_layout *pipeline = &c->run->parallel.layout.pipeline;
    uint64_t stages = pipeline->ranks * pipeline->stages;
    bool has_stages = ms_pipeline_traits_of(pipeline->kind)->has_stages;
    if (pipeline->ranks == 1)
        return ms_resolve_fail(c, "parallel", "pp=1 divides nothing: leave it out");
    if (ms_pipeline_traits_of(pipeline->kind)->is_v_shaped && pipeline->stages != 2)
        return ms_resolve_fail(c, "parallel", "zbv has two stages on each rank");
    if (has_stages && pipeline->stages < 2)
        return ms_resolve_fail(c, "parallel",
                               "this schedule needs stages_per_rank=N, and more than one");
    if (!has_stages && pipeline->stages > 1)
        return ms_resolve_fail(c, "parallel", "this schedule has one stage on each rank");
    if (stages <= c->model->num_layers)
        return MS_OK;
    return ms_resolve_fail(c, "parallel",
                           "%" PRIu64 " stages, but the model has %" PRIu64 " layers", stages,
                           c->model->num_layers);
}

/* As PyTorch's classes refuse. */
static ms_status check_micro_batches(const ms_resolving *c)
{
    const ms_pipeline_layout *pipeline = &c->run->parallel.layout.pipeline;
    uint64_t count = pipeline->micro_batches;
    uint64_t rounds = count / pipeline->ranks ? count / pipeline->ranks : 1;
    if (pipeline->kind == MS_PIPELINE_1F1B && count < pipeline->ranks)
        return ms_resolve_fail(
            c, "parallel", "1f1b needs as many micro-batches as stages, %" PRIu64, pipeline->ranks);
    bool has_rounds =
        pipeline->kind == MS_PIPELINE_INTERLEAVED || pipeline->kind == MS_PIPELINE_INTERLEAVED_ZB;
    if (has_rounds && count % rounds != 0)
        return ms_resolve_fail(c, "parallel", "%s needs a multiple of %" PRIu64 " micro-batches",
                               ms_pipeline_traits_of(pipeline->kind)->name, rounds);
    return MS_OK;
}

/* ---- model and run ---- */

static bool splits_backward_beside(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    return ms_pipeline_traits_of(layout->pipeline.kind)->is_split && layout->kind != MS_PARALLEL_PP;
}

static bool empties_cache(const ms_resolving *c)
{
    return c->run->training.empty_cache_steps != 0;
}

static const ms_rank_refusal refusals[] = {
    {ms_has_other_head, "with a head that is no causal language model"},
    {ms_has_long_rotary, "with rotary embeddings that depend on the length"},
    {ms_any_layer_slides, "with sliding windows"},
    {splits_backward_beside, "with a zero bubble schedule beside other layouts"},
    {ms_has_other_loss, "with another loss than the model's own"},
    {empties_cache, "with empty-cache-steps"},
    {ms_uses_liger, "with Liger's kernels"},
    {ms_uses_autocast, "with autocast"},
    {ms_attends_eagerly, "with this attention"},
    {ms_asks_reentrant, "with reentrant checkpoints"},
    {ms_optimizes_elsewhere, "with this optimizer"},
    {NULL, NULL},
};

/* How the schedules call fully_shard leaves no choice in these. */
static ms_status check_options(const ms_resolving *c)
{
    static const char *const options[] = {"no-sync",       "reshard-after-backward",
                                          "reshard-ranks", "fsdp-units",
                                          "build",         "fsdp-offload"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (ms_resolve_is_set(c, options[i]))
            return ms_resolve_fail(c, options[i], "it is not predicted with pipeline parallelism");
    if (ms_resolve_is_set(c, "reshard-after-forward") && c->draft->reshards)
        return ms_resolve_fail(c, "reshard-after-forward",
                               "with pipeline parallelism layers stay gathered: give no");
    return MS_OK;
}

ms_status ms_resolve_pipeline(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    ms_pipeline_layout *pipeline = &parallel->layout.pipeline;
    if (!ms_layout_has_stages(&parallel->layout))
        return MS_OK;
    if (!ms_is_compared(c->model, MS_WITH_PIPELINE))
        return ms_resolve_fail(c, "parallel", "pipeline parallelism is not predicted for %s, %s",
                               c->model->model_type,
                               ms_why_not_compared(c->model, MS_WITH_PIPELINE));
    const char *why = ms_rank_refusal_of(c, refusals);
    if (why)
        return ms_resolve_fail(c, "parallel", "pipeline parallelism is not predicted %s", why);
    if (!pipeline->stages)
        pipeline->stages = ms_pipeline_traits_of(pipeline->kind)->is_v_shaped ? 2 : 1;
    ms_status status = check_stages(c);
    if (status == MS_OK)
        status = check_micro_batches(c);
    if (status == MS_OK)
        status = check_options(c);
    parallel->keeps_unsharded = parallel->keeps_after_backward = parallel->syncs_last_only =
        parallel->layout.kind == MS_PARALLEL_FSDP2;
    return status;
}
