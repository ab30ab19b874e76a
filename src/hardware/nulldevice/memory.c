/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device memory: a range of addresses per device, which is never accessed, and a count of the bytes
 * in use. Managed memory is the host's: its pages move to a device that uses them, as far as there
 * is room, so that it counts on no device.
 */
#define _GNU_SOURCE /* for MAP_ANONYMOUS; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "hardware/nulldevice/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hardware/nulldevice/ledger.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/ranges.h"
#include "hardware/nulldevice/remembered.h"

#define SPACE_BYTES (UINT64_C(1) << 42) /* of a device */
#define GRANULE UINT64_C(0x200000)      /* what CUDA gives memory in */
enum { PAGE_BYTES = 4096 };

typedef struct space {
    uintptr_t start,
        next; /* where the next search begins: addresses come again as late as can be */
    uint64_t used_bytes;
    ms_null_ranges ranges;
} space;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static space spaces[MS_NULL_MAX_DEVICES];
static ms_null_ranges pinned, taken; /* taken: by handle, what is not at an address */
static ms_null_ranges managed;       /* with the device as data */
static uint64_t managed_bytes, most_managed_bytes;
static uintptr_t next_handle = 1;

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

static space *open_space(int device)
{
    space *s = &spaces[device];
    if (s->start)
        return s;
    void *p = mmap(NULL, SPACE_BYTES + GRANULE, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    s->start = s->next = round_up((uintptr_t)p, GRANULE);
    return s;
}

/* First gap from `from` on that is large enough; 0 when there is none. */
static uintptr_t find_gap(const space *s, uintptr_t from, uint64_t bytes)
{
    for (size_t i = ms_null_ranges_at(&s->ranges, from); i < s->ranges.count; i++) {
        const ms_null_range *range = &s->ranges.items[i];
        if (range->start >= from && range->start - from >= bytes)
            return from;
        from = range->start + range->bytes;
    }
    return from <= s->start + SPACE_BYTES && s->start + SPACE_BYTES - from >= bytes ? from : 0;
}

static void *place(space *s, uint64_t bytes)
{
    uintptr_t at = find_gap(s, s->next, bytes);
    if (!at)
        at = find_gap(s, s->start, bytes);
    if (!at || !ms_null_ranges_insert(&s->ranges, (ms_null_range){at, bytes, NULL}))
        return NULL;
    s->next = at + bytes;
    return (void *)at;
}

/* Removes the range that starts there and returns its size. */
static uint64_t displace(ms_null_ranges *ranges, uintptr_t start)
{
    size_t at = ms_null_ranges_at(ranges, start);
    if (at == ranges->count || ranges->items[at].start != start)
        return 0;
    uint64_t bytes = ranges->items[at].bytes;
    ms_null_ranges_remove(ranges, at);
    return bytes;
}

static bool has_room(const space *s, uint64_t bytes)
{
    uint64_t total = ms_null_device_get()->bytes;
    return bytes <= total && s->used_bytes <= total - bytes;
}

void *ms_null_allocate(int device, uint64_t bytes)
{
    void *address = NULL;
    uint64_t granted = round_up(bytes, GRANULE);
    pthread_mutex_lock(&lock);
    space *s = open_space(device);
    if (s && bytes <= SPACE_BYTES && has_room(s, granted)) {
        address = place(s, granted);
        s->used_bytes += address ? granted : 0;
    }
    pthread_mutex_unlock(&lock);
    if (address)
        ms_null_note_taken(MS_NULL_OF_DEVICE, device, (uintptr_t)address, bytes, granted);
    else
        ms_null_note_refused(MS_NULL_OF_DEVICE, device, bytes);
    return address;
}

static void free_managed(const void *address);

void ms_null_free(const void *address)
{
    int device = ms_null_device_of(address);
    if (device < 0) {
        free_managed(address);
        return;
    }
    pthread_mutex_lock(&lock);
    uint64_t bytes = displace(&spaces[device].ranges, (uintptr_t)address);
    spaces[device].used_bytes -= bytes;
    pthread_mutex_unlock(&lock);
    ms_null_forget(address, bytes);
    if (bytes)
        ms_null_note_given_back(MS_NULL_OF_DEVICE, device, (uintptr_t)address);
}

void *ms_null_reserve(int device, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    space *s = open_space(device);
    void *address = s && bytes <= SPACE_BYTES ? place(s, round_up(bytes, GRANULE)) : NULL;
    pthread_mutex_unlock(&lock);
    return address;
}

void ms_null_unreserve(const void *address)
{
    int device = ms_null_device_of(address);
    if (device < 0)
        return;
    pthread_mutex_lock(&lock);
    uint64_t bytes = displace(&spaces[device].ranges, (uintptr_t)address);
    pthread_mutex_unlock(&lock);
    ms_null_forget(address, bytes);
}

uint64_t ms_null_take(int device, uint64_t bytes)
{
    uint64_t handle = 0;
    pthread_mutex_lock(&lock);
    space *s = open_space(device);
    /* A range one address long: its data is the size, its place the handle and the device. */
    uintptr_t key = next_handle * MS_NULL_MAX_DEVICES + (uintptr_t)device;
    if (s && has_room(s, bytes) &&
        ms_null_ranges_insert(&taken, (ms_null_range){key, 1, (void *)(uintptr_t)bytes})) {
        s->used_bytes += bytes;
        next_handle++;
        handle = key;
    }
    pthread_mutex_unlock(&lock);
    if (handle)
        ms_null_note_taken(MS_NULL_OF_HANDLE, device, handle, bytes, bytes);
    else
        ms_null_note_refused(MS_NULL_OF_HANDLE, device, bytes);
    return handle;
}

void ms_null_give_back(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    const ms_null_range *range = ms_null_ranges_find(&taken, (uintptr_t)handle);
    if (range) {
        spaces[handle % MS_NULL_MAX_DEVICES].used_bytes -= (uintptr_t)range->data;
        displace(&taken, (uintptr_t)handle);
    }
    pthread_mutex_unlock(&lock);
    if (range)
        ms_null_note_given_back(MS_NULL_OF_HANDLE, (int)(handle % MS_NULL_MAX_DEVICES), handle);
}

uint64_t ms_null_free_bytes(int device)
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = ms_null_device_get()->bytes - spaces[device].used_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

int ms_null_device_of(const void *address)
{
    for (int i = 0; i < MS_NULL_MAX_DEVICES; i++)
        if (spaces[i].start && (uintptr_t)address - spaces[i].start < SPACE_BYTES)
            return i;
    return -1;
}

/* ---- of the host ---- */

void *ms_null_pin(uint64_t bytes)
{
    void *address = NULL;
    if (bytes > SPACE_BYTES ||
        posix_memalign(&address, PAGE_BYTES, round_up(bytes, PAGE_BYTES)) != 0)
        return NULL;
    pthread_mutex_lock(&lock);
    bool kept = ms_null_ranges_insert(
        &pinned, (ms_null_range){(uintptr_t)address, round_up(bytes, PAGE_BYTES), NULL});
    pthread_mutex_unlock(&lock);
    if (kept) {
        ms_null_note_taken(MS_NULL_OF_HOST, 0, (uintptr_t)address, bytes,
                           round_up(bytes, PAGE_BYTES));
        return address;
    }
    free(address);
    return NULL;
}

void ms_null_unpin(void *address)
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = displace(&pinned, (uintptr_t)address);
    pthread_mutex_unlock(&lock);
    if (!bytes)
        return;
    ms_null_note_given_back(MS_NULL_OF_HOST, 0, (uintptr_t)address);
    free(address);
}

bool ms_null_is_pinned(const void *address)
{
    pthread_mutex_lock(&lock);
    bool found = ms_null_ranges_find(&pinned, (uintptr_t)address);
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- of both ---- */

void *ms_null_manage(uint64_t bytes)
{
    uintptr_t device = (uintptr_t)ms_null_current_device();
    uint64_t granted = round_up(bytes, GRANULE);
    if (bytes > SPACE_BYTES)
        return NULL;
    void *address = mmap(NULL, granted, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&lock);
    bool kept = ms_null_ranges_insert(&managed,
                                      (ms_null_range){(uintptr_t)address, granted, (void *)device});
    managed_bytes += kept ? granted : 0;
    if (managed_bytes > most_managed_bytes)
        most_managed_bytes = managed_bytes;
    pthread_mutex_unlock(&lock);
    if (!kept) {
        munmap(address, granted);
        return NULL;
    }
    ms_null_note_taken(MS_NULL_OF_DEVICE, (int)device, (uintptr_t)address, bytes, granted);
    return address;
}

static void free_managed(const void *address)
{
    int device = ms_null_manager_of(address);
    pthread_mutex_lock(&lock);
    uint64_t bytes = displace(&managed, (uintptr_t)address);
    managed_bytes -= bytes;
    pthread_mutex_unlock(&lock);
    if (!bytes)
        return;
    ms_null_note_given_back(MS_NULL_OF_DEVICE, device, (uintptr_t)address);
    munmap((void *)(uintptr_t)address, bytes);
}

int ms_null_manager_of(const void *address)
{
    pthread_mutex_lock(&lock);
    const ms_null_range *range = ms_null_ranges_find(&managed, (uintptr_t)address);
    int device = range ? (int)(uintptr_t)range->data : -1;
    pthread_mutex_unlock(&lock);
    return device;
}

/* The most that the process has had at once, with what the device rounds up. */
MS_NULL_CALL(uint64_t, memscope_null_managed_bytes, (void))
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = most_managed_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}
