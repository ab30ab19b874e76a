/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NCCL: communicators with one real rank. The others are assumed to have the same contents: gather
 * and broadcast therefore copy remembered contents, and sums are unknown device values.
 */
#include <stdlib.h>
#include <string.h>

#include "nulldevice/copies.h"
#include "nulldevice/memory.h"
#include "nulldevice/libraries/nccl_types.h"
#include "nulldevice/nulldevice.h"
#include "nulldevice/remembered.h"

enum { NCCL_VERSION = 22809 };

/* ---- communicators: all that is known of one is in its handle ---- */

enum { RANK_BITS = 24, RANK_MASK = (1 << RANK_BITS) - 1 };

/* Ranks 0: unknown, as of a communicator that was split off. */
static void *communicator(int ranks, int rank)
{
    return (void *)((uintptr_t)1 << 2 * RANK_BITS | (uintptr_t)(ranks & RANK_MASK) << RANK_BITS |
                    (uintptr_t)(rank & RANK_MASK));
}

static int ranks_of(const void *handle)
{
    return (int)((uintptr_t)handle >> RANK_BITS & RANK_MASK);
}

static int rank_of(const void *handle)
{
    return (int)((uintptr_t)handle & RANK_MASK);
}

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
    *handle = communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommInitRankConfig, (void **handle, int ranks, ms_null_nccl_id id, int rank))
{
    return ncclCommInitRank(handle, ranks, id, rank);
}

MS_NULL_CALL(int, ncclCommInitRankScalable, (void **handle, int ranks, int rank))
{
    *handle = communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommInitAll, (void **handles, int ranks))
{
    for (int rank = 0; rank < ranks; rank++)
        handles[rank] = communicator(ranks, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommSplit, (void *handle, int color, int key, void **made))
{
    (void)handle;
    *made = color < 0 ? NULL : communicator(0, key);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommShrink, (void *handle, const int *excluded, int count, void **made))
{
    int rank = rank_of(handle);
    for (int i = 0; i < count; i++)
        rank -= excluded[i] < rank_of(handle);
    *made = communicator(ranks_of(handle) > count ? ranks_of(handle) - count : 0, rank);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommCount, (const void *handle, int *ranks))
{
    *ranks = ranks_of(handle);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclCommUserRank, (const void *handle, int *rank))
{
    *rank = rank_of(handle);
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
    bool is_known = type >= 0 && (size_t)type < sizeof ms_null_nccl_sizes;
    return is_known ? count * ms_null_nccl_sizes[type] : 0;
}

/* Of equal values the largest, the smallest and the mean are those values. */
static int reduce(const void *from, void *to, uint64_t bytes, int operation, const void *handle)
{
    bool same = ranks_of(handle) == 1 ||
                (operation >= MS_NULL_NCCL_MAX && operation <= MS_NULL_NCCL_AVERAGE);
    if (same)
        ms_null_copy(to, from, bytes);
    else
        ms_null_forget(to, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclAllReduce,
             (const void *from, void *to, size_t count, int type, int operation, void *handle))
{
    return reduce(from, to, bytes_of(count, type), operation, handle);
}

MS_NULL_CALL(int, ncclReduce,
             (const void *from, void *to, size_t count, int type, int operation, int root,
              void *handle))
{
    return root == rank_of(handle) ? reduce(from, to, bytes_of(count, type), operation, handle)
                                   : MS_NULL_OK;
}

MS_NULL_CALL(int, ncclReduceScatter,
             (const void *from, void *to, size_t count, int type, int operation, void *handle))
{
    uint64_t bytes = bytes_of(count, type);
    const char *own = (const char *)from + bytes * (uint64_t)rank_of(handle);
    return reduce(own, to, bytes, operation, handle);
}

/* ---- broadcasts: also of what each rank has, in a group that has one from each ---- */

typedef struct broadcast {
    const void *from;
    void *to;
    uint64_t bytes;
    int root;
    const void *handle;
} broadcast;

/* Of the calling thread. */
static _Thread_local struct {
    unsigned depth;
    broadcast *rows;
    size_t count, capacity;
} grouped;

static bool is_own(const broadcast *b)
{
    return b->root == rank_of(b->handle);
}

/* What another rank sends is what this one sends in the same group; with nothing sent here, what
 * this one has there already. */
static void receive(const broadcast *b)
{
    const void *from = is_own(b) ? b->from : b->to;
    for (size_t i = 0; i < grouped.count && !is_own(b); i++) {
        const broadcast *sent = &grouped.rows[i];
        if (is_own(sent) && sent->handle == b->handle && sent->bytes == b->bytes)
            from = sent->from;
    }
    if (from != b->to)
        ms_null_copy(b->to, from, b->bytes);
}

static bool put_off(const broadcast *b)
{
    if (grouped.count == grouped.capacity) {
        size_t capacity = 2 * grouped.capacity + 16;
        broadcast *rows = realloc(grouped.rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        grouped.rows = rows;
        grouped.capacity = capacity;
    }
    grouped.rows[grouped.count++] = *b;
    return true;
}

MS_NULL_CALL(int, ncclGroupStart, (void))
{
    grouped.depth++;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclGroupEnd, (void))
{
    if (grouped.depth == 0)
        return MS_NULL_NCCL_INVALID_USAGE;
    if (--grouped.depth > 0)
        return MS_NULL_OK;
    for (size_t i = 0; i < grouped.count; i++)
        receive(&grouped.rows[i]);
    free(grouped.rows);
    grouped.rows = NULL;
    grouped.count = grouped.capacity = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclBroadcast,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    broadcast b = {from, to, bytes_of(count, type), root, handle};
    if (grouped.depth == 0 || !put_off(&b))
        receive(&b);
    return MS_NULL_OK;
}

/* In place: everybody has it already. */
MS_NULL_SUCCEEDS(ncclBcast)

/* ---- other collectives ---- */

/* The same part from each rank. */
static int gather(const void *part, void *to, uint64_t bytes, const void *handle)
{
    for (int rank = 0; rank < ranks_of(handle); rank++)
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
    return gather((const char *)from + bytes * (uint64_t)rank_of(handle), to, bytes, handle);
}

MS_NULL_CALL(int, ncclGather,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    return root == rank_of(handle) ? gather(from, to, bytes_of(count, type), handle) : MS_NULL_OK;
}

MS_NULL_CALL(int, ncclScatter,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    uint64_t bytes = bytes_of(count, type);
    if (root == rank_of(handle))
        ms_null_copy(to, (const char *)from + bytes * (uint64_t)root, bytes);
    else
        ms_null_forget(to, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclRecv, (void *to, size_t count, int type))
{
    ms_null_forget(to, bytes_of(count, type));
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclRedOpCreatePreMulSum, (int *operation))
{
    *operation = MS_NULL_NCCL_OPERATIONS;
    return MS_NULL_OK;
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(ncclSend) SUCCEEDS(ncclGroupSimulateEnd) SUCCEEDS(ncclRedOpDestroy)
SUCCEEDS(ncclCommAbort) SUCCEEDS(ncclCommDestroy) SUCCEEDS(ncclCommFinalize) SUCCEEDS(ncclCommRevoke)
SUCCEEDS(ncclCommDeregister) SUCCEEDS(ncclCommWindowDeregister)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NCCL_INVALID_USAGE)
UNCOVERED(ncclDevCommCreate) UNCOVERED(ncclDevCommDestroy)
    /* clang-format on */
