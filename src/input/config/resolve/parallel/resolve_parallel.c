/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_parallel.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/parallel/refusals.h"
#include "input/config/resolve/parallel/resolve_fsdp.h"
#include "input/config/resolve/parallel/resolve_ranks.h"
#include "input/config/resolve/parallel/resolve_zero.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/run/attention.h"
#include "input/config/treatment/row.h"

/* ---- resolve pipeline ---- */

/* What is not predicted with pipeline parallelism. */

/* The micro-batches of the layout are those of the step, and the other way round. */
static ms_status resolve_micro_batches(const ms_resolving *c)
{
    ms_pipeline_layout *pipeline = &c->run->parallel.layout.pipeline;
    uint64_t *steps = &c->run->training.accumulate;
    if (!pipeline->ranks)
        return MS_OK;
    bool is_set = ms_resolve_is_set(c, "accumulate");
    if (!pipeline->micro_batches && !is_set)
        return ms_resolve_fail(c, "parallel", "pp=N needs microbatches=M");
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
        return ms_resolve_fail(c, "parallel", "pp=1 splits nothing: leave it out");
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

static const ms_rank_refusal resolve_pipeline_refusals[] = {
    {ms_has_other_head, "with a head other than that of a causal language model"},
    {ms_has_long_rotary, "with rotary embeddings that depend on the length"},
    {ms_any_layer_slides, "with sliding windows"},
    {splits_backward_beside, "with a zero bubble schedule beside other layouts"},
    {ms_has_other_loss, "with a loss other than the model's own"},
    {empties_cache, "with empty-cache-steps"},
    {ms_uses_liger, "with Liger's kernels"},
    {ms_uses_autocast, "with autocast"},
    {ms_attends_eagerly, "with this attention"},
    {ms_asks_reentrant, "with reentrant checkpoints"},
    {ms_optimizes_elsewhere, "with this optimizer"},
    {NULL, NULL},
};

/* How the schedules call fully_shard leaves no choice in these. */
static ms_status resolve_pipeline_check_options(const ms_resolving *c)
{
    static const char *const options[] = {"no-sync",       "reshard-after-backward",
                                          "reshard-ranks", "fsdp-units",
                                          "build",         "fsdp-offload"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (ms_resolve_is_set(c, options[i]))
            return ms_resolve_fail(c, options[i],
                                   "it is not predicted with pipeline parallelism; leave it out");
    if (ms_resolve_is_set(c, "reshard-after-forward") && c->draft->reshards)
        return ms_resolve_fail(c, "reshard-after-forward",
                               "with pipeline parallelism layers stay gathered: give no");
    return MS_OK;
}

/* Refuses what is not predicted with the layout's stages; with fully_shard, sets how the schedules
 * call it. Without stages it does nothing. */
static ms_status resolve_pipeline(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    ms_pipeline_layout *pipeline = &parallel->layout.pipeline;
    if (!ms_layout_has_stages(&parallel->layout))
        return MS_OK;
    if (!ms_is_compared(c->model, MS_WITH_PIPELINE))
        return ms_resolve_fail(c, "parallel", "pipeline parallelism is not predicted for %s, %s",
                               c->model->model_type,
                               ms_why_not_compared(c->model, MS_WITH_PIPELINE));
    const char *why = ms_rank_refusal_of(c, resolve_pipeline_refusals);
    if (why)
        return ms_resolve_fail(c, "parallel", "pipeline parallelism is not predicted %s", why);
    if (!pipeline->stages)
        pipeline->stages = ms_pipeline_traits_of(pipeline->kind)->is_v_shaped ? 2 : 1;
    ms_status status = check_stages(c);
    if (status == MS_OK)
        status = check_micro_batches(c);
    if (status == MS_OK)
        status = resolve_pipeline_check_options(c);
    parallel->keeps_unsharded = parallel->keeps_after_backward = parallel->syncs_last_only =
        parallel->layout.kind == MS_PARALLEL_FSDP2;
    return status;
}

/* ---- resolve tensor ---- */

/* What is not predicted with tensor parallelism. */

/* The first and the last stage of a pipeline have a table each. */
static bool ties_whole_model(const ms_resolving *c)
{
    return c->model->tie_word_embeddings && !ms_layout_has_stages(&c->run->parallel.layout);
}

static bool has_copies(const ms_resolving *c)
{
    return c->run->parallel.layout.copies > 1;
}

static bool optimizes_otherwise(const ms_resolving *c)
{
    const ms_training *training = &c->run->training;
    bool is_fused = training->optimizer_impl == MS_OPTIMIZER_FUSED;
    return !(training->optimizer == MS_OPTIMIZER_ADAMW
                 ? training->optimizer_impl != MS_OPTIMIZER_LOOP
                 : training->optimizer == MS_OPTIMIZER_ADAM && is_fused);
}

static const ms_rank_refusal resolve_tensor_refusals[] = {
    {ms_has_other_head, "with a head other than that of a causal language model"},
    {ties_whole_model, "with tied embeddings"},
    {ms_any_layer_slides, "with sliding windows"},
    {has_copies, "with HSDP"},
    {optimizes_otherwise,
     "with an optimizer other than the fused adamw and adam, and the foreach adamw"},
    {ms_has_other_loss, "with another loss"},
    {ms_uses_liger, "with Liger's kernels"},
    {ms_uses_autocast, "with autocast"},
    {ms_attends_eagerly, "with this attention"},
    {ms_asks_reentrant, "with reentrant checkpoints"},
    {NULL, NULL},
};

static ms_status check_size(const ms_resolving *c, const char *what, uint64_t size)
{
    uint64_t ranks = c->run->parallel.layout.tensor;
    if (size % ranks == 0)
        return MS_OK;
    return ms_resolve_fail(c, "parallel",
                           "tensor parallelism is predicted only for even shards: %s, %" PRIu64
                           ", is not a multiple of tp, %" PRIu64,
                           what, size, ranks);
}

static ms_status check_sizes(const ms_resolving *c)
{
    const ms_model_config *model = c->model;
    const struct {
        const char *what;
        uint64_t size;
    } sizes[] = {
        {"the number of heads", model->num_heads},
        {"the number of key and value heads", model->num_kv_heads},
        {"the intermediate size", model->intermediate_size},
        {"the vocabulary", model->vocab_size},
        {"the sequence", c->run->parallel.splits_sequence ? c->run->seq_tokens : 0},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == MS_OK; i++)
        status = check_size(c, sizes[i].what, sizes[i].size);
    return status;
}

static ms_status resolve_tensor_check_options(const ms_resolving *c)
{
    static const char *const options[] = {"sequence-parallel", "loss-parallel"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (ms_resolve_is_set(c, options[i]))
            return ms_resolve_fail(c, options[i], "it is an option of tp=N, but parallel is %s",
                                   ms_layout_text(c->arena, &c->run->parallel.layout));
    return MS_OK;
}

/* Refuses what is not predicted with the layout's tensor parallelism, and its options without it.
 */
static ms_status resolve_tensor_parallel(const ms_resolving *c)
{
    if (c->run->parallel.layout.tensor <= 1)
        return resolve_tensor_check_options(c);
    if (!ms_is_compared(c->model, MS_WITH_TENSOR))
        return ms_resolve_fail(c, "parallel", "tensor parallelism is not predicted for %s, %s",
                               c->model->model_type, ms_why_not_compared(c->model, MS_WITH_TENSOR));
    const char *why = ms_rank_refusal_of(c, resolve_tensor_refusals);
    if (why)
        return ms_resolve_fail(c, "parallel", "tensor parallelism is not predicted %s", why);
    return check_sizes(c);
}

/* ---- resolve context ---- */

/* What is not predicted with context parallelism. */

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
    {ms_has_other_head, "with a head other than that of a causal language model"},
    {ms_any_layer_slides, "with sliding windows"},
    {ms_has_long_rotary, "with rotary embeddings that depend on the length"},
    {drops_scores, "with dropout in attention"},
    {attends_otherwise, "with attention other than flash, which needs bf16 or fp16"},
    {has_odd_heads, "with heads whose size is not a multiple of 8"},
    {ms_has_other_loss, "with another loss"},
    {reshards_otherwise, "with fsdp-offload or reshard-ranks"},
    {builds_otherwise, "with build or fsdp-units"},
    {NULL, NULL},
};

/* Refuses it by name; without context parallelism nothing is refused. Call it when the types and
 * the options of the ranks are known. */
static ms_status resolve_context_parallel(const ms_resolving *c)
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
        c, "seq", "found %" PRIu64 ", but %s splits a sequence into %" PRIu64 " equal parts",
        c->run->seq_tokens, ms_layout_text(c->arena, layout), 2 * layout->context);
}

/* ---- resolve parallel ---- */

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
    {"load-dtype", OF_FSDP1},
    {"param-dtype", OF_FSDP},
    {"reduce-dtype", OF_FSDP},
    {"reshard-after-forward", OF_FSDP},
    {"bucket-cap-mb", OF_DDP},
    {"gradient-as-bucket-view", OF_DDP},
    {"static-graph", OF_DDP},
    {"find-unused-parameters", OF_DDP},
    {"init-sync", OF_DDP},
    {"no-all-reduce", OF_FSDP2},
    {"use-orig-params", OF_FSDP1},
    {"forward-prefetch", OF_FSDP1},
    {"backward-prefetch", OF_FSDP1},
    {"limit-all-gathers", OF_FSDP1},
    {"reshard-ranks", OF_FSDP2},
    {"reshard-root", OF_FSDP2},
    {"zero-optimizer", OF_DDP},
    {"parameters-as-bucket-view", OF_DDP},
    {"reshard-after-backward", OF_FSDP2},
    {"fsdp-offload", OF_FSDP2},
    {"fsdp-units", OF_FSDP2},
    {"reduce-bucket-size", OF_ZERO},
    {"decay-groups", OF_ZERO},
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
    return ms_resolve_fail(c, "parallel", "%s shares parameters with no other rank: %s",
                           ms_layout_text(c->arena, layout),
                           layout->copies > 1 ? "give dp=N" : "leave it out");
}

static ms_status check_rank(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    uint64_t world = ms_layout_world(&parallel->layout);
    parallel->rank = parallel->choice.kind == MS_RANK_ONE ? parallel->choice.rank : 0;
    if (parallel->rank < world)
        return MS_OK;
    return ms_resolve_fail(c, "rank", "found %" PRIu64 ", but the ranks are 0 to %" PRIu64,
                           parallel->rank, world - 1);
}

/* Treatments that were not compared with PyTorch's among these ranks. Of parts of a layer the MLP
 * in tiles was, and all under fully_shard by layers; under DistributedDataParallel a rank is as one
 * that trains alone. */
static bool treats_more(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    const uint32_t known = ms_parallel_techniques(&run->parallel);
    const ms_parallel_kind kind = run->parallel.layout.kind;
    const bool knows_parts = kind == MS_PARALLEL_DDP ||
                             (kind == MS_PARALLEL_FSDP2 && ms_shares_layers_alone(&run->parallel));
    uint32_t used = run->treatments.loss_chunks > 0 ? MS_MAY_CHUNK_LOSS : 0;
    for (uint64_t i = 0; i < c->model->num_layers; i++) {
        const ms_treatment *t = &run->treatments.layers[i];
        used |= ms_treatment_techniques(t);
        for (int part = 0; part < MS_PART_COUNT && !knows_parts; part++)
            if (t->parts[part] && part != MS_PART_TILE)
                return true;
    }
    return (used & ~known) != 0;
}

static ms_status check_treatments(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    if (!treats_more(c))
        return MS_OK;
    return ms_resolve_fail(c, "parallel", "%s is not predicted with these treatments, only with %s",
                           ms_layout_name(&parallel->layout), ms_parallel_treatments(parallel));
}

/* DistributedDataParallel stops at a second step whose first left parameters without gradients:
 * which those are, or NULL. */
static const char *left_without_gradients(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    bool trains_all = !ms_resolve_has_adapter(c) || ms_has_idle_layers(c);
    if (parallel->layout.kind != MS_PARALLEL_DDP || !trains_all || parallel->finds_unused ||
        parallel->has_static_graph)
        return NULL;
    if (ms_has_idle_part(c))
        return ms_idle_part(c);
    if (!ms_is_text_only(c->model, c->run))
        return NULL;
    return c->model->vision.hidden_size > 0 ? "without images the vision tower"
                                            : "without sounds the audio tower";
}

ms_status ms_resolve_parallel_types(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    parallel->shard_dtype = parallel->trained_dtype = c->run->dtype;
    parallel->casts_buffers = ms_resolve_is_set(c, "load-dtype");
    if (!parallel->casts_buffers)
        parallel->load_dtype = c->run->dtype;
    parallel->has_param_dtype = ms_resolve_is_set(c, "param-dtype");
    if (!parallel->has_param_dtype)
        parallel->param_dtype = c->run->dtype;
    if (!ms_resolve_is_set(c, "reduce-dtype"))
        parallel->reduce_dtype = parallel->param_dtype;
    if (!ms_resolve_is_set(c, "overlap-comm"))
        parallel->zero.overlap_comm = parallel->layout.stage == 3;
    if (ms_layout_shards(&parallel->layout))
        c->run->dtype = parallel->param_dtype;
    return resolve_micro_batches(c);
}

/* A number of ranks that was given apart from the layout. */
static ms_status check_world(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    uint64_t world = ms_layout_world(layout);
    if (!ms_resolve_is_set(c, "world") || c->draft->world == world)
        return MS_OK;
    if (layout->kind == MS_PARALLEL_NONE)
        return ms_resolve_fail(c, "world",
                               "there are %" PRIu64
                               " ranks, but nothing says how they share the training: give "
                               "parallel, or training-args that shard",
                               c->draft->world);
    return ms_resolve_fail(c, "world", "found %" PRIu64 ", but parallel %s has %" PRIu64 " ranks",
                           c->draft->world, ms_layout_text(c->arena, layout), world);
}

/* What keeps a model that is moved from being predicted, as "with ..."; NULL: nothing. */
static const char *not_moved(const ms_run_config *run)
{
    const ms_parallel_kind kind = run->parallel.layout.kind;
    if (kind != MS_PARALLEL_NONE && kind != MS_PARALLEL_DDP)
        return ms_layout_name(&run->parallel.layout);
    if (run->device->is_cpu)
        return "the cpu, where nothing moves";
    if (ms_is_packed(&run->quantization))
        return "packed weights, which are loaded onto the device";
    return run->parameter_device == MS_PARAMETERS_ON_HOST ? "parameter-device host" : NULL;
}

static ms_status resolve_build(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    const bool shards = ms_layout_shards(&parallel->layout);
    const char *why = shards ? NULL : not_moved(c->run);
    if (!ms_resolve_is_set(c, "build")) {
        const bool is_loaded = c->draft->is_mapped ||
                               (c->draft->is_loaded && parallel->layout.kind == MS_PARALLEL_NONE);
        if ((c->draft->is_moved || c->draft->is_loaded) && !shards && !why)
            parallel->build = is_loaded ? MS_BUILD_DEVICE_MAP : MS_BUILD_HOST;
        return MS_OK;
    }
    const ms_build build = parallel->build;
    if (shards ? build == MS_BUILD_HOST_BASE || build == MS_BUILD_DEVICE_MAP
               : build == MS_BUILD_META || build == MS_BUILD_BROADCAST)
        return ms_resolve_fail(c, "build", "%s is for models that are %s", ms_build_names[build],
                               shards ? "not sharded: give host" : "sharded by FSDP: give host");
    return why && build != MS_BUILD_DEVICE
               ? ms_resolve_fail(c, "build", "%s is not predicted with %s", ms_build_names[build],
                                 why)
               : MS_OK;
}

/* Options that contradict one another, the first that holds is told. */
static ms_status check_together(const ms_resolving *c)
{
    const ms_parallel *p = &c->run->parallel;
    const struct {
        bool holds;
        const char *option, *why;
    } rows[] = {
        {p->has_parameter_views && !p->has_zero_optimizer, "parameters-as-bucket-view",
         "it is an option of zero-optimizer, which is not set"},
        {p->has_static_graph && c->run->training.label_smoothing > 0, "static-graph",
         "it is not predicted with label-smoothing"},
        {p->has_static_graph && p->finds_unused, "find-unused-parameters",
         "it is not predicted with static-graph"},
        {p->has_static_graph && p->syncs_last_only, "static-graph",
         "it is not predicted with no-sync"},
        {p->finds_unused && ms_resolve_is_reentrant(c), "find-unused-parameters",
         "DistributedDataParallel fails with reentrant checkpoints, because it takes their "
         "parameters for unused: give no"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].holds)
            return ms_resolve_fail(c, rows[i].option, "%s", rows[i].why);
    const char *left = left_without_gradients(c);
    return left ? ms_resolve_fail(
                      c, "find-unused-parameters",
                      "%s gets no gradients, and DistributedDataParallel waits for them: give yes",
                      left)
                : MS_OK;
}

static ms_status check_ranks(const ms_resolving *c)
{
    const char *why = ms_unsupported_by_ranks(c);
    return why ? ms_resolve_fail(c, "parallel", "%s is not predicted %s",
                                 ms_layout_name(&c->run->parallel.layout), why)
               : MS_OK;
}

/* What follows from the options, the model and the run together. */
static ms_status take_settings(const ms_resolving *c)
{
    ms_parallel *p = &c->run->parallel;
    const ms_training *training = &c->run->training;
    p->keeps_unsharded = !c->draft->reshards;
    p->zero.offloads_optimizer = training->optimizer_device == MS_OPTIMIZER_ON_HOST;
    p->zero.has_leaf_blocks = ms_family_facts_of(c->model->family)->has_leaf_experts;
    p->zero.accumulates_f32 =
        training->accumulation == MS_ACCUMULATE_F32 && c->run->dtype != MS_DTYPE_F32;
    p->zero.contiguous_gradients |= p->zero.offloads_optimizer;
    p->keeps_after_backward = !c->draft->reshards_after_backward;
    p->has_tied_ends = p->units == MS_UNITS_ACCELERATE && c->model->tie_word_embeddings;
    p->has_end_units = p->units != MS_UNITS_LAYERS && !p->has_tied_ends;
    p->has_flat_parameters = !c->draft->keeps_orig_params;
    return MS_OK;
}

typedef ms_status (*step)(const ms_resolving *c);

/* In turn, up to the first that fails. */
static ms_status run_steps(const ms_resolving *c, const step *steps, size_t count)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = steps[i](c);
    return status;
}

ms_status ms_resolve_parallel(const ms_resolving *c)
{
    static const step always[] = {check_options, resolve_build, check_world,
                                  check_rank,    check_shards,  resolve_tensor_parallel};
    static const step of_ranks[] = {check_together,           check_ranks,     check_treatments,
                                    ms_resolve_packed_zero3,  take_settings,   ms_resolve_fsdp,
                                    resolve_context_parallel, resolve_pipeline};
    ms_status status = run_steps(c, always, sizeof always / sizeof always[0]);
    if (status != MS_OK || c->run->parallel.layout.kind == MS_PARALLEL_NONE)
        return status;
    return run_steps(c, of_ranks, sizeof of_ranks / sizeof of_ranks[0]);
}
