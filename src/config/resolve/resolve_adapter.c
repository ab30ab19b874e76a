/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolve_adapter.h"

static ms_status refuse(const ms_parallel *parallel, const char *what, ms_error *err)
{
    return ms_fail(
        err, MS_ERR_USAGE,
        "parallel: %s is not predicted with %s; `memscope capture --world N` measures it",
        ms_layout_name(&parallel->layout), what);
}

/* FSDP2 gathers an adapter with its layer, in one type. */
static ms_status resolve_sharded(const ms_parallel *parallel, ms_adapter *adapter, ms_error *err)
{
    if (parallel->layout.kind != MS_PARALLEL_FSDP2)
        return refuse(parallel, "an adapter", err);
    if (adapter->kind != MS_ADAPTER_LORA || adapter->is_dora ||
        adapter->bias != MS_ADAPTER_BIAS_NONE || adapter->saved.count)
        return refuse(parallel, "an adapter other than plain LoRA", err);
    if (adapter->dtype != parallel->shard_dtype)
        return refuse(parallel, "an adapter in another type than the weights (set adapter-dtype)",
                      err);
    if (parallel->build != MS_BUILD_META || parallel->units != MS_UNITS_LAYERS)
        return refuse(parallel, "an adapter and fsdp-build or fsdp-units", err);
    adapter->dtype = parallel->param_dtype;
    return MS_OK;
}

ms_status ms_resolve_adapter(const ms_run_config *run, const ms_dtype *asked, ms_adapter *adapter,
                             ms_error *err)
{
    const ms_layout *layout = &run->parallel.layout;
    bool casts_all = layout->kind == MS_PARALLEL_ZERO; /* DeepSpeed: model.bfloat16() */
    bool is_half = run->dtype == MS_DTYPE_BF16 || run->dtype == MS_DTYPE_F16;
    if (layout->tensor > 1 || layout->context > 1 || layout->stage == 3 ||
        ms_layout_has_stages(layout))
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
    return ms_layout_shards(layout) ? resolve_sharded(&run->parallel, adapter, err) : MS_OK;
}
