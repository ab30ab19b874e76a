/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Our structs of CUDA's runtime against NVIDIA's own, compiled where its headers are.
 */
#include <cublasLt.h>
#include <cuda.h>
#include <driver_types.h>
#include <stddef.h>

#include "hardware/nulldevice/attributes.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"

#define SAME_SIZE(theirs, ours) _Static_assert(sizeof(theirs) == sizeof(ours), #ours)
#define SAME_PLACE(theirs, member, ours, own)                                                      \
    _Static_assert(offsetof(theirs, member) == offsetof(ours, own), #own)
#define SAME_NUMBER(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)
#define PROPERTY(member, own) SAME_PLACE(struct cudaDeviceProp, member, properties, own)
#define FUNCTION(member, own) SAME_PLACE(struct cudaFuncAttributes, member, ms_null_function, own)
#define POINTER(member, own) SAME_PLACE(struct cudaPointerAttributes, member, ms_null_pointer, own)

#if CUDA_VERSION >= 13000
typedef ms_null_properties properties;
#else
typedef ms_null_properties_12 properties;
PROPERTY(clockRate, clock_khz);
PROPERTY(memoryClockRate, memory_clock_khz);
#endif
SAME_SIZE(struct cudaDeviceProp, properties);
SAME_SIZE(struct cudaFuncAttributes, ms_null_function);
_Static_assert(sizeof(struct cudaPointerAttributes) >= sizeof(ms_null_pointer), "what is written");
PROPERTY(totalGlobalMem, total_bytes);
PROPERTY(sharedMemPerBlock, shared_bytes_of_block);
PROPERTY(maxThreadsPerBlock, threads_of_block);
PROPERTY(maxThreadsDim, block_dimensions);
PROPERTY(maxGridSize, grid_dimensions);
PROPERTY(major, major);
PROPERTY(multiProcessorCount, multiprocessors);
PROPERTY(integrated, integrated);
PROPERTY(maxTexture1D, textures_and_surfaces);
PROPERTY(surfaceAlignment, surface_alignment);
PROPERTY(concurrentKernels, concurrent_kernels);
PROPERTY(unifiedAddressing, unified_addressing);
PROPERTY(l2CacheSize, l2_bytes);
PROPERTY(maxThreadsPerMultiProcessor, threads_of_multiprocessor);
PROPERTY(sharedMemPerMultiprocessor, shared_bytes_of_multiprocessor);
PROPERTY(concurrentManagedAccess, concurrent_managed_access);
PROPERTY(hostNativeAtomicSupported, host_atomics);
PROPERTY(pageableMemoryAccess, pageable_access);
PROPERTY(memoryBusWidth, bus_bits);
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
SAME_SIZE(CUlaunchAttribute, ms_null_launch_attribute);
SAME_PLACE(CUlaunchAttribute, value, ms_null_launch_attribute, cluster);
SAME_SIZE(CUlaunchConfig, ms_null_launch);
SAME_PLACE(CUlaunchConfig, hStream, ms_null_launch, stream);
SAME_PLACE(CUlaunchConfig, attrs, ms_null_launch, attributes);
SAME_PLACE(CUlaunchConfig, numAttrs, ms_null_launch, attribute_count);
_Static_assert(offsetof(CUmemAllocationProp, location) == 8, "where the device is told");
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96, "what a heuristic fills");
SAME_NUMBER(cudaDevAttrMaxThreadsPerBlock, MS_NULL_BLOCK_THREADS);
SAME_NUMBER(cudaDevAttrMaxBlockDimX, MS_NULL_BLOCK_X);
SAME_NUMBER(cudaDevAttrMaxBlockDimY, MS_NULL_BLOCK_Y);
SAME_NUMBER(cudaDevAttrMaxBlockDimZ, MS_NULL_BLOCK_Z);
SAME_NUMBER(cudaDevAttrMaxGridDimX, MS_NULL_GRID_X);
SAME_NUMBER(cudaDevAttrMaxGridDimY, MS_NULL_GRID_Y);
SAME_NUMBER(cudaDevAttrMaxGridDimZ, MS_NULL_GRID_Z);
SAME_NUMBER(cudaDevAttrMaxSharedMemoryPerBlock, MS_NULL_SHARED_BYTES);
SAME_NUMBER(cudaDevAttrTotalConstantMemory, MS_NULL_CONSTANT_BYTES);
SAME_NUMBER(cudaDevAttrWarpSize, MS_NULL_WARP_SIZE);
SAME_NUMBER(cudaDevAttrMaxRegistersPerBlock, MS_NULL_REGISTERS);
SAME_NUMBER(cudaDevAttrClockRate, MS_NULL_CLOCK);
SAME_NUMBER(cudaDevAttrTextureAlignment, MS_NULL_TEXTURE_ALIGNMENT);
SAME_NUMBER(cudaDevAttrMultiProcessorCount, MS_NULL_MULTIPROCESSORS);
SAME_NUMBER(cudaDevAttrIntegrated, MS_NULL_INTEGRATED);
SAME_NUMBER(cudaDevAttrComputeMode, MS_NULL_COMPUTE_MODE);
SAME_NUMBER(cudaDevAttrEccEnabled, MS_NULL_ECC);
SAME_NUMBER(cudaDevAttrGlobalMemoryBusWidth, MS_NULL_BUS_BITS);
SAME_NUMBER(cudaDevAttrL2CacheSize, MS_NULL_L2_BYTES);
SAME_NUMBER(cudaDevAttrMaxThreadsPerMultiProcessor, MS_NULL_MULTIPROCESSOR_THREADS);
SAME_NUMBER(cudaDevAttrAsyncEngineCount, MS_NULL_ASYNC_ENGINES);
SAME_NUMBER(cudaDevAttrComputeCapabilityMajor, MS_NULL_MAJOR);
SAME_NUMBER(cudaDevAttrComputeCapabilityMinor, MS_NULL_MINOR);
SAME_NUMBER(cudaDevAttrMaxSharedMemoryPerMultiprocessor, MS_NULL_MULTIPROCESSOR_SHARED_BYTES);
SAME_NUMBER(cudaDevAttrMaxRegistersPerMultiprocessor, MS_NULL_MULTIPROCESSOR_REGISTERS);
SAME_NUMBER(cudaDevAttrMaxSharedMemoryPerBlockOptin, MS_NULL_SHARED_BYTES_OPT_IN);
SAME_NUMBER(cudaDevAttrMaxBlocksPerMultiprocessor, MS_NULL_MULTIPROCESSOR_BLOCKS);
SAME_NUMBER(cudaDevAttrReservedSharedMemoryPerBlock, MS_NULL_SHARED_BYTES_RESERVED);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, MS_NULL_MULTICAST);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MS_NULL_FUNCTION_THREADS);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, MS_NULL_FUNCTION_SHARED_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, MS_NULL_FUNCTION_CONSTANT_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, MS_NULL_FUNCTION_LOCAL_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_NUM_REGS, MS_NULL_FUNCTION_REGISTERS);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_PTX_VERSION, MS_NULL_FUNCTION_PTX);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_BINARY_VERSION, MS_NULL_FUNCTION_BINARY);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, MS_NULL_FUNCTION_DYNAMIC_SHARED_BYTES);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_CONTEXT, MS_NULL_POINTER_CONTEXT);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, MS_NULL_POINTER_MEMORY);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, MS_NULL_POINTER_ON_DEVICE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, MS_NULL_POINTER_DEVICE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_IS_MANAGED, MS_NULL_POINTER_IS_MANAGED);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, MS_NULL_LAUNCH_CLUSTER);
SAME_NUMBER(cudaErrorInvalidValue, MS_NULL_INVALID_VALUE);
SAME_NUMBER(cudaErrorMemoryAllocation, MS_NULL_OUT_OF_MEMORY);
SAME_NUMBER(cudaErrorNoDevice, MS_NULL_NO_DEVICE);
SAME_NUMBER(cudaErrorInvalidDevice, MS_NULL_INVALID_DEVICE);
SAME_NUMBER(cudaErrorSymbolNotFound, MS_NULL_NOT_FOUND);
SAME_NUMBER(cudaErrorNotSupported, MS_NULL_NOT_SUPPORTED);
SAME_NUMBER(cudaMemoryTypeDevice, MS_NULL_DEVICE);
SAME_NUMBER(cudaMemoryTypeHost, MS_NULL_HOST);
SAME_NUMBER(cudaMemoryTypeUnregistered, MS_NULL_UNREGISTERED);
SAME_NUMBER(cudaMemoryTypeManaged, MS_NULL_MANAGED);
