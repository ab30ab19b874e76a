/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies: what small ones wrote is remembered, so that a program gets back what it put there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nulldevice/nulldevice.h"
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

/* What is remembered of all those addresses, or NULL. */
static const char *recall(const void *from, uint64_t bytes)
{
    const ms_null_range *range = ms_null_ranges_find(&remembered, (uintptr_t)from);
    if (!range || (uintptr_t)from + bytes > range->start + range->bytes)
        return NULL;
    return (const char *)range->data + ((uintptr_t)from - range->start);
}

static void copy_within(void *to, const void *from, uint64_t bytes)
{
    char *copy = NULL;
    pthread_mutex_lock(&lock);
    const char *data = recall(from, bytes);
    if (data && bytes > 0 && (copy = malloc(bytes)) != NULL)
        memcpy(copy, data, bytes);
    if (copy)
        remember(to, copy, bytes);
    else
        forget((uintptr_t)to, bytes);
    pthread_mutex_unlock(&lock);
    free(copy);
}

/* What the calling thread's next copy of that many bytes to the host returns. */
static _Thread_local struct {
    uint64_t bytes; /* 0: nothing */
    char data[64];
} answer;

MS_NULL_CALL(void, memscope_null_answer, (const void *data, uint64_t bytes))
{
    answer.bytes = bytes <= sizeof answer.data ? bytes : 0;
    if (answer.bytes > 0)
        memcpy(answer.data, data, answer.bytes);
}

static bool take_answer(void *to, uint64_t bytes)
{
    if (answer.bytes == 0 || answer.bytes != bytes)
        return false;
    memcpy(to, answer.data, bytes);
    answer.bytes = 0;
    return true;
}

/* Large buffers stay untouched: they would cost host memory, and no decision depends on them. */
static void copy_out(void *to, const void *from, uint64_t bytes)
{
    if (take_answer(to, bytes))
        return; /* the caller knows of it */
    pthread_mutex_lock(&lock);
    const char *data = recall(from, bytes);
    if (data)
        memcpy(to, data, bytes);
    else if (bytes <= MS_NULL_REMEMBERED_BYTES)
        memset(to, 0, bytes);
    pthread_mutex_unlock(&lock);
    if (ms_null_listening()->read)
        ms_null_listening()->read(from, bytes, data != NULL);
}

void ms_null_copy(void *to, const void *from, uint64_t bytes)
{
    bool to_device = ms_null_device_of(to) >= 0, from_device = ms_null_device_of(from) >= 0;
    if (to_device && from_device) {
        copy_within(to, from, bytes);
    } else if (to_device) {
        pthread_mutex_lock(&lock);
        remember(to, from, bytes);
        pthread_mutex_unlock(&lock);
    } else if (from_device) {
        copy_out(to, from, bytes);
    } else {
        memmove(to, from, bytes);
    }
}

/* Counters are often filled before a kernel counts in them: what was filled is not remembered. */
void ms_null_fill(void *to, int value, uint64_t bytes)
{
    if (ms_null_device_of(to) >= 0)
        ms_null_forget(to, bytes);
    else
        memset(to, value, bytes);
}
