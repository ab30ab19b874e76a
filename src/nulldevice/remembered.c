/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nulldevice/remembered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nulldevice/ranges.h"

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

/* Whether all those addresses are remembered, in one copy or in several that adjoin. */
static bool is_remembered(uintptr_t from, uint64_t bytes)
{
    uintptr_t at = from;
    for (size_t i = ms_null_ranges_at(&remembered, from); at < from + bytes; i++) {
        if (i == remembered.count || remembered.items[i].start > at)
            return false;
        at = remembered.items[i].start + remembered.items[i].bytes;
    }
    return true;
}

/* Of addresses that are. */
static void recall(char *to, uintptr_t from, uint64_t bytes)
{
    uint64_t done = 0;
    for (size_t i = ms_null_ranges_at(&remembered, from); done < bytes; i++) {
        const ms_null_range *range = &remembered.items[i];
        uint64_t skipped = from + done - range->start, part = range->bytes - skipped;
        if (part > bytes - done)
            part = bytes - done;
        memcpy(to + done, (const char *)range->data + skipped, part);
        done += part;
    }
}

void ms_null_remember_copy(void *to, const void *from, uint64_t bytes)
{
    char *copy = NULL;
    pthread_mutex_lock(&lock);
    if (bytes > 0 && is_remembered((uintptr_t)from, bytes) && (copy = malloc(bytes)) != NULL)
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
    bool is_known = is_remembered((uintptr_t)from, bytes);
    if (is_known)
        recall(to, (uintptr_t)from, bytes);
    pthread_mutex_unlock(&lock);
    return is_known;
}
