/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The declarations of cuda_library.h against NVIDIA's own, where its headers are (make CUDA=1):
 * numbers, structs, and that each function takes what it is given.
 */
#include "hardware/replay/cuda/cuda_library.h"

#ifdef MS_WITH_CUDA

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#define SAME_NUMBER(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)
#define SAME_SIZE(theirs, ours) _Static_assert(sizeof(theirs) == sizeof(ours), #ours)
#define SAME_PLACE(theirs, member, ours, own)                                                      \
    _Static_assert(offsetof(theirs, member) == offsetof(ours, own), #own)

SAME_NUMBER(cudaSuccess, MS_CUDA_OK);
SAME_NUMBER(cudaErrorMemoryAllocation, MS_CUDA_OUT_OF_MEMORY);
SAME_NUMBER(CUDA_ERROR_OUT_OF_MEMORY, MS_CUDA_OUT_OF_MEMORY);
SAME_NUMBER(cudaStreamNonBlocking, MS_CUDA_NON_BLOCKING);
SAME_NUMBER(cudaDevAttrComputeCapabilityMajor, MS_CUDA_CAPABILITY_MAJOR);
SAME_NUMBER(cudaDevAttrComputeCapabilityMinor, MS_CUDA_CAPABILITY_MINOR);
SAME_NUMBER(cudaDevAttrMultiProcessorCount, MS_CUDA_MULTIPROCESSORS);
SAME_NUMBER(cudaMemcpyHostToDevice, MS_CUDA_TO_DEVICE);
SAME_NUMBER(cudaMemcpyDeviceToHost, MS_CUDA_TO_HOST);
SAME_NUMBER(cudaMemcpyDeviceToDevice, MS_CUDA_WITHIN);
SAME_NUMBER(CU_MEM_ALLOCATION_TYPE_PINNED, MS_CUDA_PINNED);
SAME_NUMBER(CU_MEM_LOCATION_TYPE_DEVICE, MS_CUDA_ON_DEVICE);
SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, MS_CUDA_READ_WRITE);
SAME_NUMBER(CUDA_R_32F, MS_CUDA_REAL_F32);
SAME_NUMBER(CUDA_R_64F, MS_CUDA_REAL_F64);
SAME_NUMBER(CUDA_R_16F, MS_CUDA_REAL_F16);
SAME_NUMBER(CUDA_R_16BF, MS_CUDA_REAL_BF16);
SAME_NUMBER(CUBLAS_STATUS_ALLOC_FAILED, MS_CUBLAS_ALLOC_FAILED);
SAME_NUMBER(CUBLAS_COMPUTE_32F, MS_CUBLAS_COMPUTE_F32);
SAME_NUMBER(CUBLAS_COMPUTE_64F, MS_CUBLAS_COMPUTE_F64);
SAME_NUMBER(CUBLAS_GEMM_DEFAULT, MS_CUBLAS_ANY_ALGORITHM);
SAME_NUMBER(CUBLAS_OP_N, MS_CUBLAS_AS_IT_IS);
SAME_NUMBER(CUBLAS_OP_T, MS_CUBLAS_TRANSPOSED);
SAME_SIZE(CUmemAllocationProp, ms_cuda_place);
SAME_PLACE(CUmemAllocationProp, type, ms_cuda_place, type);
SAME_PLACE(CUmemAllocationProp, location.type, ms_cuda_place, location_type);
SAME_PLACE(CUmemAllocationProp, location.id, ms_cuda_place, location);
SAME_SIZE(CUmemAccessDesc, ms_cuda_access);
SAME_PLACE(CUmemAccessDesc, location.id, ms_cuda_access, location);
SAME_PLACE(CUmemAccessDesc, flags, ms_cuda_access, flags);
SAME_SIZE(CUdeviceptr, void *);
SAME_SIZE(CUmemGenericAllocationHandle, unsigned long long);
SAME_SIZE(cudaError_t, int);
SAME_SIZE(cublasStatus_t, int);

/* One parameter more or less, or of another kind, does not compile. */
#define TAKES(...) _Static_assert(sizeof(__VA_ARGS__) == sizeof(int), #__VA_ARGS__)
TAKES(cudaGetDeviceCount((int *)0));
TAKES(cudaSetDevice(0));
TAKES(cudaDriverGetVersion((int *)0));
TAKES(cudaRuntimeGetVersion((int *)0));
TAKES(cudaDeviceGetAttribute((int *)0, cudaDevAttrMultiProcessorCount, 0));
TAKES(cudaGetDeviceProperties((struct cudaDeviceProp *)0, 0));
TAKES(cudaMemGetInfo((size_t *)0, (size_t *)0));
TAKES(cudaMalloc((void **)0, (size_t)0));
TAKES(cudaFree((void *)0));
TAKES(cudaHostAlloc((void **)0, (size_t)0, 0U));
TAKES(cudaFreeHost((void *)0));
TAKES(cudaStreamCreateWithFlags((cudaStream_t *)0, 0U));
TAKES(cudaStreamDestroy((cudaStream_t)0));
TAKES(cudaEventCreate((cudaEvent_t *)0));
TAKES(cudaEventDestroy((cudaEvent_t)0));
TAKES(cudaEventRecord((cudaEvent_t)0, (cudaStream_t)0));
TAKES(cudaStreamWaitEvent((cudaStream_t)0, (cudaEvent_t)0, 0U));
TAKES(cudaEventSynchronize((cudaEvent_t)0));
TAKES(cudaEventElapsedTime((float *)0, (cudaEvent_t)0, (cudaEvent_t)0));
TAKES(cudaMemcpyAsync((void *)0, (const void *)0, (size_t)0, cudaMemcpyHostToDevice,
                      (cudaStream_t)0));
TAKES(cudaLaunchHostFunc((cudaStream_t)0, (void (*)(void *))0, (void *)0));
TAKES(cudaStreamSynchronize((cudaStream_t)0));
TAKES(cudaDeviceSynchronize());
TAKES(cudaGetLastError());
TAKES(*cudaGetErrorString(cudaSuccess) == 0);
TAKES(cuMemAddressReserve((CUdeviceptr *)0, (size_t)0, (size_t)0, (CUdeviceptr)0, 0ULL));
TAKES(cuMemAddressFree((CUdeviceptr)0, (size_t)0));
TAKES(cuMemCreate((CUmemGenericAllocationHandle *)0, (size_t)0, (const CUmemAllocationProp *)0,
                  0ULL));
TAKES(cuMemRelease((CUmemGenericAllocationHandle)0));
TAKES(cuMemMap((CUdeviceptr)0, (size_t)0, (size_t)0, (CUmemGenericAllocationHandle)0, 0ULL));
TAKES(cuMemUnmap((CUdeviceptr)0, (size_t)0));
TAKES(cuMemSetAccess((CUdeviceptr)0, (size_t)0, (const CUmemAccessDesc *)0, (size_t)0));
TAKES(cublasCreate_v2((cublasHandle_t *)0));
TAKES(cublasDestroy_v2((cublasHandle_t)0));
TAKES(cublasSetStream_v2((cublasHandle_t)0, (cudaStream_t)0));
TAKES(cublasSetWorkspace_v2((cublasHandle_t)0, (void *)0, (size_t)0));
TAKES(cublasGemmStridedBatchedEx((cublasHandle_t)0, CUBLAS_OP_N, CUBLAS_OP_N, 0, 0, 0,
                                 (const void *)0, (const void *)0, CUDA_R_32F, 0, 0LL,
                                 (const void *)0, CUDA_R_32F, 0, 0LL, (const void *)0, (void *)0,
                                 CUDA_R_32F, 0, 0LL, 0, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));

#endif
