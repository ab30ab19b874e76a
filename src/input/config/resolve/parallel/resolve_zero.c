/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_zero.h"

#include "input/config/model/family_facts.h"
#include "input/config/run/experts.h"

/* ZeRO-3 prefetches at every module, also at those without parameters. */
static bool has_known_modules(const ms_model_config *model)
{
    return ms_is_compared(model, MS_WITH_ZERO3) &&
           (!model->num_experts || ms_is_compared(model, MS_WITH_ZERO3_EXPERTS));
}

const char *ms_unsupported_by_zero(const ms_resolving *c, bool has_idle_parameters)
{
    const ms_run_config *run = c->run;
    const ms_zero *zero = &run->parallel.zero;
    bool is_stage3 = run->parallel.layout.stage == 3;
    if (run->parallel.syncs_last_only)
        return "with no-sync";
    if (run->dtype == MS_DTYPE_F32)
        return "with weights in fp32";
    if (zero->offloads_parameters && !is_stage3)
        return "with offload-param: it is of stage 3";
    if (zero->offloads_parameters && run->training.optimizer_device != MS_OPTIMIZER_ON_HOST)
        return "with offload-param but an optimizer on the device";
    if (!zero->contiguous_gradients && zero->overlap_comm && !is_stage3)
        return "with overlap-comm but without contiguous-gradients";
    if (zero->overlap_comm && !is_stage3 && has_idle_parameters)
        return "with overlap-comm for parameters that get no gradients";
    const bool is_plain = !c->model->num_experts && !ms_is_packed(&run->quantization) &&
                          run->training.optimizer_device == MS_OPTIMIZER_ON_DEVICE &&
                          !ms_resolve_has_adapter(c);
    if (is_stage3 && run->parallel.layout.shards == 1 && !is_plain)
        return "for one rank with experts, adapters, packed weights or offload: leave parallel out";
    if (is_stage3 && !has_known_modules(c->model))
        return "for models of this type: try fsdp=N";
    if (is_stage3 && c->model->num_experts && run->experts == MS_EXPERTS_EAGER)
        return "with experts one after the other: leave experts out, or try fsdp=N";
    bool is_wide = run->training.accumulation == MS_ACCUMULATE_F32;
    if (is_wide && run->parallel.layout.stage == 1)
        return "with gradients accumulated in fp32, for which DeepSpeed has another optimizer";
    if (is_wide &&
        (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST || !zero->contiguous_gradients))
        return "with gradients accumulated in fp32 on the host or without contiguous-gradients";
    if (is_stage3 && run->liger)
        return "with Liger kernels";
    return NULL;
}

ms_status ms_resolve_packed_zero3(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    const ms_quantization *q = &c->run->quantization;
    if (parallel->layout.stage != 3 || !ms_is_packed(q))
        return MS_OK;
    parallel->zero.packed_dtype = ms_quantization_storage(q);
    if (parallel->zero.packed_dtype != MS_DTYPE_U8 && parallel->zero.packed_dtype != c->run->dtype)
        return ms_resolve_fail(c, "quantize",
                               "DeepSpeed casts the model, also numbers of another type that hold "
                               "packed weights: pack them in bytes, or as in nf4:%s",
                               ms_dtype_info_of(c->run->dtype)->short_name);
    if (ms_resolve_is_set(c, "zero-init") && parallel->zero.init)
        return ms_resolve_fail(c, "zero-init",
                               "from_pretrained() builds no quantised base under zero.Init");
    parallel->zero.init = false;
    return MS_OK;
}
