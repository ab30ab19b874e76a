/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/layout.h"

#include "torch/ops/ops.h"

bool ms_is_channels_last(const ms_tensor_info *info)
{
    static const uint32_t inner_first[] = {1, 3, 2, 0};
    uint64_t least = 0;
    if (info->shape.rank != 4 || info->strides[1] == 0)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t d = inner_first[i];
        if (info->strides[d] < least || (d == 0 && least == info->strides[1]))
            return false;
        least = info->strides[d] * info->shape.dims[d].value;
    }
    return true;
}

ms_tensor ms_channels_last(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    uint64_t strides[MS_MAX_RANK] = {0};
    strides[1] = 1;
    strides[3] = shape.dims[1].value;
    strides[2] = strides[3] * shape.dims[3].value;
    strides[0] = strides[2] * shape.dims[2].value;
    return ms_empty_strided(tape, shape, strides, dtype);
}
