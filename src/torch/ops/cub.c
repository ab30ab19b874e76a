/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Temporary storage of CUB's device-wide algorithms, as requested by torch 2.11's CUDA 13 build;
 * fitted to requests for 3,073 to 2,000,000 items (docs/semantics/libraries.md). Sizes are one byte
 * below a multiple of 256, because CUB aligns inside.
 */
#include "torch/ops/ops.h"

enum { CUB_ALIGN = 256, SCAN_TILE = 896, SCAN_PADDING_TILES = 32 };

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + CUB_ALIGN - 1) / CUB_ALIGN * CUB_ALIGN;
}

enum {
    SORT_ONE_TILE = 2304,
    SORT_PASS_BITS = 8,
    SORT_PASS_BYTES = 2048,
    SORT_COUNTER_BYTES = 512,
    SORT_TILE_BYTES = 1024
};

/* Radix sort by so many bits, of pairs in these buffers. Up to one block's worth nothing is needed
 * (CUB asks for a byte); else a digit histogram for each pass of 8 bits, a look-back row per tile
 * and, with more than one pass, both buffers once more. */
static uint64_t sort_bytes(uint64_t items, uint64_t tile, uint32_t bits, uint64_t buffers)
{
    if (items <= SORT_ONE_TILE)
        return 1;
    uint64_t tiles = (items + tile - 1) / tile;
    uint64_t passes = (bits + SORT_PASS_BITS - 1) / SORT_PASS_BITS;
    return (passes > 1 ? buffers : 0) + SORT_COUNTER_BYTES + SORT_PASS_BYTES * passes +
           SORT_TILE_BYTES * tiles - 1;
}

static bool is_hopper(const ms_tape *tape)
{
    return tape->options.device->compute_capability >= 90;
}

uint64_t ms_cub_sort_bytes(ms_tape *tape, uint64_t items, uint32_t key_bits)
{
    enum { TILE = 3840, HOPPER_TILE = 4600 };
    return sort_bytes(items, is_hopper(tape) ? HOPPER_TILE : TILE, key_bits,
                      2 * aligned(8 * items));
}

uint64_t ms_cub_sort32_bytes(ms_tape *tape, uint64_t items)
{
    enum { TILE = 3072, HOPPER_TILE = 5376, BITS = 32 };
    return sort_bytes(items, is_hopper(tape) ? HOPPER_TILE : TILE, BITS,
                      aligned(4 * items) + aligned(8 * items));
}

static uint64_t scan_tiles(uint64_t items)
{
    return SCAN_PADDING_TILES + (items + SCAN_TILE - 1) / SCAN_TILE;
}

/* Unique by key: 8 bytes of state a tile. */
uint64_t ms_cub_unique_bytes(uint64_t items)
{
    return aligned(8 * scan_tiles(items)) + 3 * CUB_ALIGN - 1;
}

/* Inclusive or exclusive sum of 64-bit numbers: 16 bytes of state a tile. */
uint64_t ms_cub_scan_bytes(uint64_t items)
{
    return aligned(16 * scan_tiles(items)) + 2 * CUB_ALIGN - 1;
}

/* The same of 32-bit numbers: 8 bytes of state a tile. */
uint64_t ms_cub_scan32_bytes(uint64_t items)
{
    return aligned(8 * scan_tiles(items)) + 2 * CUB_ALIGN - 1;
}

/* Count of what is not zero: one number for each of the blocks that a device runs. */
uint64_t ms_cub_count_bytes(ms_tape *tape, uint64_t items)
{
    enum { ONE_BLOCK = 4096, MULTIPROCESSOR_BYTES = 40 };
    uint64_t multiprocessors = tape->options.device->multiprocessors;
    return items <= ONE_BLOCK ? 1 : aligned(MULTIPROCESSOR_BYTES * multiprocessors) + CUB_ALIGN - 1;
}

/* Selection by flags: 8 bytes of state a tile. */
uint64_t ms_cub_select_bytes(ms_tape *tape, uint64_t items)
{
    enum { TILE = 2304, HOPPER_TILE = 4224 };
    uint64_t tile = tape->options.device->compute_capability >= 90 ? HOPPER_TILE : TILE;
    uint64_t tiles = SCAN_PADDING_TILES + (items + tile - 1) / tile;
    return aligned(8 * tiles) + 2 * CUB_ALIGN - 1;
}
