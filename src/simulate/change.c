/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulate/change.h"

#include <inttypes.h>
#include <string.h>

#include "config/load/again.h"
#include "config/run/attention.h"

/* Sharded weights have two types, and no autocast; nor have stages. */
static bool is_sharded(const ms_run_config *run)
{
    return ms_layout_shards(&run->parallel.layout) || ms_layout_has_stages(&run->parallel.layout);
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

bool ms_is_half_unsaid(const ms_run_config *run)
{
    bool is_half = run->dtype == MS_DTYPE_F16 || run->dtype == MS_DTYPE_BF16;
    return is_half && !run->has_dtype && run->autocast == MS_AUTOCAST_NONE;
}

/* Resolves the run again with these fields and values, NULL last; false where they are refused. Out
 * of memory: true, and no option. */
static bool set_again(ms_variation *v, const ms_run_config *before, const char *const *settings,
                      const char **option)
{
    ms_error err = {0};
    ms_run_draft *draft = ms_arena_array(v->arena, ms_run_draft, 1);
    ms_status status = draft ? MS_OK : MS_ERR_NOMEM;
    if (draft)
        *draft = *before->draft;
    for (; *settings && status == MS_OK; settings += 2)
        status = ms_run_field_set(draft, v->arena, settings[0], settings[1], &err);
    if (status == MS_OK)
        status = ms_run_resolve_again(v->arena, before, draft, &v->model, &v->run, &err);
    if (status == MS_ERR_NOMEM)
        *option = NULL;
    return status == MS_OK || status == MS_ERR_NOMEM;
}

/* FSDP computes in another type by a policy of its own; DeepSpeed keeps fp32 weights as it is. */
static bool use_mixed(ms_variation *v, const char **option)
{
    const ms_run_config before = v->run;
    const ms_parallel_kind kind = before.parallel.layout.kind;
    const bool is_f16 = before.dtype == MS_DTYPE_F16 || ms_device_before_ampere(before.device);
    const char *half = is_f16 ? "fp16" : "bf16";
    const bool is_fsdp = kind == MS_PARALLEL_FSDP1 || kind == MS_PARALLEL_FSDP2;
    const char *field = is_fsdp ? "param-dtype" : "autocast";
    if (!ms_is_half_unsaid(&before) || kind == MS_PARALLEL_ZERO || !before.draft)
        return false;
    *option = ms_arena_printf(v->arena, "--dtype fp32 --%s %s", field, half);
    return !*option ||
           set_again(v, &before, (const char *const[]){"dtype", "fp32", field, half, NULL}, option);
}

/* Layers that are checkpointed by the option alone. */
static bool keep_all_layers(ms_variation *v, const char **option)
{
    const ms_run_config before = v->run;
    *option = "--checkpointing none";
    return before.draft && !*before.treat && strcmp(before.checkpointing, "none") != 0 &&
           set_again(v, &before, (const char *const[]){"checkpointing", "none", NULL}, option);
}

/* FSDP2 over as many ranks, of a packed base in the form that it divides. */
static bool divide_packed(ms_variation *v, const char **option)
{
    const ms_run_config before = v->run;
    const ms_layout *layout = &before.parallel.layout;
    ms_quantization q = before.quantization;
    if (!before.draft || layout->kind != MS_PARALLEL_ZERO)
        return false;
    q.has_storage_dtype = true;
    q.storage_dtype = before.dtype;
    const char *type = ms_dtype_info_of(before.dtype)->short_name;
    const char *packed = ms_quantization_text(v->arena, &q);
    const char *ranks = ms_arena_printf(v->arena, "fsdp=%" PRIu64, layout->shards);
    *option = packed && ranks
                  ? ms_arena_printf(v->arena, "--parallel %s --param-dtype %s --quantize %s", ranks,
                                    type, packed)
                  : NULL;
    return !*option || set_again(v, &before,
                                 (const char *const[]){"parallel", ranks, "param-dtype", type,
                                                       "quantize", packed, NULL},
                                 option);
}

const ms_change ms_allocator_change = {"expandable segments", true, use_expandable};
const ms_change ms_autocast_change = {"autocast", false, use_autocast};
const ms_change ms_upcast_change = {"no weights in fp32", false, skip_upcast};
const ms_change ms_half_change = {"fp16", false, use_fp16};
const ms_change ms_mixed_change = {"fp32 weights", false, use_mixed};
const ms_change ms_divide_change = {"FSDP2", false, divide_packed};
const ms_change ms_keep_change = {"no checkpoints", false, keep_all_layers};

bool ms_vary_by(ms_variation *v, const ms_change *change, const char **option)
{
    return change->apply(v, option) && !ms_attention_refusal(v->run.attention, &v->model, &v->run);
}
