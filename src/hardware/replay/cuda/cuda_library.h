/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime, driver and cuBLAS, loaded by name: the program is linked with none of them. The
 * declarations are memscope's own; handles are pointers and results integers, as in all versions.
 */
#ifndef MS_HARDWARE_REPLAY_CUDA_CUDA_LIBRARY_H
#define MS_HARDWARE_REPLAY_CUDA_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* CUDA's own numbers. */
enum {
    MS_CUDA_OK = 0,
    MS_CUDA_OUT_OF_MEMORY = 2,
    MS_CUDA_NON_BLOCKING = 1, /* cudaStreamNonBlocking */
    MS_CUDA_TO_DEVICE = 1,    /* cudaMemcpyHostToDevice, ... */
    MS_CUDA_TO_HOST = 2,
    MS_CUDA_WITHIN = 3,
    MS_CUDA_CAPABILITY_MAJOR = 75,
    MS_CUDA_CAPABILITY_MINOR = 76,
    MS_CUDA_MULTIPROCESSORS = 16,
    MS_CUDA_PINNED = 1,     /* CU_MEM_ALLOCATION_TYPE_PINNED */
    MS_CUDA_ON_DEVICE = 1,  /* CU_MEM_LOCATION_TYPE_DEVICE */
    MS_CUDA_READ_WRITE = 3, /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    MS_CUDA_REAL_F32 = 0,   /* CUDA_R_32F, ... */
    MS_CUDA_REAL_F64 = 1,
    MS_CUDA_REAL_F16 = 2,
    MS_CUDA_REAL_BF16 = 14,
    MS_CUBLAS_ALLOC_FAILED = 3, /* CUBLAS_STATUS_ALLOC_FAILED */
    MS_CUBLAS_COMPUTE_F32 = 68,
    MS_CUBLAS_COMPUTE_F64 = 70,
    MS_CUBLAS_ANY_ALGORITHM = -1,
    MS_CUBLAS_AS_IT_IS = 0,
    MS_CUBLAS_TRANSPOSED = 1
};

/* CUmemAllocationProp and CUmemAccessDesc. */
typedef struct ms_cuda_place {
    int type, handle_types;
    int location_type, location;
    void *metadata;
    unsigned char compression, direct;
    unsigned short usage;
    unsigned char rest[4];
} ms_cuda_place;

typedef struct ms_cuda_access {
    int location_type, location, flags;
} ms_cuda_access;

/* Every function that is used: type of the result, member, name, parameters. */
/* clang-format off */
#define MS_CUDA_RUNTIME_LIST(X) \
    X(int, count_devices, cudaGetDeviceCount, (int *count)) \
    X(int, set_device, cudaSetDevice, (int device)) \
    X(int, driver_version, cudaDriverGetVersion, (int *version)) \
    X(int, runtime_version, cudaRuntimeGetVersion, (int *version)) \
    X(int, attribute, cudaDeviceGetAttribute, (int *value, int attribute, int device)) \
    X(int, properties, cudaGetDeviceProperties, (void *properties, int device)) \
    X(int, memory, cudaMemGetInfo, (size_t *free_bytes, size_t *total_bytes)) \
    X(int, allocate, cudaMalloc, (void **address, size_t bytes)) \
    X(int, release, cudaFree, (void *address)) \
    X(int, pin, cudaHostAlloc, (void **address, size_t bytes, unsigned flags)) \
    X(int, unpin, cudaFreeHost, (void *address)) \
    X(int, open_stream, cudaStreamCreateWithFlags, (void **stream, unsigned flags)) \
    X(int, close_stream, cudaStreamDestroy, (void *stream)) \
    X(int, open_event, cudaEventCreate, (void **event)) \
    X(int, close_event, cudaEventDestroy, (void *event)) \
    X(int, record, cudaEventRecord, (void *event, void *stream)) \
    X(int, wait, cudaStreamWaitEvent, (void *stream, void *event, unsigned flags)) \
    X(int, finish_event, cudaEventSynchronize, (void *event)) \
    X(int, elapsed, cudaEventElapsedTime, (float *ms, void *begin, void *end)) \
    X(int, copy, cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, void *stream)) \
    X(int, call, cudaLaunchHostFunc, (void *stream, void (*function)(void *), void *data)) \
    X(int, finish_stream, cudaStreamSynchronize, (void *stream)) \
    X(int, finish, cudaDeviceSynchronize, (void)) \
    X(int, forget, cudaGetLastError, (void)) \
    X(const char *, error_text, cudaGetErrorString, (int code))
#define MS_CUDA_DRIVER_LIST(X) \
    X(int, reserve, cuMemAddressReserve, (void **address, size_t bytes, size_t alignment, void *at, unsigned long long flags)) \
    X(int, unreserve, cuMemAddressFree, (void *address, size_t bytes)) \
    X(int, create, cuMemCreate, (unsigned long long *handle, size_t bytes, const ms_cuda_place *place, unsigned long long flags)) \
    X(int, give_back, cuMemRelease, (unsigned long long handle)) \
    X(int, map, cuMemMap, (void *address, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags)) \
    X(int, unmap, cuMemUnmap, (void *address, size_t bytes)) \
    X(int, allow, cuMemSetAccess, (void *address, size_t bytes, const ms_cuda_access *access, size_t count))
#define MS_CUBLAS_LIST(X) \
    X(int, open_products, cublasCreate_v2, (void **handle)) \
    X(int, close_products, cublasDestroy_v2, (void *handle)) \
    X(int, set_stream, cublasSetStream_v2, (void *handle, void *stream)) \
    X(int, set_workspace, cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes)) \
    X(int, multiply, cublasGemmStridedBatchedEx, (void *handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha, \
        const void *a, int type_a, int stride_a, long long next_a, const void *b, int type_b, int stride_b, long long next_b, const void *beta, \
        void *c, int type_c, int stride_c, long long next_c, int batches, int compute, int algorithm))
/* clang-format on */

typedef struct ms_cuda {
#define MS_CUDA_MEMBER(type, member, name, parameters) type(*member) parameters;
    MS_CUDA_RUNTIME_LIST(MS_CUDA_MEMBER)
    MS_CUDA_DRIVER_LIST(MS_CUDA_MEMBER)
    MS_CUBLAS_LIST(MS_CUDA_MEMBER)
#undef MS_CUDA_MEMBER
    bool is_null; /* the null device answers: nothing runs */
} ms_cuda;

/* Finds all of it: in the library at `path`; where that is NULL, in the null device if the program
 * was started with it (LD_PRELOAD), else in the machine's own libraries. They stay loaded.
 * MS_ERR_IO: the sentence says which is missing. */
ms_status ms_replay_cuda_load(const char *path, ms_cuda *cuda, ms_error *err);

#endif
