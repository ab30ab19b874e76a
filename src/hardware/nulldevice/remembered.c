/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/nulldevice/remembered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/nulldevice/ranges.h"

#define MOST_BYTES (UINT64_C(1) << 30) /* beyond it all is forgotten */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ms_null_ranges remembered;
static uint64_t remembered_bytes;

static void drop(size_t index)
{
    remembered_bytes -= remembered.items[index].bytes;
    free(remembered.items[index].data);
    ms_null_ranges_remove(&remembered, index);
}

/* Of a copy that is partly overwritten the rest is forgotten too. */
static void forget(uintptr_t start, uint64_t bytes)
{
    size_t at = ms_null_ranges_at(&remembered, start);
    while (at < remembered.count && remembered.items[at].start < start + bytes)
        drop(at);
}

void ms_null_forget(const void *address, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    forget((uintptr_t)address, bytes);
    pthread_mutex_unlock(&lock);
}

static void remember(void *to, const void *from, uint64_t bytes)
{
    while (remembered.count > 0 && remembered_bytes > MOST_BYTES)
        drop(remembered.count - 1);
    void *data = bytes > 0 && bytes <= MS_NULL_REMEMBERED_BYTES ? malloc(bytes) : NULL;
    forget((uintptr_t)to, bytes);
    if (!data)
        return;
    memcpy(data, from, bytes);
    if (ms_null_ranges_insert(&remembered, (ms_null_range){(uintptr_t)to, bytes, data}))
        remembered_bytes += bytes;
    else
        free(data);
}

/* Whether all those addresses are remembered, which several copies may have written. */
static bool is_known(uintptr_t from, uint64_t bytes)
{
    uintptr_t end = from + bytes;
    for (size_t at = ms_null_ranges_at(&remembered, from); from < end; at++) {
        if (at == remembered.count || remembered.items[at].start > from)
            return false;
        from = remembered.items[at].start + remembered.items[at].bytes;
    }
    return true;
}

/* Of addresses that are known. */
static void recall(char *to, uintptr_t from, uint64_t bytes)
{
    for (size_t at = ms_null_ranges_at(&remembered, from); bytes > 0; at++) {
        const ms_null_range *range = &remembered.items[at];
        uint64_t offset = from - range->start, part = range->bytes - offset;
        part = part < bytes ? part : bytes;
        memcpy(to, (const char *)range->data + offset, part);
        to += part;
        from += part;
        bytes -= part;
    }
}

void ms_null_remember_copy(void *to, const void *from, uint64_t bytes)
{
    char *copy = NULL;
    pthread_mutex_lock(&lock);
    bool is_small = bytes > 0 && bytes <= MS_NULL_REMEMBERED_BYTES;
    if (is_small && is_known((uintptr_t)from, bytes) && (copy = malloc(bytes)) != NULL)
        recall(copy, (uintptr_t)from, bytes);
    if (copy)
        remember(to, copy, bytes);
    else
        forget((uintptr_t)to, bytes);
    pthread_mutex_unlock(&lock);
    free(copy);
}

void ms_null_remember(void *to, const void *from, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    remember(to, from, bytes);
    pthread_mutex_unlock(&lock);
}

bool ms_null_recall(void *to, const void *from, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    bool found = is_known((uintptr_t)from, bytes);
    if (found)
        recall(to, (uintptr_t)from, bytes);
    pthread_mutex_unlock(&lock);
    return found;
}
