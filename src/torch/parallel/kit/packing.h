/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables on the device that PyTorch's kernels for lists of tensors read (TensorShape.cu): one
 * number of eight bytes for each address, size and block of threads.
 */
#ifndef MS_PARALLEL_PACKING_H
#define MS_PARALLEL_PACKING_H

#include "core/device/device.h"

typedef struct ms_packing {
    const ms_device *device;
    uint64_t ranks;   /* chunks of each tensor */
    uint64_t tensors; /* so far */
    uint64_t blocks;  /* of threads for one chunk, at one tile a block */
    uint64_t coarse;  /* the same at `tiles` tiles a block */
    uint64_t tiles;
} ms_packing;

/* Bytes of a tile that a block of threads copies. */
enum { MS_PACKING_TILE = 2048 };

/* torch._chunk_cat: `chunk_bytes` of each tensor go to each rank, in the result's type. */
void ms_packing_chunk(ms_packing *packing, uint64_t chunk_bytes);
uint64_t ms_packing_chunk_cat_bytes(const ms_packing *packing);

/* torch.split_with_sizes_copy: first all chunks are counted, then again with what
 * ms_packing_coarsen chose. */
void ms_packing_coarsen(ms_packing *packing);
void ms_packing_recount(ms_packing *packing, uint64_t chunk_bytes);
uint64_t ms_packing_split_copy_bytes(const ms_packing *packing);

#endif
