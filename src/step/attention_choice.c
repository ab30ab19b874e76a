/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch tries its back ends in order and takes the first whose conditions hold: flash (16-bit,
 * compute capability 8.0 or more, head size up to 256), memory-efficient (no grouped queries;
 * 16-bit bfloat only from 8.0), math.
 */
#include "step/attention_choice.h"

enum { AMPERE = 80, LARGEST_FLASH_HEAD = 256 };

static ms_dtype compute_dtype(const ms_run_config *run)
{
    switch (run->autocast) {
    case MS_AUTOCAST_BF16:
        return MS_DTYPE_BF16;
    case MS_AUTOCAST_F16:
        return MS_DTYPE_F16;
    case MS_AUTOCAST_NONE:
        break;
    }
    return run->dtype;
}

ms_attention ms_attention_choose_masked(const ms_model_config *model, const ms_run_config *run)
{
    if (run->attention == MS_ATTENTION_MATH || run->attention == MS_ATTENTION_EAGER)
        return run->attention;
    if (run->device->is_cpu)
        return model->attention_dropout > 0 ? MS_ATTENTION_MATH : MS_ATTENTION_CPU_FLASH;
    ms_dtype dtype = compute_dtype(run);
    uint64_t alignment = ms_dtype_bytes(dtype) == 2 ? 8 : 4;
    bool kernel_runs = run->device->compute_capability >= AMPERE || dtype != MS_DTYPE_BF16;
    return kernel_runs && model->head_dim % alignment == 0 ? MS_ATTENTION_EFFICIENT
                                                           : MS_ATTENTION_MATH;
}

ms_attention ms_attention_choose(const ms_model_config *model, const ms_run_config *run)
{
    if (run->attention != MS_ATTENTION_AUTO)
        return run->attention;
    if (run->device->is_cpu)
        return model->attention_dropout > 0 ? MS_ATTENTION_MATH : MS_ATTENTION_CPU_FLASH;
    ms_dtype dtype = compute_dtype(run);
    bool half = ms_dtype_bytes(dtype) == 2, ampere = run->device->compute_capability >= AMPERE;
    if (half && ampere && model->head_dim <= LARGEST_FLASH_HEAD)
        return MS_ATTENTION_FLASH;
    bool grouped = model->num_heads != model->num_kv_heads;
    return grouped ? MS_ATTENTION_MATH : ms_attention_choose_masked(model, run);
}
