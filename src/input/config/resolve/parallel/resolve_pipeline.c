/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_pipeline.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"

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

static bool any_layer_slides(const ms_model_config *model)
{
    for (uint64_t i = 0; i < model->num_layers && model->layer_kinds; i++)
        if (model->layer_kinds[i] & MS_LAYER_SLIDES)
            return true;
    return false;
}

/* What is not predicted, as "with ..."; NULL: all of it is. */
static const char *unsupported_model(const ms_model_config *model)
{
    if (!ms_is_compared(model, MS_WITH_PIPELINE))
        return "for models of this type";
    if (model->head != MS_HEAD_CAUSAL_LM)
        return "with a head that is no causal language model";
    if (model->long_rotary)
        return "with rotary embeddings that depend on the length";
    return any_layer_slides(model) ? "with sliding windows" : NULL;
}

static const char *unsupported_run(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    const ms_pipeline_layout *pipeline = &run->parallel.layout.pipeline;
    if (ms_pipeline_traits_of(pipeline->kind)->is_split &&
        run->parallel.layout.kind != MS_PARALLEL_PP)
        return "with a zero bubble schedule beside other layouts";
    if (run->training.label_smoothing > 0 || run->training.logits_to_keep)
        return "with another loss than the model's own";
    if (run->training.empty_cache_steps)
        return "with empty-cache-steps";
    if (run->liger)
        return "with Liger's kernels";
    if (run->autocast != MS_AUTOCAST_NONE)
        return "with autocast";
    if (run->attention == MS_ATTENTION_EAGER || run->attention == MS_ATTENTION_MATH)
        return "with this attention";
    if (run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return "with reentrant checkpoints";
    return ms_optimizer_traits_of(run->training.optimizer)->is_everywhere ? NULL
                                                                          : "with this optimizer";
}

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
    const char *why = unsupported_model(c->model);
    if (!why)
        why = unsupported_run(c);
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
