/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NCCL: communicators with one real rank. The others are assumed to have the same contents: gather
 * and broadcast therefore copy remembered contents, and a sum is a multiple of them.
 */
#include <string.h>

#include "hardware/nulldevice/copies.h"
#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/libraries/nccl_types.h"
#include "hardware/nulldevice/libraries/nccl_values.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

enum { NCCL_VERSION = 22809 };

/* ---- communicators ---- */

MS_NULL_CALL(int, ncclGetVersion, (int *version))
{
    *version = NCCL_VERSION;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclGetUniqueId, (ms_null_nccl_id * id))
{
    memset(id, 1, sizeof *id);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommInitRank, (void **handle, int ranks, ms_null_nccl_id id, int rank))
{
    (void)id;
    *handle = ms_null_communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommInitRankConfig, (void **handle, int ranks, ms_null_nccl_id id, int rank))
{
    return ncclCommInitRank(handle, ranks, id, rank);
}

MS_NULL_CALL(int, ncclCommInitRankScalable, (void **handle, int ranks, int rank))
{
    *handle = ms_null_communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommInitAll, (void **handles, int ranks))
{
    for (int rank = 0; rank < ranks; rank++)
        handles[rank] = ms_null_communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommSplit, (void *handle, int color, int key, void **made))
{
    (void)handle;
    *made = color < 0 ? NULL : ms_null_communicator(0, key);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommShrink, (void *handle, const int *excluded, int count, void **made))
{
    int rank = ms_null_rank_of(handle);
    for (int i = 0; i < count; i++)
        rank -= excluded[i] < ms_null_rank_of(handle);
    *made = ms_null_communicator(
        ms_null_ranks_of(handle) > count ? ms_null_ranks_of(handle) - count : 0, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommCount, (const void *handle, int *ranks))
{
    *ranks = ms_null_ranks_of(handle);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommUserRank, (const void *handle, int *rank))
{
    *rank = ms_null_rank_of(handle);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommCuDevice, (const void *handle, int *device))
{
    (void)handle;
    *device = ms_null_current_device();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommGetAsyncError, (void *handle, int *error))
{
    (void)handle;
    *error = MS_NULL_OK;
    return MS_NULL_OK;
}

MS_NULL_CALL(const char *, ncclGetErrorString, (int code))
{
    return code == MS_NULL_OK ? "no error" : "invalid usage";
}

MS_NULL_CALL(const char *, ncclGetLastError, (void))
{
    return "";
}

/* ---- memory ---- */

MS_NULL_CALL(int, ncclMemAlloc, (void **address, size_t bytes))
{
    *address = ms_null_allocate(ms_null_current_device(), bytes);
    return *address ? MS_NULL_OK : MS_NULL_NCCL_CUDA_ERROR;
}

MS_NULL_CALL(int, ncclMemFree, (void *address))
{
    ms_null_free(address);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommRegister, (void *handle, void *buffer, size_t bytes, void **made))
{
    (void)handle, (void)buffer, (void)bytes;
    *made = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommWindowRegister, (void *handle, void *buffer, size_t bytes, void **made))
{
    return ncclCommRegister(handle, buffer, bytes, made);
}

/* ---- collectives ---- */

static uint64_t bytes_of(size_t count, int type)
{
    return ms_null_nccl_bytes(count, type);
}

/* Of equal values the largest, the smallest and the mean are those values. */
static int reduce(const void *from, void *to, size_t count, int type, int operation,
                  const void *handle)
{
    int ranks = ms_null_ranks_of(handle);
    bool same = ranks == 1 || (operation >= MS_NULL_NCCL_MAX && operation <= MS_NULL_NCCL_AVERAGE);
    if (same)
        ms_null_copy(to, from, bytes_of(count, type));
    else if (operation != MS_NULL_NCCL_SUM || !ms_null_sum(from, to, count, type, ranks))
        ms_null_forget(to, bytes_of(count, type));
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclAllReduce,
             (const void *from, void *to, size_t count, int type, int operation, void *handle))
{
    return reduce(from, to, count, type, operation, handle);
}

MS_NULL_CALL(int, ncclReduce,
             (const void *from, void *to, size_t count, int type, int operation, int root,
              void *handle))
{
    return root == ms_null_rank_of(handle) ? reduce(from, to, count, type, operation, handle)
                                           : MS_NULL_OK;
}

MS_NULL_CALL(int, ncclReduceScatter,
             (const void *from, void *to, size_t count, int type, int operation, void *handle))
{
    uint64_t bytes = bytes_of(count, type);
    const char *own = (const char *)from + bytes * (uint64_t)ms_null_rank_of(handle);
    return reduce(own, to, count, type, operation, handle);
}

/* In place: everybody has it already. */
MS_NULL_SUCCEEDS(ncclBcast)

/* ---- other collectives ---- */

/* The same part from each rank. */
static int gather(const void *part, void *to, uint64_t bytes, const void *handle)
{
    for (int rank = 0; rank < ms_null_ranks_of(handle); rank++)
        ms_null_copy((char *)to + bytes * (uint64_t)rank, part, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclAllGather, (const void *from, void *to, size_t count, int type, void *handle))
{
    return gather(from, to, bytes_of(count, type), handle);
}

MS_NULL_CALL(int, ncclAlltoAll, (const void *from, void *to, size_t count, int type, void *handle))
{
    uint64_t bytes = bytes_of(count, type);
    return gather((const char *)from + bytes * (uint64_t)ms_null_rank_of(handle), to, bytes,
                  handle);
}

MS_NULL_CALL(int, ncclGather,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    return root == ms_null_rank_of(handle) ? gather(from, to, bytes_of(count, type), handle)
                                           : MS_NULL_OK;
}

MS_NULL_CALL(int, ncclScatter,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    uint64_t bytes = bytes_of(count, type);
    if (root == ms_null_rank_of(handle))
        ms_null_copy(to, (const char *)from + bytes * (uint64_t)root, bytes);
    else
        ms_null_forget(to, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclRedOpCreatePreMulSum, (int *operation))
{
    *operation = MS_NULL_NCCL_OPERATIONS;
    return MS_NULL_OK;
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(ncclGroupSimulateEnd) SUCCEEDS(ncclRedOpDestroy)
SUCCEEDS(ncclCommAbort) SUCCEEDS(ncclCommDestroy) SUCCEEDS(ncclCommFinalize) SUCCEEDS(ncclCommRevoke)
SUCCEEDS(ncclCommDeregister) SUCCEEDS(ncclCommWindowDeregister)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NCCL_INVALID_USAGE)
UNCOVERED(ncclDevCommCreate) UNCOVERED(ncclDevCommDestroy)
    /* clang-format on */
