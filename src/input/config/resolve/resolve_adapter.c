/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_adapter.h"

#include <string.h>

#include "input/config/model/family_facts.h"

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
                      "is)",
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
                      "an adapter in another type than the weights: param-dtype, such as bf16, "
                      "gathers both in one",
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
        why =
            "an adapter and zero-init no, contiguous-gradients no, parts on the host or gradients "
            "accumulated in fp32";
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
            "adapter-dtype: DeepSpeed casts an adapter to the type of the model; leave it "
            "out");
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
