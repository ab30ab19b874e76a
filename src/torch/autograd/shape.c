/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shapes and layouts.
 */
#include <string.h>

#include "base/size.h"
#include "torch/autograd/tape.h"

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
    return ms_size_capped(n);
}

uint64_t ms_tensor_bytes(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    ms_size bytes =
        ms_size_mul(ms_size_of(ms_elements(&info->shape)), ms_dtype_bytes((ms_dtype)info->dtype));
    return ms_size_capped(bytes);
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
    /* In some order of the dimensions, each begins where the smaller ones end. */
    uint64_t expected = 1;
    uint32_t rank = info->shape.rank, left = 0;
    for (uint32_t i = 0; i < rank; i++)
        left |= (uint32_t)(info->shape.dims[i].value != 1) << i;
    while (left) {
        uint32_t next = 0;
        while (next < rank && !((left >> next & 1) && info->strides[next] == expected))
            next++;
        if (next == rank)
            return false;
        left &= ~(1u << next);
        expected *= info->shape.dims[next].value;
    }
    return true;
}
