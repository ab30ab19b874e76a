/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuBLAS workspaces, which PyTorch allocates through its caching allocator at the first product and
 * keeps per thread (forward, autograd). cuBLASLt has its own, for products with a bias.
 */
#include "ops/ops.h"

enum { HOPPER = 90 };

typedef struct workspace_row {
    const char *name;
    uint64_t bytes, hopper_bytes;
} workspace_row;

/* cuBLAS: CUBLAS_WORKSPACE_CONFIG's default ":4096:2:16:8", 32 MiB on compute capability 9.0. */
static const workspace_row rows[] = {
    [MS_WORKSPACE_CUBLAS] = {"cuBLAS workspace", 8519680, 33554432},
    [MS_WORKSPACE_CUBLASLT] = {"cuBLASLt workspace", 1048576, 1048576},
};

void ms_workspace_use(ms_tape *tape, ms_workspace kind)
{
    ms_tensor *slot = &tape->workspaces[tape->on_backward_thread][kind];
    if (tape->on_cpu || *slot || ms_idle(tape))
        return;
    const workspace_row *row = &rows[kind];
    bool hopper = tape->run->device->compute_capability == HOPPER;
    uint32_t scope = ms_scope_enter(tape, MS_NONE);
    *slot = ms_empty_bytes(tape, hopper ? row->hopper_bytes : row->bytes, MS_DTYPE_U8);
    tape->scope = scope;
    ms_retain(tape, *slot);
    ms_name_storage(tape, *slot, row->name, MS_CATEGORY_WORKSPACE);
}
