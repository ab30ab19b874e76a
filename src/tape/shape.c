/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shapes and layouts.
 */
#include <string.h>

#include "base/size.h"
#include "tape/tape.h"

ms_shape ms_shape_of(uint32_t rank, const ms_dim *dims)
{
    ms_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return shape;
}

uint64_t ms_elements(const ms_shape *shape)
{
    ms_size n = ms_size_of(1);
    for (uint32_t i = 0; i < shape->rank; i++)
        n = ms_size_mul(n, shape->dims[i].value);
    return n.overflow ? UINT64_MAX : n.bytes;
}

uint64_t ms_tensor_bytes(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    ms_size bytes =
        ms_size_mul(ms_size_of(ms_elements(&info->shape)), ms_dtype_bytes((ms_dtype)info->dtype));
    return bytes.overflow ? UINT64_MAX : bytes.bytes;
}

bool ms_same_shape(const ms_shape *a, const ms_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

bool ms_is_contiguous(const ms_tensor_info *info)
{
    uint64_t expected = 1;
    for (uint32_t i = info->shape.rank; i-- > 0;) {
        uint64_t size = info->shape.dims[i].value;
        if (size == 1)
            continue;
        if (info->strides[i] != expected)
            return false;
        expected *= size;
    }
    return true;
}

bool ms_is_dense(const ms_tensor_info *info)
{
    if (ms_is_contiguous(info))
        return true;
    /* Take dimensions by growing stride: each must begin where the smaller ones end. */
    uint64_t expected = 1, taken = 0;
    for (uint32_t n = 0; n < info->shape.rank; n++) {
        uint32_t best = MS_MAX_RANK;
        for (uint32_t i = 0; i < info->shape.rank; i++)
            if (!(taken >> i & 1) &&
                (best == MS_MAX_RANK || info->strides[i] < info->strides[best] ||
                 info->shape.dims[i].value == 1))
                best = i;
        taken |= 1u << best;
        if (info->shape.dims[best].value == 1)
            continue;
        if (info->strides[best] != expected)
            return false;
        expected *= info->shape.dims[best].value;
    }
    return true;
}
