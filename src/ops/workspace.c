/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuBLAS workspaces, which PyTorch allocates through its caching allocator at the first product and
 * keeps per thread (forward, autograd). A row per change, newest first; each was read off the named
 * releases' own requests on the null device, for compute capabilities 8.0, 9.0, 10.0 and 12.0.
 */
#include "ops/ops.h"

enum { HOPPER = 90, BLACKWELL = 100 };

#define DEFAULT_BYTES 8519680u /* ":4096:2:16:8", CUBLAS_WORKSPACE_CONFIG's default */
#define LARGE_BYTES 33554432u
#define LT_BYTES 1048576u

typedef struct workspace_row {
    uint32_t major, minor; /* from this torch on */
    uint64_t bytes, hopper_bytes, blackwell_bytes;
    uint64_t lt_bytes; /* cuBLASLt's own, for products with a bias; 0: it shares the other */
} workspace_row;

/* clang-format off */
static const workspace_row rows[] = {
    {2, 12, DEFAULT_BYTES, LARGE_BYTES, LARGE_BYTES,   0},
    {0, 0,  DEFAULT_BYTES, LARGE_BYTES, DEFAULT_BYTES, LT_BYTES},
};
/* clang-format on */

static const char *const names[] = {
    [MS_WORKSPACE_CUBLAS] = "cuBLAS workspace",
    [MS_WORKSPACE_CUBLASLT] = "cuBLASLt workspace",
};

static const workspace_row *row_of(const ms_run_config *run)
{
    const workspace_row *row = rows;
    while (run->torch_major < row->major ||
           (run->torch_major == row->major && run->torch_minor < row->minor))
        row++;
    return row;
}

static uint64_t workspace_bytes(const ms_run_config *run, ms_workspace kind)
{
    const workspace_row *row = row_of(run);
    uint32_t capability = run->device->compute_capability;
    if (kind == MS_WORKSPACE_CUBLASLT)
        return row->lt_bytes;
    if (capability >= BLACKWELL)
        return row->blackwell_bytes;
    return capability >= HOPPER ? row->hopper_bytes : row->bytes;
}

void ms_workspace_use(ms_tape *tape, ms_workspace kind)
{
    ms_tensor *slot = &tape->workspaces[tape->on_backward_thread][kind];
    if (tape->on_cpu || *slot || ms_idle(tape))
        return;
    uint64_t bytes = workspace_bytes(tape->run, kind);
    if (bytes == 0)
        return;
    uint32_t scope = ms_scope_enter(tape, MS_NONE);
    *slot = ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
    tape->scope = scope;
    ms_retain(tape, *slot);
    ms_name_storage(tape, *slot, names[kind], MS_CATEGORY_WORKSPACE);
}
