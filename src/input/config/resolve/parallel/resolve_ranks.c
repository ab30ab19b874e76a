/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_ranks.h"

#include "input/config/resolve/parallel/refusals.h"
#include "input/config/resolve/parallel/resolve_zero.h"

bool ms_shares_layers_alone(const ms_parallel *parallel)
{
    const ms_layout *layout = &parallel->layout;
    return ms_layout_shards(layout) && layout->tensor <= 1 && layout->context <= 1 &&
           !ms_layout_has_stages(layout) && parallel->units == MS_UNITS_LAYERS &&
           !parallel->reshard_ranks;
}

/* Autocast casts weights in fp32 alone; to those of another half type it does what was not
 * compared.
 */
static bool casts_in_place(const ms_run_config *run)
{
    const ms_parallel *parallel = &run->parallel;
    ms_dtype dtype = run->autocast == MS_AUTOCAST_BF16 ? MS_DTYPE_BF16 : MS_DTYPE_F16;
    return ms_shares_layers_alone(parallel) &&
           (parallel->param_dtype == dtype || parallel->param_dtype == MS_DTYPE_F32);
}

/* DistributedDataParallel keeps what bitsandbytes packed as it is; other packings are buffers,
 * which it broadcasts before each forward. fully_shard divides numbers that hold 4 bits: see
 * resolve_fsdp.c. */
static bool keeps_packed(const ms_run_config *run)
{
    const ms_quantization *q = &run->quantization;
    const ms_layout *layout = &run->parallel.layout;
    if (layout->kind == MS_PARALLEL_FSDP2)
        return ms_is_in_four_bits(q) && layout->tensor <= 1 && layout->context <= 1;
    if (layout->kind == MS_PARALLEL_ZERO && layout->stage == 3)
        return ms_is_in_four_bits(q);
    return ms_is_bitsandbytes(q) && !run->parallel.has_zero_optimizer &&
           (layout->kind == MS_PARALLEL_DDP || layout->kind == MS_PARALLEL_ZERO);
}

static bool is_zero(const ms_resolving *c)
{
    return c->run->parallel.layout.kind == MS_PARALLEL_ZERO;
}

static bool shards(const ms_resolving *c)
{
    return ms_layout_shards(&c->run->parallel.layout) || is_zero(c);
}

static bool is_on_cpu(const ms_resolving *c)
{
    return c->run->device->is_cpu;
}

static bool offloads_idle(const ms_resolving *c)
{
    return c->run->parallel.offloads && ms_has_idle_part(c);
}

static bool optimizes_in_backward(const ms_resolving *c)
{
    return c->run->training.optimizer_in_backward;
}

static bool optimizes_on_host(const ms_resolving *c)
{
    return c->run->training.optimizer_device == MS_OPTIMIZER_ON_HOST && !is_zero(c);
}

static bool accumulates_wide(const ms_resolving *c)
{
    return c->run->training.accumulation != MS_ACCUMULATE_SAME && !is_zero(c);
}

static bool knows_passes(const ms_resolving *c)
{
    return ms_knows_passes(c->model, c->run, ms_resolve_has_adapter(c));
}

static bool evaluates(const ms_resolving *c)
{
    return c->run->training.eval_batch && !knows_passes(c);
}

static bool packs_otherwise(const ms_resolving *c)
{
    return ms_is_packed(&c->run->quantization) && !keeps_packed(c->run);
}

static bool casts_elsewhere(const ms_resolving *c)
{
    return shards(c) && ms_uses_autocast(c) && !casts_in_place(c->run);
}

static bool casts_under_zero(const ms_resolving *c)
{
    return is_zero(c) && casts_elsewhere(c);
}

static bool has_other_kernels(const ms_resolving *c)
{
    return ms_uses_liger(c) && (is_zero(c) || c->run->parallel.layout.context > 1);
}

static bool runs_reentrant(const ms_resolving *c)
{
    return ms_resolve_is_reentrant(c) && !knows_passes(c);
}

static bool divides_optimizer(const ms_resolving *c)
{
    return (shards(c) || c->run->parallel.has_zero_optimizer) && ms_optimizes_elsewhere(c);
}

/* What is not predicted for this technique. */
static const ms_rank_refusal refusals[] = {
    {is_on_cpu, "on the cpu"},
    {offloads_idle, "with fsdp-offload for parameters that get no gradients"},
    {optimizes_in_backward, "with an optimizer in backward"},
    {optimizes_on_host, "with an optimizer on the host"},
    {accumulates_wide, "with gradients accumulated in fp32"},
    {evaluates, "with evaluations"},
    {packs_otherwise, "with this quantised base (bases of bitsandbytes are predicted with dp=N, "
                      "ZeRO 1 and 2, and in 4 bits with fsdp=N and ZeRO-3)"},
    {casts_under_zero, "with autocast: give autocast none, because DeepSpeed computes in dtype"},
    {casts_elsewhere, "with this autocast: use param-dtype"},
    {has_other_kernels, "with Liger's kernels"},
    {runs_reentrant, "with reentrant checkpoints"},
    {divides_optimizer, "with this optimizer"},
    {NULL, NULL},
};

const char *ms_unsupported_by_ranks(const ms_resolving *c)
{
    const char *by_zero = is_zero(c) ? ms_unsupported_by_zero(c) : NULL;
    return by_zero ? by_zero : ms_rank_refusal_of(c, refusals);
}
