/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_keys.h"
#include "input/config/run/attention.h"
#include "input/config/run/budget.h"
#include "input/config/run/experts.h"
#include "input/config/resolve/resolve_between_steps.h"
#include "input/config/resolve/resolve_family.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/resolve/resolve_layers.h"
#include "input/config/resolve/resolve_loss.h"
#include "input/config/resolve/resolve_padding.h"
#include "input/config/resolve/parallel/resolve_parallel.h"
#include "input/config/resolve/resolve_quantization.h"
#include "input/config/resolve/resolve_times.h"
#include "input/config/resolve/resolve_translation.h"
#include "input/config/treatment/layers.h"
#include "input/config/model/model_read.h"
#include "input/config/resolve/resolving.h"
#include "input/config/resolve/torch_versions.h"
#include "input/config/resolve/device_named.h"
#include "base/text/size.h"

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
        return ms_resolve_fail(
            c, "batch", "%" PRIu64 " sequences, but a classifier without pad_token_id takes one",
            run->batch);
    if (image_tokens)
        run->seq_tokens = image_tokens;
    else if (!ms_resolve_is_set(c, "seq"))
        run->seq_tokens = learned < DEFAULT_SEQ ? learned : DEFAULT_SEQ;
    if (run->seq_tokens > learned)
        return ms_resolve_fail(
            c, "seq", "%" PRIu64 " tokens, but the model has learned %" PRIu64 " positions",
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
        return ms_resolve_fail(c, field, "gradients of %" PRIu64 " micro-batches cannot accumulate",
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
                               "CUDA's caching allocator does not work on the cpu; use raw");
    if (options->kind == MS_ALLOCATOR_RAW && options->max_split_size_bytes > 0)
        return ms_resolve_fail(c, "max-split-size", "the raw allocator does not split blocks");
    if (options->kind == MS_ALLOCATOR_RAW && options->roundup_power2_divisions > 0)
        return ms_resolve_fail(c, "roundup-power2-divisions", "the raw allocator does not round");
    if (options->kind != MS_ALLOCATOR_CUDA && options->addresses != MS_ADDRESSES_UP)
        return ms_resolve_fail(c, "addresses",
                               "only the segments of CUDA's caching allocator have an order");
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
        resolve_device,
        ms_resolve_parallel_types,
        resolve_tokens,
        resolve_optimizer,
        resolve_places,
        resolve_in_backward,
        resolve_accumulation,
        ms_resolve_quantization,
        note_autocast,
        resolve_allocator,
        resolve_budget,
        ms_resolve_layers,
        ms_resolve_loss,
        ms_resolve_between_steps,
        ms_resolve_treatments,
        resolve_attention,
        resolve_experts,
        ms_resolve_parallel,
        ms_resolve_translation,
        ms_resolve_family,
        ms_resolve_images,
        ms_resolve_padding,
        ms_resolve_loop,
        ms_resolve_own_loss,
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
