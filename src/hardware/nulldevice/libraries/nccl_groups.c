/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Groups of NCCL's calls: what ranks that do the same send each other is known at a group's end.
 */
#include <stdlib.h>

#include "hardware/nulldevice/copies.h"
#include "hardware/nulldevice/libraries/nccl_types.h"
#include "hardware/nulldevice/libraries/nccl_values.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

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
static _Thread_local unsigned depth;
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

/* ---- broadcasts: also of what each rank has, in a group that has one from each ---- */

typedef struct broadcast {
    const void *from;
    void *to;
    uint64_t bytes;
    int root;
    const void *handle;
} broadcast;

/* Of the group that the calling thread has begun. */
static _Thread_local struct {
    broadcast *rows;
    size_t count, capacity;
} grouped;

static bool is_own(const broadcast *b)
{
    return b->root == ms_null_rank_of(b->handle);
}

/* What another rank sends is what this one sends in the same group; with nothing sent here, what
 * this one has there already. */
static void receive(const broadcast *b)
{
    const void *from = is_own(b) ? b->from : b->to;
    for (size_t i = 0; i < grouped.count && !is_own(b); i++) {
        const broadcast *own = &grouped.rows[i];
        if (is_own(own) && own->handle == b->handle && own->bytes == b->bytes)
            from = own->from;
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

static void hand_out(void)
{
    for (size_t i = 0; i < grouped.count; i++)
        receive(&grouped.rows[i]);
    free(grouped.rows);
    grouped.rows = NULL;
    grouped.count = grouped.capacity = 0;
}

/* ---- the calls ---- */

MS_NULL_CALL(int, ncclGroupStart, (void))
{
    depth++;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, ncclGroupEnd, (void))
{
    if (depth == 0)
        return MS_NULL_NCCL_INVALID_USAGE;
    if (--depth > 0)
        return MS_NULL_OK;
    deliver();
    hand_out();
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

MS_NULL_CALL(int, ncclBroadcast,
             (const void *from, void *to, size_t count, int type, int root, void *handle))
{
    broadcast b = {from, to, ms_null_nccl_bytes(count, type), root, handle};
    if (depth == 0 || !put_off(&b))
        receive(&b);
    return MS_NULL_OK;
}
