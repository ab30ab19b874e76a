/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/size.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/model_read.h"
#include "input/config/model/family.h"
#include "input/config/resolve/device_named.h"
#include "input/config/resolve/parallel/resolve_parallel.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/resolve/resolve_loss.h"
#include "input/config/resolve/resolve_padding.h"
#include "input/config/resolve/resolve_quantization.h"
#include "input/config/resolve/resolve_times.h"
#include "input/config/resolve/resolving.h"
#include "input/config/resolve/torch_versions.h"
#include "input/config/run/attention.h"
#include "input/config/run/experts.h"
#include "input/config/run/run_config.h"
#include "input/config/run/treated_layer.h"
#include "input/config/treatment/layers.h"

/* ---- resolve translation ---- */

/* Models with an encoder and a decoder: the encoder's tokens. */

static ms_status resolve_translation(const ms_resolving *c)
{
    static const char source[] = "source-length";
    ms_run_config *run = c->run;
    if (!c->model->is_encoder_decoder)
        return ms_resolve_is_set(c, source)
                   ? ms_resolve_fail(c, source, "only a model with an encoder and a decoder has it")
                   : MS_OK;
    if (!ms_resolve_is_set(c, source))
        run->source_tokens = c->model->source_positions;
    else if (c->model->source_positions)
        return ms_resolve_fail(c, source, "the encoder of %s always has %" PRIu64 " positions",
                               c->model->model_type, c->model->source_positions);
    return MS_OK;
}

/* ---- resolve layers ---- */

/* Treatments of layers. Treatments of the layers and the loss, and which are refused. */

/* The place itself, for what is found out later; *place NULL: on the command line. */
static ms_status keep_place(const ms_resolving *c, const char *field, const ms_error **place)
{
    int index = ms_run_field_find(field);
    *place = c->origins->places[index];
    if (!c->origins->in_file[index])
        return MS_OK;
    ms_error *kept = ms_arena_array(c->arena, ms_error, 1);
    if (!kept)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for a place");
    ms_json_error_set(kept, c->origins->values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s",
                      field);
    *place = kept;
    return MS_OK;
}

static /* Checkpointed layers first, then what `treat` sets for them and others. */
    ms_status
    resolve_layers(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    ms_error reason = {0};
    uint64_t count = c->model->num_layers;
    if (strcmp(run->treat, "none") == 0)
        run->treat = "";
    bool *checkpointed = ms_arena_array(c->arena, bool, count);
    ms_treatment *layers = ms_arena_array(c->arena, ms_treatment, count);
    if (!checkpointed || !layers)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", count);
    if (ms_layer_list_select(run->checkpointing, count, checkpointed, &reason) != MS_OK)
        return ms_resolve_fail(c, "checkpointing", "%s", reason.text);
    for (uint64_t i = 0; i < count; i++)
        layers[i].kind = checkpointed[i] ? MS_TREAT_CHECKPOINT : MS_TREAT_KEEP;
    run->treatments.layers = layers;
    if (ms_treatments_apply(run->treat, c->arena, count, &run->treatments, &reason) != MS_OK)
        return ms_resolve_fail(c, "treat", "%s", reason.text);
    return keep_place(c, "treat", &run->treat_place);
}

static ms_status check_layer(const ms_resolving *c, uint64_t i)
{
    const ms_treated_layer layer = ms_treated_layer_of(c->model, c->run, i);
    ms_refusal refusal;
    if (!ms_treatment_is_refused(&layer, &c->run->treatments.layers[i], &refusal))
        return MS_OK;
    if (refusal.of_any_layer)
        return ms_resolve_fail(c, "treat", "%s", refusal.text);
    return ms_resolve_fail(c, "treat", "layer %" PRIu64 "%s", i, refusal.text);
}

static ms_status check_loss(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    if (run->treatments.loss_chunks > 0 && run->training.optimizer_in_backward)
        return ms_resolve_fail(
            c, "treat",
            "each chunk of the loss adds to the gradients, so the optimizer cannot step in "
            "backward");
    if (run->treatments.loss_chunks > 1 && c->model->family->scales_logits)
        return ms_resolve_fail(
            c, "treat", "%s changes its logits outside the head: the loss cannot run in chunks",
            c->model->family->model_type);
    if (run->treatments.loss_chunks > 1 && c->model->head != MS_HEAD_CAUSAL_LM)
        return ms_resolve_fail(c, "treat",
                               "only the loss of a causal language model is supported in chunks");
    if (run->treatments.loss_chunks > run->batch * run->seq_tokens)
        return ms_resolve_fail(c, "treat", "%" PRIu32 " chunks of %" PRIu64 " tokens",
                               run->treatments.loss_chunks, run->batch * run->seq_tokens);
    if (run->treatments.loss_chunks > 1 && !ms_loss_is_plain(run))
        return ms_resolve_fail(c, "treat",
                               "only the model's own loss over all tokens can run in chunks");
    if (run->treatments.loss_chunks > 1 && c->model->outputs_router_logits)
        return ms_resolve_fail(c, "treat",
                               "a loss in chunks does not include the routers' auxiliary loss");
    return MS_OK;
}

static ms_status resolve_treatments(const ms_resolving *c)
{
    ms_status status = MS_OK;
    for (uint64_t i = 0; i < c->model->num_layers && status == MS_OK; i++)
        status = check_layer(c, i);
    return status == MS_OK ? check_loss(c) : status;
}

/* ---- resolve family ---- */

/* What of a run is not predicted for a family, as the family's row lists it. */

static bool waits_on_host(const ms_resolving *c)
{
    return c->run->parameter_device == MS_PARAMETERS_ON_HOST;
}

static bool is_packed(const ms_resolving *c)
{
    return ms_is_packed(&c->run->quantization);
}

static bool is_packed_otherwise(const ms_resolving *c)
{
    return is_packed(c) && !ms_is_bitsandbytes(&c->run->quantization);
}

static bool is_in_f16(const ms_resolving *c)
{
    return c->run->dtype == MS_DTYPE_F16;
}

static bool trains_in_f16(const ms_resolving *c)
{
    return is_in_f16(c) && !c->draft->is_inference;
}

static bool is_flattened(const ms_resolving *c)
{
    return c->run->parallel.layout.kind == MS_PARALLEL_FSDP1;
}

static bool is_divided(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    return ms_layout_shards(&parallel->layout) || parallel->layout.kind == MS_PARALLEL_ZERO ||
           parallel->has_zero_optimizer;
}

static bool has_ranks(const ms_resolving *c)
{
    return ms_layout_world(&c->run->parallel.layout) > 1;
}

typedef struct refusal {
    uint32_t bit;
    const char *field;
    bool (*asks)(const ms_resolving *c);
    const char *what;
} refusal;

static const refusal refusals[] = {
    {MS_UNPREDICTED_HOST_PARAMETERS, "parameter-device", waits_on_host, "host"},
    {MS_UNPREDICTED_PACKED, "quantize", is_packed, "a quantised base"},
    {MS_UNPREDICTED_OTHER_PACKED, "quantize", is_packed_otherwise,
     "a base that is quantised by anything but bitsandbytes"},
    {MS_UNPREDICTED_F16, "dtype", is_in_f16, "fp16"},
    {MS_UNPREDICTED_F16_STEPS, "dtype", trains_in_f16, "fp16"},
    {MS_UNPREDICTED_FSDP1, "parallel", is_flattened,
     "FSDP1, whose flat parameters mix trained and frozen ones,"},
    {MS_UNPREDICTED_SHARDS, "parallel", is_divided,
     "a layout that shards parameters or states of which some stay in fp32"},
    {MS_UNPREDICTED_RANKS, "parallel", has_ranks, "a run on several GPUs"},
};

/* Refuses a run that asks for what the family's `unpredicted` names, in one sentence. */
static ms_status resolve_family(const ms_resolving *c)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        if (c->model->family->unpredicted & r->bit && r->asks(c))
            return ms_resolve_fail(c, r->field, "%s is not predicted for %s", r->what,
                                   c->model->model_type);
    }
    return MS_OK;
}

/* ---- resolve between steps ---- */

/* Settings of the time between steps: evaluation, emptying the cache. Settings of the time
 * between steps: emptying the cache, and evaluations. */

static ms_status resolve_empty_cache(const ms_resolving *c)
{
    static const char field[] = "empty-cache-steps";
    ms_run_config *run = c->run;
    return run->training.empty_cache_steps && run->allocator.kind == MS_ALLOCATOR_RAW
               ? ms_resolve_fail(c, field, "the raw allocator has no cache")
               : MS_OK;
}

static ms_status resolve_evaluation(const ms_resolving *c)
{
    static const char field[] = "eval-batch";
    ms_run_config *run = c->run;
    if (!run->training.eval_batch)
        return run->training.eval_logits
                   ? ms_resolve_fail(c, "eval-logits", "there is no evaluation: eval-batch is none")
                   : MS_OK;
    if (c->model->head != MS_HEAD_CAUSAL_LM)
        return ms_resolve_fail(c, field, "it is supported for causal language models only");
    if (c->model->outputs_router_logits)
        return ms_resolve_fail(c, field, "it is not supported with output_router_logits");
    return run->parameter_device == MS_PARAMETERS_ON_HOST
               ? ms_resolve_fail(c, field, "it is not supported with parameters on the host")
               : MS_OK;
}

static ms_status resolve_between_steps(const ms_resolving *c)
{
    ms_status status = resolve_empty_cache(c);
    return status == MS_OK ? resolve_evaluation(c) : status;
}

/* ---- resolve adapter ---- */

static ms_status refuse(const ms_parallel *parallel, const char *what, ms_error *err)
{
    return ms_fail(
        err, MS_ERR_USAGE,
        "parallel: %s is not predicted with %s; `memscope capture --world N` measures it",
        ms_layout_name(&parallel->layout), what);
}

/* Base and adapter are on the device, each in its own type, before they are divided. */
static ms_status resolve_on_device(ms_parallel *parallel, const ms_adapter *adapter, bool is_packed,
                                   bool widens, ms_error *err)
{
    if (parallel->shard_dtype != parallel->param_dtype)
        return refuse(parallel,
                      "an adapter and build device, unless param-dtype is the type of the "
                      "weights",
                      err);
    if (widens && !is_packed && adapter->dtype != MS_DTYPE_F32)
        return refuse(parallel,
                      "an adapter that accelerate casts to fp32 on the device (adapter-dtype fp32 "
                      "is predicted)",
                      err);
    parallel->keeps_types = true;
    parallel->trained_dtype = adapter->dtype;
    return MS_OK;
}

/* FSDP2 gathers an adapter with its layer, in one type. */
static ms_status resolve_sharded(ms_parallel *parallel, ms_adapter *adapter, bool is_packed,
                                 ms_error *err)
{
    if (parallel->layout.kind != MS_PARALLEL_FSDP2)
        return refuse(parallel, "an adapter", err);
    if (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora ||
        adapter->bias != MS_ADAPTER_BIAS_NONE || adapter->saved.count)
        return refuse(parallel, "an adapter other than plain LoRA", err);
    if (adapter->dtype != parallel->shard_dtype && !parallel->has_param_dtype)
        return refuse(parallel,
                      "an adapter in another type than the weights: give param-dtype, such as "
                      "bf16, which gathers both in one type",
                      err);
    if (parallel->units == MS_UNITS_TORCHTITAN)
        return refuse(parallel, "an adapter and fsdp-units torchtitan", err);
    /* with mixed precision accelerate widens what is trained, but by no packed base */
    bool widens = parallel->units == MS_UNITS_ACCELERATE && parallel->has_param_dtype;
    if (parallel->build == MS_BUILD_DEVICE)
        return resolve_on_device(parallel, adapter, is_packed, widens, err);
    parallel->trained_dtype = widens ? MS_DTYPE_F32 : adapter->dtype;
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

/* Linear layers in the decoder's layers, as PEFT's own targets of these types are: there the order
 * of modules was compared. */
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
    return !adapter->targets.pattern;
}

/* ZeRO-3 divides an adapter with the model. */
static ms_status resolve_zero3(const ms_run_config *run, const ms_model_config *model,
                               const ms_adapter *adapter, ms_error *err)
{
    const ms_zero *zero = &run->parallel.zero;
    const bool is_packed = ms_is_packed(&run->quantization); /* from_pretrained() is without init */
    const char *why = NULL;
    if (!ms_is_compared(model, MS_WITH_ZERO3_LORA))
        why = "an adapter of this type of model";
    else if (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora || adapter->has_bias ||
             adapter->bias != MS_ADAPTER_BIAS_NONE || adapter->saved.count ||
             (adapter->dropout > 0 && !is_packed))
        why = "an adapter other than plain LoRA without dropout";
    else if (!adapts_layers_only(adapter))
        why = "an adapter of modules other than the projections of attention and MLP";
    else if (!checkpoints_all(run, model->num_layers))
        why = "an adapter, unless all layers are checkpointed";
    else if ((!zero->init && !is_packed) || zero->offloads_parameters || zero->offloads_optimizer ||
             zero->accumulates_f32 || !zero->contiguous_gradients)
        why = "an adapter together with zero-init no, contiguous-gradients no, parts on the host "
              "or gradients accumulated in fp32";
    return why ? refuse(&run->parallel, why, err) : MS_OK;
}

ms_status ms_resolve_adapter(ms_run_config *run, const ms_model_config *model,
                             const ms_dtype *asked, ms_adapter *adapter, ms_error *err)
{
    const ms_layout *layout = &run->parallel.layout;
    bool casts_all = layout->kind == MS_PARALLEL_ZERO; /* DeepSpeed: model.bfloat16() */
    bool is_half = run->dtype == MS_DTYPE_BF16 || run->dtype == MS_DTYPE_F16;
    if (layout->tensor > 1 || layout->context > 1 || ms_layout_has_stages(layout))
        return refuse(&run->parallel, "an adapter", err);
    if (casts_all && asked && *asked != run->dtype)
        return ms_fail(
            err, MS_ERR_USAGE,
            "adapter-dtype: DeepSpeed casts an adapter to the model's type; leave it out");
    adapter->dtype = asked ? *asked
                     : is_half && !casts_all
                         ? MS_DTYPE_F32 /* get_peft_model(autocast_adapter_dtype=True) */
                         : run->dtype;
    if (casts_all && ms_is_packed(&run->quantization) &&
        (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora || adapter->saved.count))
        return refuse(&run->parallel, "an adapter of a quantised base other than plain LoRA", err);
    if (layout->stage == 3)
        return resolve_zero3(run, model, adapter, err);
    return ms_layout_shards(layout)
               ? resolve_sharded(&run->parallel, adapter, ms_is_packed(&run->quantization), err)
               : MS_OK;
}

/* ---- resolve ---- */

enum { DEFAULT_SEQ = 2048 };

/* ---- device ---- */

static ms_status resolve_device(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    char hint[MS_DEVICE_HINT_BYTES];
    const char *name = c->draft->device;
    ms_status status = MS_OK;
    if (run->device)
        return MS_OK;
    if (!run->devices)
        status = ms_devices_load(c->arena, &run->devices, &run->device_count, c->err);
    if (status != MS_OK)
        return status;
    run->device = ms_device_named(run->devices, run->device_count, name, hint);
    return c->run->device ? ms_resolve_times(c)
                          : ms_resolve_fail(c, "device", "unknown device '%.40s'%s", name, hint);
}

/* ---- defaults ---- */

static ms_status resolve_tokens(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    uint64_t image_tokens = c->model->image_tokens;
    if (image_tokens && ms_resolve_is_set(c, "seq"))
        return ms_resolve_fail(c, "seq", "the sequence follows from the image: %" PRIu64 " tokens",
                               image_tokens);
    uint64_t learned = ms_model_learned_positions(c->model);
    if (run->batch > 1 && c->model->head == MS_HEAD_LAST_TOKEN &&
        c->model->pad_token_id == UINT64_MAX)
        return ms_resolve_fail(c, "batch",
                               "found %" PRIu64
                               " sequences, but a classifier without pad_token_id takes one",
                               run->batch);
    if (image_tokens)
        run->seq_tokens = image_tokens;
    else if (!ms_resolve_is_set(c, "seq"))
        run->seq_tokens = learned < DEFAULT_SEQ ? learned : DEFAULT_SEQ;
    if (run->seq_tokens > learned)
        return ms_resolve_fail(
            c, "seq", "found %" PRIu64 " tokens, but the model has learned %" PRIu64 " positions",
            run->seq_tokens, learned);
    /* ALiBi's biases know no largest position. */
    if (c->model->max_positions > 0 && run->seq_tokens > c->model->max_positions)
        return ms_note_add(c->notes, c->arena, c->err,
                           "%" PRIu64 " tokens are more than the %" PRIu64
                           " positions the model was trained for",
                           run->seq_tokens, c->model->max_positions);
    return MS_OK;
}

/* What it is, how it is done, and where. */
static ms_status resolve_optimizer(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    const ms_optimizer_traits *traits = ms_optimizer_traits_of(run->training.optimizer);
    if (!ms_resolve_is_set(c, "optimizer-impl"))
        run->training.optimizer_impl = traits->usual;
    if (!ms_optimizer_has(run->training.optimizer, run->training.optimizer_impl)) {
        char others[64];
        return ms_resolve_fail(
            c, "optimizer-impl", "%s has no %s implementation: it has %s", traits->name,
            ms_optimizer_impl_names[run->training.optimizer_impl],
            ms_optimizer_implementations_text(run->training.optimizer, others, sizeof others));
    }
    if (run->device->is_cpu && !traits->is_everywhere)
        return ms_resolve_fail(c, "optimizer",
                               "%s is supported on GPUs only, but the device is the cpu",
                               traits->name);
    if (!ms_resolve_is_set(c, "weight-decay"))
        run->training.weight_decay = traits->weight_decay;
    run->training.clip = run->training.clip_norm > 0;
    return MS_OK;
}

/* A gradient that is used up at once cannot wait for others. */
static ms_status resolve_in_backward(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    static const char field[] = "optimizer-in-backward";
    if (!run->training.optimizer_in_backward)
        return MS_OK;
    if (run->training.accumulate > 1)
        return ms_resolve_fail(c, field,
                               "the gradients of %" PRIu64 " micro-batches cannot be accumulated",
                               run->training.accumulate);
    if (run->training.clip)
        return ms_resolve_fail(c, field,
                               "gradients are freed before their norm is known: clip must be none");
    if (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST)
        return ms_resolve_fail(c, field, "it is supported only with the optimizer on the device");
    return run->device->is_cpu ? ms_resolve_fail(c, field, "it is supported on GPUs only") : MS_OK;
}

/* An fp32 buffer for each parameter in half precision. */
static ms_status resolve_accumulation(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    static const char field[] = "grad-accumulation-dtype";
    if (run->training.accumulation == MS_ACCUMULATE_SAME)
        return MS_OK;
    if (run->training.optimizer_in_backward)
        return ms_resolve_fail(c, field, "nothing accumulates if the optimizer steps in backward");
    if (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST)
        return ms_resolve_fail(c, field, "it is supported only with the optimizer on the device");
    if (run->dtype == MS_DTYPE_F32)
        return ms_note_add(c->notes, c->arena, c->err,
                           "gradients of fp32 parameters accumulate in fp32 anyway");
    return MS_OK;
}

static ms_status resolve_places(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    bool on_host = run->training.optimizer_device == MS_OPTIMIZER_ON_HOST;
    if (on_host && run->device->is_cpu)
        return ms_resolve_fail(c, "optimizer-device",
                               "the device is the cpu: it is already on the host");
    const ms_optimizer_traits *traits = ms_optimizer_traits_of(run->training.optimizer);
    if (on_host && !traits->is_everywhere)
        return ms_resolve_fail(c, "optimizer-device",
                               "%s is supported on GPUs only, not on the host", traits->name);
    if (run->parameter_device == MS_PARAMETERS_ON_HOST && !on_host)
        return ms_resolve_fail(
            c, "parameter-device",
            "parameters on the host need the optimizer there, but optimizer-device is device");
    return MS_OK;
}

/* The note on autocast when it casts nothing. */
static ms_status note_autocast(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    static const ms_dtype autocast_types[] = {
        [MS_AUTOCAST_NONE] = MS_DTYPE_COUNT,
        [MS_AUTOCAST_BF16] = MS_DTYPE_BF16,
        [MS_AUTOCAST_F16] = MS_DTYPE_F16,
    };
    bool shards = ms_layout_shards(&run->parallel.layout); /* it gathers them in that type */
    if (!run->upcast && !shards && run->dtype == autocast_types[run->autocast])
        return ms_note_add(c->notes, c->arena, c->err,
                           "the weights are already %s: autocast casts none of them",
                           ms_dtype_info_of(run->dtype)->name);
    return MS_OK;
}

static ms_status resolve_allocator(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    ms_allocator_options *options = &run->allocator;
    if (!ms_resolve_is_set(c, "allocator"))
        options->kind = run->device->is_cpu ? MS_ALLOCATOR_RAW : MS_ALLOCATOR_CUDA;
    if (run->device->is_cpu && options->kind != MS_ALLOCATOR_RAW)
        return ms_resolve_fail(c, "allocator",
                               "CUDA's caching allocator does not work on the cpu; give raw");
    if (options->kind == MS_ALLOCATOR_RAW && options->max_split_size_bytes > 0)
        return ms_resolve_fail(c, "max-split-size", "the raw allocator does not split blocks");
    if (options->kind == MS_ALLOCATOR_RAW && options->roundup_power2_divisions > 0)
        return ms_resolve_fail(c, "roundup-power2-divisions", "the raw allocator does not round");
    if (options->kind != MS_ALLOCATOR_CUDA && options->addresses != MS_ADDRESSES_UP)
        return ms_resolve_fail(
            c, "addresses",
            "only the segments of CUDA's caching allocator have addresses in order");
    return MS_OK;
}

/* An engine that generates in the same process takes its share of the whole device. */
static ms_status leave_to_engine(const ms_resolving *c, uint64_t usable)
{
    char text[MS_SIZE_TEXT_BYTES];
    double share = c->draft->engine_share;
    uint64_t left = usable - (uint64_t)((double)usable * share);
    if (share <= 0 || usable == 0)
        return MS_OK;
    ms_budget_set(c->run, left ? left : 1);
    return ms_note_add(c->notes, c->arena, c->err,
                       "the engine that generates beside the training holds %.3g %% of the device "
                       "(gpu_memory_utilization): %s are left",
                       100 * share, ms_size_format(left, text, sizeof text));
}

/* Without one, the device's. */
static ms_status resolve_budget(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    uint64_t usable = ms_device_usable_bytes(run->device);
    run->has_budget = ms_resolve_is_set(c, "budget");
    run->has_dtype = ms_resolve_is_set(c, "dtype") || ms_resolve_is_set(c, "autocast") ||
                     ms_resolve_is_set(c, "param-dtype");
    run->allocator.device_bytes = usable;
    ms_budget_set(run, run->has_budget ? run->budget_bytes : usable);
    if (run->has_budget && usable > 0 && run->budget_bytes > usable) {
        ms_status status = ms_note_add(c->notes, c->arena, c->err, "the budget is more than %s has",
                                       run->device->name);
        if (status != MS_OK)
            return status;
    }
    return run->has_budget ? MS_OK : leave_to_engine(c, usable);
}

/* ---- attention ---- */

static ms_status resolve_attention(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    const char *reason = ms_attention_refusal(run->attention, c->model, run);
    if (!reason)
        return MS_OK;
    return ms_resolve_fail(c, "attention", "%s attention %s", ms_attention_names[run->attention],
                           reason);
}

/* ---- experts ---- */

static ms_status resolve_experts(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    bool sparse = ms_model_has_layers(c->model, MS_LAYER_SPARSE);
    ms_experts asked = run->experts;
    run->experts = asked == MS_EXPERTS_AUTO ? MS_EXPERTS_GROUPED : asked;
    if (asked != MS_EXPERTS_AUTO && !sparse)
        return ms_resolve_fail(c, "experts", "the model has no experts");
    if (ms_resolve_is_set(c, "routing") && run->experts != MS_EXPERTS_EAGER)
        return ms_resolve_fail(c, "routing", "only the memory of eager experts depends on it");
    const char *reason = ms_experts_refusal(run->experts, c->model, run);
    if (!sparse || !reason)
        return MS_OK;
    return ms_resolve_fail(c, "experts", "%s experts %s", ms_experts_names[run->experts], reason);
}

/* ---- the version of PyTorch ---- */

static ms_status note_torch(const ms_resolving *c)
{
    const char *text = ms_torch_unmeasured(c->run);
    return text ? ms_note_add(c->notes, c->arena, c->err, "%s", text) : MS_OK;
}

/* ---- all of it ---- */

typedef ms_status (*resolver)(const ms_resolving *c);

static ms_status resolve(const ms_resolving *c, const resolver *steps, size_t count)
{
    ms_run_draft filled = *c->draft;
    ms_resolving step = *c;
    step.draft = &filled;
    ms_status status = ms_config_field_fill(&ms_run_table, &filled, c->arena, c->err);
    *c->run = filled.run;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = steps[i](&step);
    return status;
}

ms_status ms_run_resolve(ms_arena *arena, const ms_run_draft *draft, const ms_run_origins *origins,
                         const ms_model_config *model, ms_run_config *run, ms_notes *notes,
                         ms_error *err)
{
    /* In this order: later ones look at what earlier ones resolved. */
    static const resolver steps[] = {
        resolve_device,    ms_resolve_parallel_types, resolve_tokens,       resolve_optimizer,
        resolve_places,    resolve_in_backward,       resolve_accumulation, ms_resolve_quantization,
        note_autocast,     resolve_allocator,         resolve_budget,       resolve_layers,
        ms_resolve_loss,   resolve_between_steps,     resolve_treatments,   resolve_attention,
        resolve_experts,   ms_resolve_parallel,       resolve_translation,  resolve_family,
        ms_resolve_images, ms_resolve_padding,        ms_resolve_loop,      ms_resolve_own_loss,
        note_torch,
    };
    const ms_resolving c = {arena, draft, origins, model, run, notes, err};
    return resolve(&c, steps, sizeof steps / sizeof steps[0]);
}

ms_status ms_run_resolve_device(ms_arena *arena, const ms_run_draft *draft,
                                const ms_run_origins *origins, ms_run_config *run, ms_notes *notes,
                                ms_error *err)
{
    static const resolver steps[] = {resolve_device, resolve_allocator, resolve_budget};
    const ms_resolving c = {arena, draft, origins, NULL, run, notes, err};
    return resolve(&c, steps, sizeof steps / sizeof steps[0]);
}
