/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolve_parallel.h"

#include <inttypes.h>
#include <string.h>

/* An option that only one technique has. */
typedef struct option {
    const char *name;
    ms_parallel_kind kind;
} option;

static const option options[] = {
    {"param-dtype", MS_PARALLEL_FSDP2},
    {"reduce-dtype", MS_PARALLEL_FSDP2},
    {"reshard-after-forward", MS_PARALLEL_FSDP2},
    {"bucket-cap-mb", MS_PARALLEL_DDP},
    {"gradient-as-bucket-view", MS_PARALLEL_DDP},
    {"reduce-bucket-size", MS_PARALLEL_ZERO},
    {"zero-init", MS_PARALLEL_ZERO},
    {"offload-param", MS_PARALLEL_ZERO},
    {"overlap-comm", MS_PARALLEL_ZERO},
    {"contiguous-gradients", MS_PARALLEL_ZERO},
    {"stage3-prefetch-bucket-size", MS_PARALLEL_ZERO},
    {"stage3-max-live-parameters", MS_PARALLEL_ZERO},
    {"stage3-max-reuse-distance", MS_PARALLEL_ZERO},
    {"stage3-param-persistence-threshold", MS_PARALLEL_ZERO},
};

static const char *const layouts[] = {[MS_PARALLEL_DDP] = "dp=N",
                                      [MS_PARALLEL_FSDP2] = "fsdp=N and hsdp=RxS",
                                      [MS_PARALLEL_ZERO] = "zero=STAGE,dp=N"};

static ms_status check_options(const ms_resolving *c)
{
    ms_parallel_kind kind = c->run->parallel.layout.kind;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].kind != kind && ms_resolve_is_set(c, options[i].name))
            return ms_resolve_fail(c, options[i].name, "it is an option of %s, but parallel is %s",
                                   layouts[options[i].kind],
                                   ms_layout_text(c->arena, &c->run->parallel.layout));
    return MS_OK;
}

static ms_status check_rank(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    uint64_t world = ms_layout_world(&parallel->layout);
    if (parallel->rank < world)
        return MS_OK;
    return ms_resolve_fail(c, "rank", "%" PRIu64 ", but the ranks are 0 to %" PRIu64,
                           parallel->rank, world - 1);
}

/* ZeRO-3 prefetches at every module, also at those without parameters: of these models all are
 * known. */
static bool has_known_modules(const ms_model_config *model)
{
    static const char *const types[] = {"llama",  "mistral", "qwen2",       "qwen3",
                                        "gemma",  "gemma2",  "gemma3_text", "olmo2",
                                        "cohere", "granite", "starcoder2",  "smollm3"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], model->model_type) == 0)
            return true;
    return false;
}

/* The same for ZeRO. */
static const char *unsupported_by_zero(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    const ms_zero *zero = &run->parallel.zero;
    bool is_stage3 = run->parallel.layout.stage == 3;
    if (run->parallel.syncs_last_only)
        return "with no-sync";
    if (run->dtype == MS_DTYPE_F32)
        return "with weights in fp32";
    if (is_stage3 && run->parallel.layout.shards == 1)
        return "for one rank";
    if (zero->offloads_parameters && !is_stage3)
        return "with offload-param: it is of stage 3";
    if (zero->offloads_parameters && run->training.optimizer_device != MS_OPTIMIZER_ON_HOST)
        return "with offload-param but an optimizer on the device";
    if (!zero->contiguous_gradients && zero->overlap_comm && !is_stage3)
        return "with overlap-comm but without contiguous-gradients";
    if (is_stage3 && (!has_known_modules(c->model) || c->model->num_experts))
        return "for models of this type";
    bool is_wide = run->training.accumulation == MS_ACCUMULATE_F32;
    if (is_wide && run->parallel.layout.stage == 1)
        return "with gradients accumulated in fp32, for which DeepSpeed has another optimizer";
    if (is_wide &&
        (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST || !zero->contiguous_gradients))
        return "with gradients accumulated in fp32 on the host or without contiguous-gradients";
    if (is_stage3 && run->liger)
        return "with Liger kernels";
    if (is_stage3 && *run->treat)
        return "with treatments other than checkpointing";
    return NULL;
}

/* What is not predicted for this technique, as "with ..."; NULL: all of it is. */
static const char *unsupported(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    bool is_zero = run->parallel.layout.kind == MS_PARALLEL_ZERO;
    const char *by_zero = is_zero ? unsupported_by_zero(c) : NULL;
    if (by_zero)
        return by_zero;
    bool shards = run->parallel.layout.kind == MS_PARALLEL_FSDP2 || is_zero;
    if (run->device->is_cpu)
        return "on the cpu";
    if (run->training.optimizer_in_backward)
        return "with an optimizer in backward";
    if (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST && !is_zero)
        return "with an optimizer on the host";
    if (run->training.accumulation != MS_ACCUMULATE_SAME && !is_zero)
        return "with gradients accumulated in fp32";
    if (run->training.eval_batch)
        return "with evaluations";
    if (ms_is_packed(&run->quantization))
        return "with a quantised base";
    if (shards && run->autocast != MS_AUTOCAST_NONE)
        return is_zero ? "with autocast" : "with autocast: use param-dtype";
    const ms_optimizer_traits *traits = ms_optimizer_traits_of(run->training.optimizer);
    return shards && !traits->is_everywhere ? "with this optimizer" : NULL;
}

ms_status ms_resolve_parallel_types(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    parallel->shard_dtype = c->run->dtype;
    if (!ms_resolve_is_set(c, "param-dtype"))
        parallel->param_dtype = c->run->dtype;
    if (!ms_resolve_is_set(c, "reduce-dtype"))
        parallel->reduce_dtype = parallel->param_dtype;
    if (!ms_resolve_is_set(c, "overlap-comm"))
        parallel->zero.overlap_comm = parallel->layout.stage == 3;
    if (parallel->layout.kind == MS_PARALLEL_FSDP2)
        c->run->dtype = parallel->param_dtype;
    return MS_OK;
}

ms_status ms_resolve_parallel(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    ms_status status = check_options(c);
    if (status == MS_OK)
        status = check_rank(c);
    if (status != MS_OK || parallel->layout.kind == MS_PARALLEL_NONE)
        return status;
    const char *why = unsupported(c);
    if (why)
        return ms_resolve_fail(c, "parallel", "%s is not predicted %s",
                               ms_layout_name(&parallel->layout), why);
    parallel->keeps_unsharded = !c->draft->reshards;
    parallel->zero.offloads_optimizer = c->run->training.optimizer_device == MS_OPTIMIZER_ON_HOST;
    parallel->zero.accumulates_f32 =
        c->run->training.accumulation == MS_ACCUMULATE_F32 && c->run->dtype != MS_DTYPE_F32;
    parallel->zero.contiguous_gradients |= parallel->zero.offloads_optimizer;
    return ms_note_add(c->notes, c->arena, c->err,
                       "rank %" PRIu64 " of %" PRIu64 " under %s; buffers of NCCL, some "
                       "hundred MiB, are not in the figures",
                       parallel->rank, ms_layout_world(&parallel->layout),
                       ms_layout_name(&parallel->layout));
}
