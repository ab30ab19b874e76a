/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulate/change.h"

#include <inttypes.h>

#include "config/run/attention.h"
#include "config/treatment/technique.h"

static bool checkpoint_all(ms_variation *v, const char **option)
{
    uint64_t added = 0;
    if (v->run.treat && *v->run.treat) /* it would win over the option */
        return false;
    if (!(ms_parallel_techniques(&v->run.parallel) & MS_MAY_CHECKPOINT))
        return false;
    ms_treatment *layers = ms_vary_treatments(v);
    for (uint64_t i = 0; layers && i < v->model.num_layers; i++) {
        added += layers[i].kind == MS_TREAT_KEEP;
        if (layers[i].kind == MS_TREAT_KEEP)
            layers[i].kind = MS_TREAT_CHECKPOINT;
    }
    v->run.checkpointing = "all";
    *option = layers ? "--checkpointing all" : NULL;
    return !layers || added > 0;
}

static bool halve_batch(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    run->batch /= 2;
    *option = ms_arena_printf(v->arena, "--batch %" PRIu64, run->batch);
    return run->batch > 0;
}

static bool halve_sequence(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    run->seq_tokens /= 2;
    *option = ms_arena_printf(v->arena, "--seq %" PRIu64, run->seq_tokens);
    bool is_even = ms_layout_splits(&run->parallel.layout, run->seq_tokens);
    return is_even && run->batch == 1 && run->seq_tokens > 0 && v->model.image_tokens == 0;
}

static bool fuse_optimizer(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->training.optimizer_impl != MS_OPTIMIZER_FUSED &&
                   ms_optimizer_has(run->training.optimizer, MS_OPTIMIZER_FUSED);
    run->training.optimizer_impl = MS_OPTIMIZER_FUSED;
    *option = "--optimizer-impl fused";
    return applies;
}

static bool use_momentum(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->training.optimizer == MS_OPTIMIZER_ADAMW ||
                   run->training.optimizer == MS_OPTIMIZER_ADAM;
    /* A decay that was not chosen follows the optimizer. */
    if (run->training.weight_decay == ms_optimizer_traits_of(run->training.optimizer)->weight_decay)
        run->training.weight_decay =
            ms_optimizer_traits_of(MS_OPTIMIZER_SGD_MOMENTUM)->weight_decay;
    run->training.optimizer = MS_OPTIMIZER_SGD_MOMENTUM;
    *option = "--optimizer sgd-momentum";
    return applies;
}

static bool move_optimizer(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = ms_optimizer_may_move(run);
    run->training.optimizer_device = MS_OPTIMIZER_ON_HOST;
    *option = "--optimizer-device host";
    return applies;
}

static bool move_parameters(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = ms_parameters_may_move(run);
    bool with_optimizer = move_optimizer(v, option);
    run->parameter_device = MS_PARAMETERS_ON_HOST;
    *option = with_optimizer ? "--optimizer-device host --parameter-device host"
                             : "--parameter-device host";
    return applies;
}

/* Sharded weights have two types, and no autocast; nor have stages. */
static bool is_sharded(const ms_run_config *run)
{
    return ms_layout_shards(&run->parallel.layout) || ms_layout_has_stages(&run->parallel.layout);
}

static bool use_bf16(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->dtype == MS_DTYPE_F32 && !is_sharded(run);
    ms_vary_dtype(v, MS_DTYPE_BF16);
    run->autocast = MS_AUTOCAST_NONE;
    *option = "--dtype bf16 --autocast none";
    return applies;
}

static bool use_flash(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool quadratic = run->attention == MS_ATTENTION_MATH || run->attention == MS_ATTENTION_EAGER;
    run->attention = MS_ATTENTION_FLASH;
    *option = "--attention flash";
    return quadratic;
}

static bool use_expandable(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->allocator.kind == MS_ALLOCATOR_CUDA;
    run->allocator.kind = MS_ALLOCATOR_CUDA_EXPANDABLE;
    *option = "--allocator cuda-expandable";
    return applies;
}

static bool use_autocast(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool is_fp32 = run->upcast || run->dtype == MS_DTYPE_F32;
    bool applies = is_fp32 && run->autocast == MS_AUTOCAST_NONE && !is_sharded(run);
    bool uses_fp16 = run->dtype == MS_DTYPE_F16 || ms_device_before_ampere(run->device);
    run->autocast = uses_fp16 ? MS_AUTOCAST_F16 : MS_AUTOCAST_BF16;
    *option = uses_fp16 ? "--autocast fp16" : "--autocast bf16";
    return applies;
}

static bool skip_upcast(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->upcast;
    run->upcast = false;
    *option = "--upcast no";
    return applies;
}

static bool use_fp16(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool has_dtype = run->dtype == MS_DTYPE_BF16, casts = run->autocast == MS_AUTOCAST_BF16;
    if (has_dtype)
        ms_vary_dtype(v, MS_DTYPE_F16);
    if (casts)
        run->autocast = MS_AUTOCAST_F16;
    *option = has_dtype && casts ? "--dtype fp16 --autocast fp16"
              : casts            ? "--autocast fp16"
                                 : "--dtype fp16";
    return (has_dtype || casts) && !is_sharded(run);
}

static const ms_change changes[] = {
    {"checkpoint every layer", true, false, false, checkpoint_all},
    {"half the batch", false, true, false, halve_batch},
    {"half the sequence length", false, true, false, halve_sequence},
    {"a fused optimizer", false, false, false, fuse_optimizer},
    {"SGD with momentum", false, false, false, use_momentum},
    {"optimizer states on the host", false, false, false, move_optimizer},
    {"parameters on the host as well", false, false, false, move_parameters},
    {"bf16 weights without autocast", false, false, false, use_bf16},
    {"flash attention", false, false, false, use_flash},
};

const ms_change ms_allocator_change = {"expandable segments", false, false, true, use_expandable};
const ms_change ms_autocast_change = {"autocast", false, false, false, use_autocast};
const ms_change ms_upcast_change = {"no weights in fp32", false, false, false, skip_upcast};
const ms_change ms_half_change = {"fp16", false, false, false, use_fp16};

const ms_change *ms_change_at(size_t index)
{
    return index < sizeof changes / sizeof changes[0] ? &changes[index] : NULL;
}

bool ms_vary_by(ms_variation *v, const ms_change *change, const char **option)
{
    return change->apply(v, option) && !ms_attention_refusal(v->run.attention, &v->model, &v->run);
}
