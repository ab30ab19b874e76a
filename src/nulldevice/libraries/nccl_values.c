/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nulldevice/libraries/nccl_values.h"

#include <stdlib.h>
#include <string.h>

#include "nulldevice/libraries/nccl_types.h"
#include "nulldevice/nulldevice.h"
#include "nulldevice/remembered.h"

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

/* ---- messages ---- */

typedef struct message {
    const void *handle;
    void *address;
    uint64_t bytes;
    int peer;
} message;

typedef struct messages {
    message *items;
    size_t count, capacity;
} messages;

/* Of the group that the calling thread has begun. */
static _Thread_local int depth;
static _Thread_local messages sent, awaited;

static bool add(messages *list, message m)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        message *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = m;
    return true;
}

static void clear(messages *list)
{
    free(list->items);
    *list = (messages){0};
}

/* What a rank that does the same sends here: of a message to every rank the one to this rank; of
 * a ring's the only one. NULL: not known. */
static const message *answer_to(const message *m, const message *to_self)
{
    const message *found = to_self;
    if (!found && sent.count == 1 && awaited.count == 1)
        found = &sent.items[0];
    return found && found->handle == m->handle && found->bytes == m->bytes ? found : NULL;
}

static void deliver(void)
{
    const message *to_self = NULL;
    for (size_t i = 0; i < sent.count; i++)
        if (sent.items[i].peer == ms_null_rank_of(sent.items[i].handle))
            to_self = &sent.items[i];
    for (size_t i = 0; i < awaited.count; i++) {
        const message *m = &awaited.items[i], *from = answer_to(m, to_self);
        if (from)
            ms_null_remember_copy(m->address, from->address, m->bytes);
        else
            ms_null_forget(m->address, m->bytes);
    }
    clear(&sent);
    clear(&awaited);
}

MS_NULL_CALL(int, ncclGroupStart, (void))
{
    depth++;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclGroupEnd, (void))
{
    if (depth > 0 && --depth == 0)
        deliver();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclSend, (void *from, size_t count, int type, int peer, const void *handle))
{
    message m = {handle, from, ms_null_nccl_bytes(count, type), peer};
    if (depth > 0)
        add(&sent, m);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclRecv, (void *to, size_t count, int type, int peer, const void *handle))
{
    message m = {handle, to, ms_null_nccl_bytes(count, type), peer};
    if (depth == 0 || !add(&awaited, m))
        ms_null_forget(to, m.bytes);
    return MS_NULL_OK;
}
