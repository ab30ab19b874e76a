/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TORCH_AUTOGRAD_CUDA_REDUCE_H
#define MS_TORCH_AUTOGRAD_CUDA_REDUCE_H

#include "core/device/device.h"
#include "torch/autograd/tape.h"

/* Buffers that PyTorch's CUDA reduction allocates when several thread blocks share one sum: partial
 * results and semaphores. Both 0 when it needs none. */
typedef struct ms_reduce_buffers {
    uint64_t partial_bytes, semaphore_bytes;
} ms_reduce_buffers;

/* For `outputs` sums of `inputs` numbers each, accumulated in fp32. `inputs_contiguous`: the
 * numbers of one sum are contiguous in memory; otherwise neighbouring sums are. */
ms_reduce_buffers ms_cuda_reduce_buffers(const ms_device *device, uint64_t outputs, uint64_t inputs,
                                         bool inputs_contiguous);

/* For all() of bools [rows, inputs, row] over the middle dimension. */
ms_reduce_buffers ms_cuda_all_buffers(const ms_device *device, uint64_t rows, uint64_t row,
                                      uint64_t inputs);

#endif
