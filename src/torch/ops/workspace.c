/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuBLAS workspaces, which PyTorch allocates through its caching allocator: up to 2.14 once per
 * thread (forward, autograd) at its first product; from 2.15 on for each product, and freed after
 * it. One row per change, newest first; each was observed in these releases' requests on the null
 * device, for compute capabilities 8.0, 9.0, 10.0 and 12.0.
 */
#include "torch/ops/ops.h"

enum { HOPPER = 90, BLACKWELL = 100 };

#define DEFAULT_BYTES 8519680u /* ":4096:2:16:8", CUBLAS_WORKSPACE_CONFIG's default */
#define LARGE_BYTES 33554432u
#define LT_BYTES 1048576u

typedef struct workspace_row {
    uint32_t major, minor; /* from this torch on */
    uint64_t bytes, hopper_bytes, blackwell_bytes;
    uint64_t lt_bytes; /* cuBLASLt's own, for products with a bias; 0: it shares the other */
    bool kept;
} workspace_row;

/* clang-format off */
static const workspace_row rows[] = {
    {2, 15, DEFAULT_BYTES, LARGE_BYTES, LARGE_BYTES,   LT_BYTES, false},
    {2, 12, DEFAULT_BYTES, LARGE_BYTES, LARGE_BYTES,   0,        true},
    {0, 0,  DEFAULT_BYTES, LARGE_BYTES, DEFAULT_BYTES, LT_BYTES, true},
};
/* clang-format on */

static const char *const names[] = {
    [MS_WORKSPACE_CUBLAS] = "cuBLAS workspace",
    [MS_WORKSPACE_CUBLASLT] = "cuBLASLt workspace",
};

static const workspace_row *row_of(const ms_tape_options *options)
{
    const workspace_row *row = rows;
    while (options->torch_major < row->major ||
           (options->torch_major == row->major && options->torch_minor < row->minor))
        row++;
    return row;
}

static uint64_t cublas_bytes(const workspace_row *row, uint32_t capability)
{
    if (capability >= BLACKWELL)
        return row->blackwell_bytes;
    return capability >= HOPPER ? row->hopper_bytes : row->bytes;
}

static void keep(ms_tape *tape, ms_workspace kind, uint64_t bytes)
{
    ms_tensor *slot = &tape->workspaces[tape->on_backward_thread][kind];
    if (*slot || bytes == 0)
        return;
    uint32_t scope = ms_scope_enter(tape, MS_NONE);
    *slot = ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
    tape->scope = scope;
    ms_retain(tape, *slot);
    ms_name_storage(tape, *slot, names[kind], MS_CATEGORY_WORKSPACE);
}

void ms_workspace_use(ms_tape *tape, ms_product product)
{
    if (tape->on_cpu || tape->muted || ms_idle(tape))
        return;
    const workspace_row *row = row_of(&tape->options);
    uint64_t bytes = cublas_bytes(row, tape->options.device->compute_capability);
    bool biased = product == MS_PRODUCT_BIASED;
    if (row->kept) {
        keep(tape, MS_WORKSPACE_CUBLAS, bytes);
        if (biased)
            keep(tape, MS_WORKSPACE_CUBLASLT, row->lt_bytes);
    } else {
        ms_transient(tape, biased ? row->lt_bytes : bytes, MS_DTYPE_U8);
    }
}
