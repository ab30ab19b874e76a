/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_zero.h"

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/parallel/refusals.h"
#include "input/config/run/experts.h"

static bool is_stage3(const ms_resolving *c)
{
    return c->run->parallel.layout.stage == 3;
}

static bool overlaps_below_3(const ms_resolving *c)
{
    return c->run->parallel.zero.overlap_comm && !is_stage3(c);
}

static bool is_wide(const ms_resolving *c)
{
    return c->run->training.accumulation == MS_ACCUMULATE_F32;
}

static bool is_on_host(const ms_resolving *c)
{
    return c->run->training.optimizer_device == MS_OPTIMIZER_ON_HOST;
}

static bool syncs_last_only(const ms_resolving *c)
{
    return c->run->parallel.syncs_last_only;
}

static bool is_in_f32(const ms_resolving *c)
{
    return c->run->dtype == MS_DTYPE_F32;
}

static bool offloads_below_3(const ms_resolving *c)
{
    return c->run->parallel.zero.offloads_parameters && !is_stage3(c);
}

static bool offloads_parameters_alone(const ms_resolving *c)
{
    return c->run->parallel.zero.offloads_parameters && !is_on_host(c);
}

static bool overlaps_scattered(const ms_resolving *c)
{
    return overlaps_below_3(c) && !c->run->parallel.zero.contiguous_gradients;
}

static bool overlaps_idle(const ms_resolving *c)
{
    return overlaps_below_3(c) && ms_has_idle_part(c);
}

static bool divides_nothing(const ms_resolving *c)
{
    const bool is_plain = !c->model->num_experts && !ms_is_packed(&c->run->quantization) &&
                          c->run->training.optimizer_device == MS_OPTIMIZER_ON_DEVICE &&
                          !ms_resolve_has_adapter(c);
    return is_stage3(c) && c->run->parallel.layout.shards == 1 && !is_plain;
}

/* ZeRO-3 prefetches at every module, also at those without parameters. */
static bool has_other_modules(const ms_resolving *c)
{
    return is_stage3(c) &&
           !(ms_is_compared(c->model, MS_WITH_ZERO3) &&
             (!c->model->num_experts || ms_is_compared(c->model, MS_WITH_ZERO3_EXPERTS)));
}

/* A text of the user's own. */
static bool runs_by_text(const ms_resolving *c)
{
    return has_other_modules(c) && c->model->family->user_text;
}

static bool runs_experts_in_turn(const ms_resolving *c)
{
    return is_stage3(c) && c->model->num_experts && c->run->experts == MS_EXPERTS_EAGER;
}

static bool sums_wide_in_stage1(const ms_resolving *c)
{
    return is_wide(c) && c->run->parallel.layout.stage == 1;
}

static bool sums_wide_elsewhere(const ms_resolving *c)
{
    return is_wide(c) && (is_on_host(c) || !c->run->parallel.zero.contiguous_gradients);
}

static bool divides_liger(const ms_resolving *c)
{
    return is_stage3(c) && ms_uses_liger(c);
}

static const ms_rank_refusal refusals[] = {
    {syncs_last_only, "with no-sync"},
    {is_in_f32, "with weights in fp32"},
    {offloads_below_3, "with offload-param, which needs stage 3"},
    {offloads_parameters_alone, "with offload-param but an optimizer on the device"},
    {overlaps_scattered, "with overlap-comm but without contiguous-gradients"},
    {overlaps_idle, "with overlap-comm for parameters that get no gradients"},
    {divides_nothing,
     "for one rank with experts, adapters, packed weights or offload: leave parallel out"},
    {runs_by_text,
     "for a --family whose modules differ from those compared with PyTorch: try fsdp=N"},
    {has_other_modules, "for models of this type: try fsdp=N"},
    {runs_experts_in_turn,
     "with experts that run one after the other: leave experts out, or try fsdp=N"},
    {sums_wide_in_stage1,
     "with gradients accumulated in fp32, for which DeepSpeed uses another optimizer"},
    {sums_wide_elsewhere,
     "with gradients accumulated in fp32 on the host or without contiguous-gradients"},
    {divides_liger, "with Liger kernels"},
    {NULL, NULL},
};

const char *ms_unsupported_by_zero(const ms_resolving *c)
{
    return ms_rank_refusal_of(c, refusals);
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
                               "DeepSpeed casts the whole model, including numbers of another type "
                               "that hold packed weights: pack them in bytes, or as in nf4:%s",
                               ms_dtype_info_of(c->run->dtype)->short_name);
    if (ms_resolve_is_set(c, "zero-init") && parallel->zero.init)
        return ms_resolve_fail(c, "zero-init",
                               "from_pretrained() cannot build a quantised base under zero.Init");
    parallel->zero.init = false;
    return MS_OK;
}
