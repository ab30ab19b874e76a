/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's driver: kernels compiled at run time. Inductor and Triton load and launch their kernels by
 * these calls; none of them runs.
 */
#include "hardware/nulldevice/attributes.h"
#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_kernels.h"
#include "hardware/nulldevice/runtime_types.h"
#include "hardware/nulldevice/times.h"

MS_NULL_MAKES(cuModuleLoad)
MS_NULL_MAKES(cuModuleLoadData)
MS_NULL_MAKES(cuModuleLoadDataEx)
MS_NULL_MAKES(cuModuleGetFunction)

MS_NULL_CALL(int, cuFuncGetAttribute, (int *value, int attribute))
{
    ms_null_function f;
    ms_null_describe_function(&f);
    const struct {
        int number, value;
    } rows[] = {
        {MS_NULL_FUNCTION_THREADS, f.threads_of_block},
        {MS_NULL_FUNCTION_SHARED_BYTES, (int)f.shared_bytes},
        {MS_NULL_FUNCTION_CONSTANT_BYTES, (int)f.constant_bytes},
        {MS_NULL_FUNCTION_LOCAL_BYTES, (int)f.local_bytes},
        {MS_NULL_FUNCTION_REGISTERS, f.registers},
        /* it is compiled for this very device */
        {MS_NULL_FUNCTION_PTX, ms_null_device_get()->capability},
        {MS_NULL_FUNCTION_BINARY, ms_null_device_get()->capability},
        {MS_NULL_FUNCTION_DYNAMIC_SHARED_BYTES, f.dynamic_shared_bytes},
    };
    *value = 0; /* cache modes, and what clusters must be: nothing is asked of the caller */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == attribute)
            *value = rows[i].value;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *count))
{
    *count = MS_NULL_BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

/* Multiprocessors over the blocks of a cluster, as if one block had each. */
MS_NULL_CALL(int, cuOccupancyMaxActiveClusters,
             (int *count, const void *function, const ms_null_launch *launch))
{
    unsigned blocks = 1;
    (void)function;
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        const ms_null_launch_attribute *a = &launch->attributes[i];
        if (a->id == MS_NULL_LAUNCH_CLUSTER)
            blocks = a->cluster[0] * a->cluster[1] * a->cluster[2];
    }
    unsigned most = (unsigned)ms_null_device_get()->multiprocessors;
    *count = (int)(blocks > 0 && blocks < most ? most / blocks : 1);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuLaunchKernel,
             (const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
              const void *stream))
{
    uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    (void)function, (void)shared_bytes;
    ms_null_work(stream, ms_null_time_of_kernel(blocks * threads));
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuLaunchCooperativeKernel,
             (const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
              const void *stream))
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream);
}

MS_NULL_CALL(int, cuLaunchKernelEx, (const ms_null_launch *launch))
{
    const unsigned *grid = launch->grid, *block = launch->block;
    return cuLaunchKernel(NULL, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                          launch->shared_bytes, launch->stream);
}

MS_NULL_SUCCEEDS(cuModuleUnload)
MS_NULL_SUCCEEDS(cuFuncSetAttribute)
MS_NULL_SUCCEEDS(cuFuncSetCacheConfig)
MS_NULL_SUCCEEDS(cuTensorMapEncodeTiled)

/* ---- libraries of kernels ---- */

MS_NULL_MAKES(cuLibraryLoadData)
MS_NULL_MAKES(cuLibraryLoadFromFile)
MS_NULL_MAKES(cuLibraryGetKernel)
MS_NULL_MAKES(cuKernelGetFunction)

MS_NULL_CALL(int, cudaOccupancyMaxActiveClusters,
             (int *count, const void *function, const ms_null_launch *launch))
{
    return cuOccupancyMaxActiveClusters(count, function, launch);
}

/* What all devices since compute capability 9.0 take. */
MS_NULL_CALL(int, cudaOccupancyMaxPotentialClusterSize, (int *blocks))
{
    enum { MOST_OF_A_CLUSTER = 8 };
    *blocks = MOST_OF_A_CLUSTER;
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cuLibraryUnload)
