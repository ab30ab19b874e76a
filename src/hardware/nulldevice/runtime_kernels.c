/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: kernels. None of them runs.
 */
#include "hardware/nulldevice/runtime_kernels.h"

#include <string.h>

#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"
#include "hardware/nulldevice/times.h"

/* ---- kernels ---- */

static void launch(ms_null_dimensions grid, ms_null_dimensions block, const void *stream)
{
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    ms_null_work(stream, ms_null_time_of_kernel(blocks * threads));
}

/* The runtime's own names. NOLINTBEGIN(clang-diagnostic-reserved-identifier) */
MS_NULL_CALL(void **, __cudaRegisterFatBinary, (void))
{
    static void *registered;
    return &registered;
}

MS_NULL_CALL(void, __cudaRegisterFatBinaryEnd, (void))
{
}
MS_NULL_CALL(void, __cudaUnregisterFatBinary, (void))
{
}
MS_NULL_CALL(void, __cudaRegisterFunction, (void))
{
}
MS_NULL_CALL(void, __cudaRegisterVar, (void))
{
}

/* Anything but 0 makes the caller pass over its launch. */
MS_NULL_CALL(unsigned, __cudaPushCallConfiguration,
             (ms_null_dimensions grid, ms_null_dimensions block, size_t shared_bytes,
              const void *stream))
{
    (void)shared_bytes;
    launch(grid, block, stream);
    return 1;
}

MS_NULL_CALL(int, __cudaPopCallConfiguration, (void))
{
    return 1;
}

MS_NULL_CALL(char, __cudaInitModule, (void))
{
    return 1;
}

MS_NULL_MAKES(__cudaGetKernel)

/* Code that is loaded while the program runs. */
MS_NULL_MAKES(cudaLibraryLoadData)
MS_NULL_MAKES(cudaLibraryLoadFromFile)
MS_NULL_MAKES(cudaLibraryGetKernel)

MS_NULL_SUCCEEDS(cudaLibraryUnload)
MS_NULL_SUCCEEDS(cudaKernelSetAttributeForDevice)
MS_NULL_SUCCEEDS(cudaFuncSetAttribute)

MS_NULL_CALL(int, cudaLaunchKernel,
             (const void *function, ms_null_dimensions grid, ms_null_dimensions block,
              void **values, size_t shared_bytes, const void *stream))
{
    (void)function, (void)values, (void)shared_bytes;
    launch(grid, block, stream);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, __cudaLaunchKernel,
             (const void *function, ms_null_dimensions grid, ms_null_dimensions block,
              void **values, size_t shared_bytes, const void *stream))
{
    return cudaLaunchKernel(function, grid, block, values, shared_bytes, stream);
}

MS_NULL_CALL(int, cudaLaunchCooperativeKernel,
             (const void *function, ms_null_dimensions grid, ms_null_dimensions block,
              void **values, size_t shared_bytes, const void *stream))
{
    return cudaLaunchKernel(function, grid, block, values, shared_bytes, stream);
}

MS_NULL_CALL(int, cudaLaunchKernelExC, (const ms_null_runtime_launch *config))
{
    launch(config->grid, config->block, config->stream);
    return MS_NULL_OK;
}

/* What PyTorch's wheels hold code for: a device runs that of its own major number before it. */
static int code_version(void)
{
    int capability = ms_null_device_get()->capability;
    switch (capability) {
    case 87:
    case 89:
        return 86;
    case 103:
        return 100;
    case 121:
        return 120;
    default:
        return capability;
    }
}

enum { FUNCTION_THREADS = 1024, FUNCTION_REGISTERS = 32, FUNCTION_SHARED_BYTES = 49152 };

void ms_null_describe_function(ms_null_function *f)
{
    memset(f, 0, sizeof *f);
    f->threads_of_block = FUNCTION_THREADS;
    f->registers = FUNCTION_REGISTERS;
    f->dynamic_shared_bytes = FUNCTION_SHARED_BYTES;
    f->ptx_version = f->binary_version = code_version();
}

MS_NULL_CALL(int, cudaFuncGetAttributes, (ms_null_function * f))
{
    ms_null_describe_function(f);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *count))
{
    *count = MS_NULL_BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *count))
{
    *count = MS_NULL_BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

/* clang-format off */
#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cudaLibraryGetGlobal) UNCOVERED(cudaLibraryGetKernelCount) UNCOVERED(cudaLibraryGetManaged)
UNCOVERED(cudaLibraryGetUnifiedFunction)
    /* clang-format on */
    /* NOLINTEND(clang-diagnostic-reserved-identifier) */
