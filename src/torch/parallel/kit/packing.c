/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/parallel/kit/packing.h"

enum { THREADS_PER_BLOCK = 128, OVERSUBSCRIPTION = 2, NUMBER_BYTES = 8 };

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

void ms_packing_chunk(ms_packing *packing, uint64_t chunk_bytes)
{
    packing->tensors++;
    packing->blocks += divide_up(chunk_bytes, MS_PACKING_TILE);
}

/* Addresses, tensors of the blocks, two lists of sums that begin with 0, and three of sizes. */
uint64_t ms_packing_chunk_cat_bytes(const ms_packing *packing)
{
    return NUMBER_BYTES * (packing->blocks + 6 * packing->tensors + 2);
}

static uint64_t square_root_up(uint64_t n)
{
    uint64_t root = 0;
    while (root * root < n)
        root++;
    return root;
}

/* As many tiles a block as keep the grid below what the multiprocessors hold twice. */
void ms_packing_coarsen(ms_packing *packing)
{
    const ms_device *device = packing->device;
    uint64_t most = device->multiprocessors * ms_device_threads_per_multiprocessor(device) /
                    THREADS_PER_BLOCK * OVERSUBSCRIPTION;
    uint64_t factor = most ? divide_up(packing->blocks * packing->ranks, most) : 1;
    uint64_t chunks = square_root_up(factor);
    if (chunks > packing->ranks)
        chunks = packing->ranks;
    packing->tiles = chunks ? divide_up(factor, chunks) : 1;
}

void ms_packing_recount(ms_packing *packing, uint64_t chunk_bytes)
{
    packing->coarse += divide_up(chunk_bytes, MS_PACKING_TILE * packing->tiles);
}

/* Addresses of both sides, sizes, tensors of the blocks, and sums that begin with 0. */
uint64_t ms_packing_split_copy_bytes(const ms_packing *packing)
{
    return NUMBER_BYTES * (packing->coarse + 4 * packing->tensors + 1);
}
