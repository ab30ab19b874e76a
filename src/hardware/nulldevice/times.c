/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/nulldevice/times.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"

/* ---- how long work takes ---- */

#define LAUNCH_SECONDS 5e-6 /* the least that a kernel takes from one launch to the next */
enum { BYTES_OF_THREAD = 16 };

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double ms_null_time_of_bytes(uint64_t bytes)
{
    return LAUNCH_SECONDS + (double)bytes / ms_null_device_get()->bytes_per_s;
}

double ms_null_time_of_copy(const void *to, const void *from, uint64_t bytes)
{
    bool is_within = ms_null_device_of(to) >= 0 && ms_null_device_of(from) >= 0;
    double rate = ms_null_device_get()->link_bytes_per_s;
    return is_within ? ms_null_time_of_bytes(2 * bytes) : LAUNCH_SECONDS + (double)bytes / rate;
}

/* As if each thread moved what one instruction can move: it is so of PyTorch's elementwise kernels,
 * and too little for kernels in which threads loop. */
double ms_null_time_of_kernel(uint64_t threads)
{
    return ms_null_time_of_bytes(threads * BYTES_OF_THREAD);
}

double ms_null_time_of_products(double m, double n, double k, double count, double element_bytes)
{
    const ms_null_device *d = ms_null_device_get();
    double flops = element_bytes > 2 ? d->flops_of_32_bits : d->flops_of_16_bits;
    double moved = element_bytes * (m * k + k * n + m * n);
    return LAUNCH_SECONDS + count * larger(2 * m * n * k / flops, moved / d->bytes_per_s);
}

/* ---- clocks, by the handle of a stream or an event ---- */

typedef struct clock_row {
    uintptr_t key; /* 0: free */
    double seconds;
} clock_row;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clock_row *rows;
static size_t capacity, count; /* the capacity is a power of two, and at least twice the count */

/* The default stream of a device has three names, of which 0 cannot be a key. */
static uintptr_t key_of(const void *handle)
{
    enum { NAMES_OF_DEFAULT = 2 };
    uintptr_t key = (uintptr_t)handle;
    return key > NAMES_OF_DEFAULT ? key : 1 + (uintptr_t)ms_null_current_device();
}

static size_t home_of(uintptr_t key)
{
    return (key >> 4 ^ key >> 12 ^ key) & (capacity - 1);
}

static clock_row *find(uintptr_t key)
{
    for (size_t at = capacity ? home_of(key) : 0; capacity; at = (at + 1) & (capacity - 1))
        if (rows[at].key == key || rows[at].key == 0)
            return &rows[at];
    return NULL;
}

static double get(uintptr_t key)
{
    const clock_row *row = find(key);
    return row && row->key ? row->seconds : 0;
}

static bool grow(void)
{
    size_t old = capacity;
    clock_row *from = rows, *made = calloc(capacity ? 2 * capacity : 64, sizeof *made);
    if (!made)
        return false;
    rows = made;
    capacity = old ? 2 * old : 64;
    for (size_t i = 0; i < old; i++)
        if (from[i].key)
            *find(from[i].key) = from[i];
    free(from);
    return true;
}

/* Without memory the clock stands still. */
static void set(uintptr_t key, double seconds)
{
    if (2 * (count + 1) > capacity && !grow())
        return;
    clock_row *row = find(key);
    count += row->key == 0;
    *row = (clock_row){key, seconds};
}

/* Rows behind a gap that were moved on because of it move up. */
static void take_out(uintptr_t key)
{
    clock_row *row = find(key);
    if (!row || row->key == 0)
        return;
    size_t gap = (size_t)(row - rows), mask = capacity - 1;
    for (size_t at = (gap + 1) & mask; rows[at].key; at = (at + 1) & mask) {
        size_t home = home_of(rows[at].key);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            rows[gap] = rows[at];
            gap = at;
        }
    }
    rows[gap] = (clock_row){0};
    count--;
}

void ms_null_time_spend(const void *stream, double seconds)
{
    pthread_mutex_lock(&lock);
    set(key_of(stream), get(key_of(stream)) + seconds);
    pthread_mutex_unlock(&lock);
}

void ms_null_time_record(const void *event, const void *stream)
{
    pthread_mutex_lock(&lock);
    set((uintptr_t)event, get(key_of(stream)));
    pthread_mutex_unlock(&lock);
}

void ms_null_time_join(const void *stream, const void *event)
{
    pthread_mutex_lock(&lock);
    double recorded = get((uintptr_t)event);
    if (recorded > get(key_of(stream)))
        set(key_of(stream), recorded);
    pthread_mutex_unlock(&lock);
}

void ms_null_time_forget(const void *handle)
{
    pthread_mutex_lock(&lock);
    take_out((uintptr_t)handle);
    pthread_mutex_unlock(&lock);
}

double ms_null_time_between(const void *from, const void *to)
{
    pthread_mutex_lock(&lock);
    double seconds = get((uintptr_t)to) - get((uintptr_t)from);
    pthread_mutex_unlock(&lock);
    return larger(seconds, 0);
}
