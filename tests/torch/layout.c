/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Our structs of CUDA's runtime against NVIDIA's own, compiled where its headers are.
 */
#include <cublasLt.h>
#include <cuda.h>
#include <driver_types.h>
#include <stddef.h>

#include "nulldevice/runtime_types.h"

#define SAME_SIZE(theirs, ours) _Static_assert(sizeof(theirs) == sizeof(ours), #ours)
#define SAME_PLACE(theirs, member, ours, own)                                                      \
    _Static_assert(offsetof(theirs, member) == offsetof(ours, own), #own)
#define PROPERTY(member, own) SAME_PLACE(struct cudaDeviceProp, member, ms_null_properties, own)
#define FUNCTION(member, own) SAME_PLACE(struct cudaFuncAttributes, member, ms_null_function, own)
#define POINTER(member, own) SAME_PLACE(struct cudaPointerAttributes, member, ms_null_pointer, own)

SAME_SIZE(struct cudaDeviceProp, ms_null_properties);
SAME_SIZE(struct cudaFuncAttributes, ms_null_function);
SAME_SIZE(struct cudaPointerAttributes, ms_null_pointer);
PROPERTY(totalGlobalMem, total_bytes);
PROPERTY(sharedMemPerBlock, shared_bytes_of_block);
PROPERTY(maxThreadsPerBlock, threads_of_block);
PROPERTY(maxThreadsDim, block_dimensions);
PROPERTY(maxGridSize, grid_dimensions);
PROPERTY(major, major);
PROPERTY(multiProcessorCount, multiprocessors);
PROPERTY(surfaceAlignment, surface_alignment);
PROPERTY(concurrentKernels, concurrent_kernels);
PROPERTY(unifiedAddressing, unified_addressing);
PROPERTY(l2CacheSize, l2_bytes);
PROPERTY(maxThreadsPerMultiProcessor, threads_of_multiprocessor);
PROPERTY(sharedMemPerMultiprocessor, shared_bytes_of_multiprocessor);
PROPERTY(concurrentManagedAccess, concurrent_managed_access);
PROPERTY(cooperativeLaunch, cooperative_launch);
PROPERTY(sharedMemPerBlockOptin, shared_bytes_opt_in);
PROPERTY(maxBlocksPerMultiProcessor, blocks_of_multiprocessor);
PROPERTY(reservedSharedMemPerBlock, shared_bytes_reserved);
PROPERTY(hostRegisterSupported, rest);
FUNCTION(maxThreadsPerBlock, threads_of_block);
FUNCTION(ptxVersion, ptx_version);
FUNCTION(binaryVersion, binary_version);
FUNCTION(maxDynamicSharedSizeBytes, dynamic_shared_bytes);
POINTER(type, type);
POINTER(device, device);
POINTER(devicePointer, device_pointer);
POINTER(hostPointer, host_pointer);
_Static_assert(offsetof(CUmemAllocationProp, location) == 8, "where the device is told");
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96, "what a heuristic fills");
