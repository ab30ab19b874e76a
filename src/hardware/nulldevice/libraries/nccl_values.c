/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/nulldevice/libraries/nccl_values.h"

#include <stdlib.h>
#include <string.h>

#include "hardware/nulldevice/libraries/nccl_types.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

/* ---- communicators ---- */

enum { RANK_BITS = 24, RANK_MASK = (1 << RANK_BITS) - 1 };

void *ms_null_communicator(int ranks, int rank)
{
    return (void *)((uintptr_t)1 << 2 * RANK_BITS | (uintptr_t)(ranks & RANK_MASK) << RANK_BITS |
                    (uintptr_t)(rank & RANK_MASK));
}

int ms_null_ranks_of(const void *handle)
{
    return (int)((uintptr_t)handle >> RANK_BITS & RANK_MASK);
}

int ms_null_rank_of(const void *handle)
{
    return (int)((uintptr_t)handle & RANK_MASK);
}

uint64_t ms_null_nccl_bytes(size_t count, int type)
{
    bool is_known = type >= 0 && (size_t)type < sizeof ms_null_nccl_sizes;
    return is_known ? count * ms_null_nccl_sizes[type] : 0;
}

/* ---- sums ---- */

#define MULTIPLY(type)                                                                             \
    for (size_t i = 0; i < count; i++) {                                                           \
        type value;                                                                                \
        memcpy(&value, values + i * sizeof value, sizeof value);                                   \
        value = (type)(value * (type)ranks);                                                       \
        memcpy(values + i * sizeof value, &value, sizeof value);                                   \
    }                                                                                              \
    return true

/* Integers wrap, as they do on a device, where the sign does not matter. */
static bool multiply(char *values, size_t count, int type, int ranks)
{
    switch (type) {
    case MS_NULL_NCCL_INT8:
    case MS_NULL_NCCL_UINT8:
        MULTIPLY(uint8_t);
    case MS_NULL_NCCL_INT32:
    case MS_NULL_NCCL_UINT32:
        MULTIPLY(uint32_t);
    case MS_NULL_NCCL_INT64:
    case MS_NULL_NCCL_UINT64:
        MULTIPLY(uint64_t);
    case MS_NULL_NCCL_FLOAT32:
        MULTIPLY(float);
    case MS_NULL_NCCL_FLOAT64:
        MULTIPLY(double);
    default:
        return false;
    }
}

bool ms_null_sum(const void *from, void *to, size_t count, int type, int ranks)
{
    uint64_t bytes = ms_null_nccl_bytes(count, type);
    if (ranks == 0 || bytes == 0 || bytes > MS_NULL_REMEMBERED_BYTES)
        return false;
    char *values = malloc(bytes);
    bool is_known =
        values && ms_null_recall(values, from, bytes) && multiply(values, count, type, ranks);
    if (is_known)
        ms_null_remember(to, values, bytes);
    free(values);
    return is_known;
}
