/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_AUTOGRAD_CUDA_REDUCE_H
#define MS_AUTOGRAD_CUDA_REDUCE_H

#include "device/device.h"
#include "autograd/tape.h"

/* What PyTorch's CUDA reduction allocates when one block of threads cannot hold a sum: partial
 * results and a counter per block. Both 0 when it needs none. */
typedef struct ms_reduce_buffers {
    uint64_t partial_bytes, semaphore_bytes;
} ms_reduce_buffers;

/* `outputs` sums of `inputs` numbers each, accumulated in fp32. `inputs_contiguous`: the numbers of
 * one sum lie side by side; otherwise neighbouring sums do. */
ms_reduce_buffers ms_cuda_reduce_buffers(const ms_device *device, uint64_t outputs, uint64_t inputs,
                                         bool inputs_contiguous);

#endif
