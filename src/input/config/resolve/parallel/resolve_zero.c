/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_zero.h"

#include <string.h>

#include "input/config/run/experts.h"

/* ZeRO-3 prefetches at every module, also at those without parameters: of these models all are
 * known, of some with experts. DeepSpeed has the classes of some blocks of experts in a list (its
 * runtime/zero/leaf_module_config.py): what is in them has no hooks. */
typedef enum zero3_experts { ZERO3_NO_EXPERTS, ZERO3_EXPERTS, ZERO3_LEAF_BLOCKS } zero3_experts;

typedef struct zero3_row {
    const char *model_type;
    zero3_experts experts;
} zero3_row;

static const zero3_row *zero3_row_of(const ms_model_config *model)
{
    /* clang-format off */
    static const zero3_row rows[] = {
        {"llama", ZERO3_NO_EXPERTS},
        {"mistral", ZERO3_NO_EXPERTS},
        {"qwen2", ZERO3_NO_EXPERTS},
        {"qwen3", ZERO3_NO_EXPERTS},
        {"gemma", ZERO3_NO_EXPERTS},
        {"gemma2", ZERO3_NO_EXPERTS},
        {"gemma3_text", ZERO3_NO_EXPERTS},
        {"olmo2", ZERO3_NO_EXPERTS},
        {"cohere", ZERO3_NO_EXPERTS},
        {"granite", ZERO3_NO_EXPERTS},
        {"starcoder2", ZERO3_NO_EXPERTS},
        {"smollm3", ZERO3_NO_EXPERTS},
        {"qwen2_vl", ZERO3_NO_EXPERTS},
        {"qwen2_5_vl", ZERO3_NO_EXPERTS},
        {"gemma4_text", ZERO3_NO_EXPERTS},
        {"mixtral", ZERO3_LEAF_BLOCKS},
        {"qwen2_moe", ZERO3_LEAF_BLOCKS},
        {"qwen3_moe", ZERO3_LEAF_BLOCKS},
        {"gpt_oss", ZERO3_EXPERTS},
        {"deepseek_v2", ZERO3_EXPERTS},
        {"deepseek_v3", ZERO3_EXPERTS},
        {"olmoe", ZERO3_EXPERTS},
        {"glm4_moe", ZERO3_EXPERTS},
        {"qwen3_vl_moe", ZERO3_EXPERTS},
        {"minimax_m2", ZERO3_EXPERTS},
        {"dots1", ZERO3_EXPERTS},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].model_type, model->model_type) == 0)
            return &rows[i];
    return NULL;
}

static bool has_known_modules(const ms_model_config *model)
{
    const zero3_row *row = zero3_row_of(model);
    return row && (!model->num_experts || row->experts != ZERO3_NO_EXPERTS);
}

bool ms_zero3_has_leaf_blocks(const ms_model_config *model)
{
    const zero3_row *row = zero3_row_of(model);
    return row && row->experts == ZERO3_LEAF_BLOCKS;
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
