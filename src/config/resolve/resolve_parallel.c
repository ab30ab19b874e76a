/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolve_parallel.h"

#include <inttypes.h>
#include <string.h>

#include "config/resolve/resolve_context.h"
#include "config/resolve/resolve_tensor.h"

/* An option that only one technique has. */
typedef struct option {
    const char *name;
    uint32_t kinds; /* one bit for each ms_parallel_kind that has it */
} option;

enum {
    OF_DDP = 1 << MS_PARALLEL_DDP,
    OF_FSDP1 = 1 << MS_PARALLEL_FSDP1,
    OF_FSDP2 = 1 << MS_PARALLEL_FSDP2,
    OF_ZERO = 1 << MS_PARALLEL_ZERO,
    OF_FSDP = 1 << MS_PARALLEL_FSDP2 | OF_FSDP1
};

static const option options[] = {
    {"param-dtype", OF_FSDP},
    {"reduce-dtype", OF_FSDP},
    {"reshard-after-forward", OF_FSDP},
    {"bucket-cap-mb", OF_DDP},
    {"gradient-as-bucket-view", OF_DDP},
    {"static-graph", OF_DDP},
    {"init-sync", OF_DDP},
    {"no-all-reduce", OF_FSDP2},
    {"use-orig-params", OF_FSDP1},
    {"forward-prefetch", OF_FSDP1},
    {"backward-prefetch", OF_FSDP1},
    {"limit-all-gathers", OF_FSDP1},
    {"reshard-ranks", OF_FSDP2},
    {"zero-optimizer", OF_DDP},
    {"parameters-as-bucket-view", OF_DDP},
    {"reshard-after-backward", OF_FSDP2},
    {"fsdp-offload", OF_FSDP2},
    {"fsdp-units", OF_FSDP2},
    {"fsdp-build", OF_FSDP},
    {"reduce-bucket-size", OF_ZERO},
    {"zero-init", OF_ZERO},
    {"offload-param", OF_ZERO},
    {"overlap-comm", OF_ZERO},
    {"contiguous-gradients", OF_ZERO},
    {"stage3-prefetch-bucket-size", OF_ZERO},
    {"stage3-max-live-parameters", OF_ZERO},
    {"stage3-max-reuse-distance", OF_ZERO},
    {"stage3-param-persistence-threshold", OF_ZERO},
};

static const char *layouts_of(uint32_t kinds)
{
    return kinds == OF_DDP     ? "dp=N"
           : kinds == OF_ZERO  ? "zero=STAGE,dp=N"
           : kinds == OF_FSDP2 ? "fsdp=N and hsdp=RxS"
           : kinds == OF_FSDP1 ? "fsdp1=N and hsdp1=RxS"
                               : "fsdp=N, hsdp=RxS, fsdp1=N and hsdp1=RxS";
}

static ms_status check_options(const ms_resolving *c)
{
    ms_parallel_kind kind = c->run->parallel.layout.kind;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!(options[i].kinds >> kind & 1) && ms_resolve_is_set(c, options[i].name))
            return ms_resolve_fail(c, options[i].name, "it is an option of %s, but parallel is %s",
                                   layouts_of(options[i].kinds),
                                   ms_layout_text(c->arena, &c->run->parallel.layout));
    return MS_OK;
}

/* PyTorch gathers nothing from one rank, and FSDP1 does not shard then. */
static ms_status check_shards(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    if (!ms_layout_shards(layout) || layout->shards > 1)
        return MS_OK;
    return ms_resolve_fail(c, "parallel", "%s shares the parameters with no other rank: %s",
                           ms_layout_text(c->arena, layout),
                           layout->copies > 1 ? "give dp=N" : "leave it out");
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

/* Beyond checkpoints without more, treatments were not compared with PyTorch's under sharding. */
static bool treats_more(const ms_run_config *run, uint64_t layers)
{
    for (uint64_t i = 0; i < layers; i++) {
        const ms_treatment *t = &run->treatments.layers[i];
        bool is_plain = t->kind == MS_TREAT_KEEP || t->kind == MS_TREAT_CHECKPOINT;
        if (!is_plain || t->input != MS_INPUT_ON_DEVICE)
            return true;
        for (int part = 0; part < MS_PART_COUNT; part++)
            if (t->parts[part])
                return true;
    }
    return run->treatments.loss_chunks > 0;
}

static bool has_reentrant_checkpoints(const ms_run_config *run, uint64_t layers)
{
    for (uint64_t i = 0; i < layers; i++)
        if (run->treatments.layers[i].kind == MS_TREAT_CHECKPOINT)
            return run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    return false;
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
    bool shards =
        ms_layout_shards(&run->parallel.layout) || run->parallel.has_zero_optimizer || is_zero;
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
    bool casts = ms_layout_shards(&run->parallel.layout) || is_zero;
    if (casts && run->autocast != MS_AUTOCAST_NONE)
        return is_zero ? "with autocast" : "with autocast: use param-dtype";
    if (shards && run->liger)
        return "with Liger's kernels";
    if (shards && treats_more(run, c->model->num_layers))
        return "with treatments other than checkpoint";
    if (shards && has_reentrant_checkpoints(run, c->model->num_layers))
        return "with reentrant checkpoints";
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
    if (ms_layout_shards(&parallel->layout))
        c->run->dtype = parallel->param_dtype;
    return MS_OK;
}

/* Ranks that keep a layer between forward and backward: some, but not all, of those that share it.
 */
static ms_status check_reshard_ranks(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    uint64_t ranks = parallel->reshard_ranks, shards = parallel->layout.shards;
    if (ranks == 0)
        return MS_OK;
    if (parallel->keeps_unsharded)
        return ms_resolve_fail(c, "reshard-ranks",
                               "it divides what reshard-after-forward keeps whole");
    if (ranks > 1 && ranks < shards && shards % ranks == 0)
        return MS_OK;
    return ms_resolve_fail(c, "reshard-ranks",
                           "%" PRIu64 ", but a divisor of the %" PRIu64
                           " ranks that share parameters is needed, neither 1 nor all",
                           ranks, shards);
}

/* The ends of a model are found by their operators, which these families have in torchtitan's
 * order. */
static const char *why_no_end_units(const ms_resolving *c)
{
    static const char *const families[] = {"llama", "mistral", "qwen2", "qwen3"};
    const ms_run_config *run = c->run;
    bool is_known = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        is_known |= strcmp(c->model->family->model_type, families[i]) == 0;
    if (!is_known || c->model->head != MS_HEAD_CAUSAL_LM)
        return "for this model";
    if (c->model->tie_word_embeddings)
        return "with tied embeddings";
    if (run->liger || run->treatments.loss_chunks || run->training.label_smoothing > 0)
        return "with a loss other than the model's own";
    return run->parallel.reshard_ranks ? "with reshard-ranks" : NULL;
}

static ms_status check_fsdp2(const ms_resolving *c)
{
    ms_status status = check_reshard_ranks(c);
    const ms_parallel *parallel = &c->run->parallel;
    if (status == MS_OK && parallel->sums_last_only && parallel->layout.copies == 1)
        status = ms_resolve_fail(c, "no-all-reduce", "it is for copies, but parallel is %s",
                                 ms_layout_text(c->arena, &parallel->layout));
    if (status == MS_OK && parallel->sums_last_only && parallel->syncs_last_only)
        status = ms_resolve_fail(c, "no-all-reduce", "with no-sync nothing is reduced");
    if (status == MS_OK && parallel->offloads &&
        (parallel->builds_on_device || parallel->reshard_ranks))
        status = ms_resolve_fail(c, "fsdp-offload",
                                 "it is not predicted with fsdp-build device or reshard-ranks");
    const char *why = c->run->parallel.has_end_units ? why_no_end_units(c) : NULL;
    if (status != MS_OK || !why)
        return status;
    return ms_resolve_fail(c, "fsdp-units", "torchtitan's units are not predicted %s", why);
}

static ms_status note_limit(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    if (parallel->layout.kind != MS_PARALLEL_FSDP1 || parallel->limits_all_gathers)
        return MS_OK;
    return ms_note_add(c->notes, c->arena, c->err,
                       "without limit-all-gathers, memory that is reserved depends on how far the "
                       "host runs ahead of the device: here it does not");
}

ms_status ms_resolve_parallel(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    ms_status status = check_options(c);
    if (status == MS_OK)
        status = check_rank(c);
    if (status == MS_OK)
        status = check_shards(c);
    if (status == MS_OK)
        status = ms_resolve_tensor_parallel(c);
    if (status != MS_OK || parallel->layout.kind == MS_PARALLEL_NONE)
        return status;
    if (parallel->has_parameter_views && !parallel->has_zero_optimizer)
        return ms_resolve_fail(c, "parameters-as-bucket-view",
                               "it is an option of zero-optimizer, which is not set");
    if (parallel->has_static_graph && c->run->training.label_smoothing > 0)
        return ms_resolve_fail(c, "static-graph", "it is not predicted with label-smoothing");
    if (parallel->has_static_graph && parallel->syncs_last_only)
        return ms_resolve_fail(c, "static-graph", "it is not predicted with no-sync");
    const char *why = unsupported(c);
    if (why)
        return ms_resolve_fail(c, "parallel", "%s is not predicted %s",
                               ms_layout_name(&parallel->layout), why);
    parallel->keeps_unsharded = !c->draft->reshards;
    parallel->zero.offloads_optimizer = c->run->training.optimizer_device == MS_OPTIMIZER_ON_HOST;
    parallel->zero.accumulates_f32 =
        c->run->training.accumulation == MS_ACCUMULATE_F32 && c->run->dtype != MS_DTYPE_F32;
    parallel->zero.contiguous_gradients |= parallel->zero.offloads_optimizer;
    parallel->keeps_after_backward = !c->draft->reshards_after_backward;
    parallel->has_end_units = c->draft->fsdp_units == MS_UNITS_TORCHTITAN;
    parallel->builds_on_device = c->draft->fsdp_build == MS_BUILD_DEVICE;
    parallel->has_flat_parameters = !c->draft->keeps_orig_params;
    status = check_fsdp2(c);
    if (status == MS_OK)
        status = ms_resolve_context_parallel(c);
    if (status == MS_OK)
        status = note_limit(c);
    return status;
}

ms_status ms_resolve_sharded_adapter(const ms_parallel *parallel, ms_adapter *adapter,
                                     ms_error *err)
{
    const char *why = NULL;
    if (parallel->layout.kind != MS_PARALLEL_FSDP2)
        why = "an adapter";
    else if (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora ||
             adapter->bias != MS_ADAPTER_BIAS_NONE || adapter->saved.count)
        why = "an adapter other than plain LoRA";
    else if (adapter->dtype != parallel->shard_dtype)
        why = "an adapter in another type than the weights (set adapter-dtype)";
    else if (parallel->builds_on_device || parallel->has_end_units)
        why = "an adapter and fsdp-build or fsdp-units";
    if (why)
        return ms_fail(err, MS_ERR_USAGE,
                       "parallel: %s is not predicted with %s; `memscope capture --world N` "
                       "measures it",
                       ms_layout_name(&parallel->layout), why);
    adapter->dtype = parallel->param_dtype;
    return MS_OK;
}

static bool checkpoints_all(const ms_run_config *run, uint64_t layers)
{
    for (uint64_t i = 0; i < layers; i++)
        if (run->treatments.layers[i].kind != MS_TREAT_CHECKPOINT)
            return false;
    return true;
}

static bool is_compared_with_adapters(const ms_model_config *model)
{
    static const char *const types[] = {"llama", "mistral", "qwen2", "qwen3"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(model->model_type, types[i]) == 0)
            return true;
    return false;
}

/* Linear layers in the decoder's layers: there the order of modules was compared. */
static bool adapts_layers_only(const ms_adapter *adapter)
{
    static const char *const names[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                        "gate_proj", "up_proj", "down_proj"};
    for (uint32_t i = 0; i < adapter->targets.count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            is_known |= strcmp(adapter->targets.names[i], names[k]) == 0;
        if (!is_known)
            return false;
    }
    return !adapter->targets.pattern && (adapter->all_linear || adapter->targets.count > 0);
}

ms_status ms_resolve_zero3_adapter(const ms_run_config *run, const ms_model_config *model,
                                   const ms_adapter *adapter, ms_error *err)
{
    const ms_zero *zero = &run->parallel.zero;
    const char *why = NULL;
    if (!is_compared_with_adapters(model))
        why = "an adapter of this type of model";
    else if (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora || adapter->has_bias ||
             adapter->bias != MS_ADAPTER_BIAS_NONE || adapter->saved.count || adapter->dropout > 0)
        why = "an adapter other than plain LoRA without dropout";
    else if (!adapts_layers_only(adapter))
        why = "an adapter of modules other than the projections of attention and MLP";
    else if (!checkpoints_all(run, model->num_layers))
        why = "an adapter, unless all layers are checkpointed";
    else if (!zero->init || zero->offloads_parameters || zero->offloads_optimizer ||
             zero->accumulates_f32 || !zero->contiguous_gradients)
        why =
            "an adapter and zero-init no, contiguous-gradients no, parts on the host or gradients "
            "accumulated in fp32";
    if (!why)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE,
                   "parallel: ZeRO-3 is not predicted with %s; `memscope capture --world N` "
                   "measures it",
                   why);
}
