/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Addresses come from the system, and memory in whole pages, which is what is counted.
 */
#define _GNU_SOURCE /* for MAP_ANONYMOUS; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "hardware/replay/host_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_BYTES (UINT64_C(1) << 46) /* of addresses, in one piece */
#define PAGE_BYTES UINT64_C(4096)
#define NO_ADDRESSES "no addresses for %" PRIu64 " bytes"

/* ---- what there is ---- */

/* The number after a word at the beginning of a line, in units; `none` when there is none. */
static uint64_t read_figure(const char *path, const char *word, uint64_t unit, uint64_t none)
{
    char line[160];
    uint64_t found = none;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0) {
            char *end = NULL, *digits = line + strlen(word);
            unsigned long long value = strtoull(digits, &end, 10);
            if (end > digits)
                found = (uint64_t)value * unit;
            break;
        }
    if (file)
        fclose(file);
    return found;
}

uint64_t ms_replay_memory_free_bytes(void)
{
    uint64_t machine = read_figure("/proc/meminfo", "MemAvailable:", 1024, 0);
    uint64_t limit = read_figure("/sys/fs/cgroup/memory.max", "", 1, UINT64_MAX);
    uint64_t used = read_figure("/sys/fs/cgroup/memory.current", "", 1, 0);
    uint64_t group = limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
    return machine && machine < group ? machine : group == UINT64_MAX ? 0 : group;
}

/* ---- memory of the device ---- */

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static ms_status take(ms_host_memory *m, uint64_t bytes, ms_error *err)
{
    if (bytes > m->capacity_bytes - m->used_bytes)
        return ms_fail(err, MS_ERR_OVER_BUDGET,
                       "the host backend has %" PRIu64 " bytes, of which %" PRIu64 " are in use: "
                       "%" PRIu64 " more do not fit",
                       m->capacity_bytes, m->used_bytes, bytes);
    if (m->limit_bytes && m->used_bytes + bytes > m->limit_bytes - m->host_bytes)
        return ms_fail(err, MS_ERR_NOMEM, "the machine has no %" PRIu64 " bytes of memory left",
                       bytes);
    m->used_bytes += bytes;
    return MS_OK;
}

/* The system puts memory behind a page when it is first written, which takes time: now, and not in
 * what is measured. Where nothing is written, none is needed. */
static void touch(const ms_host_memory *m, uint64_t address, uint64_t bytes)
{
    volatile char *page = ms_replay_pointer(address);
    if (!m->limit_bytes)
        return;
#ifdef MADV_POPULATE_WRITE
    if (madvise(ms_replay_pointer(address), bytes, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
        page[at] = 0;
}

/* At a multiple of `alignment`, which is one of pages. */
static void *find_addresses(uint64_t bytes, uint64_t alignment, int protection)
{
    uint64_t all = bytes + alignment;
    char *begin = mmap(NULL, all, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
        return NULL;
    uint64_t head = (alignment - (uintptr_t)begin % alignment) % alignment;
    if (head > 0)
        munmap(begin, head);
    munmap(begin + head + bytes, alignment - head);
    return begin + head;
}

/* ---- segments ---- */

/* Many times the capacity, so that addresses come again late, as far as a process has them. */
static bool open_space(ms_host_memory *m)
{
    enum { TIMES = 64 };
    static const uint64_t most = MOST_BYTES / 2;
    uint64_t bytes = m->capacity_bytes < most / TIMES ? TIMES * m->capacity_bytes : most;
    const uint64_t least = m->capacity_bytes < most / TIMES ? m->capacity_bytes : most / TIMES;
    void *found = NULL;
    for (bytes = round_up(bytes); !found && bytes >= least; bytes = round_up(bytes / 2)) {
        found = find_addresses(bytes, PAGE_BYTES, PROT_NONE);
        m->space_bytes = bytes;
    }
    m->space = m->next = (uintptr_t)found;
    return found != NULL;
}

/* The place of the first gap that is large enough, from `from` on; UINT32_MAX when there is none.
 */
static uint32_t find_gap(const ms_host_memory *m, uint64_t from, uint64_t bytes, uint64_t *address)
{
    uint32_t i = 0;
    *address = from;
    for (; i < m->segments.count; i++) {
        const ms_host_range *range = &m->segments.items[i];
        if (range->address >= *address && range->address - *address >= bytes)
            return i;
        if (range->address + range->bytes > *address)
            *address = range->address + range->bytes;
    }
    return m->space + m->space_bytes - *address >= bytes ? i : UINT32_MAX;
}

static bool add_segment(ms_host_memory *m, uint64_t bytes, uint64_t *address)
{
    uint32_t at = UINT32_MAX;
    if ((!m->space && !open_space(m)) || !ms_vec_reserve(&m->segments))
        return false;
    if (m->next <= m->space + m->space_bytes)
        at = find_gap(m, m->next, bytes, address);
    if (at == UINT32_MAX)
        at = find_gap(m, m->space, bytes, address);
    if (at == UINT32_MAX ||
        mprotect(ms_replay_pointer(*address), bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    (void)ms_vec_push(&m->segments, (ms_host_range){0});
    memmove(&m->segments.items[at + 1], &m->segments.items[at],
            (m->segments.count - 1 - at) * sizeof *m->segments.items);
    m->segments.items[at] = (ms_host_range){*address, bytes};
    m->next = *address + bytes;
    touch(m, *address, bytes);
    return true;
}

/* Also where the system has no room for a mapping of its own. */
static void drop_pages(uint64_t address, uint64_t bytes)
{
    madvise(ms_replay_pointer(address), bytes, MADV_DONTNEED);
    mprotect(ms_replay_pointer(address), bytes, PROT_NONE);
}

static void drop_segment(ms_host_memory *m, uint64_t address, uint64_t bytes)
{
    uint32_t at = 0;
    while (m->segments.items[at].address != address)
        at++;
    m->segments.count--;
    memmove(&m->segments.items[at], &m->segments.items[at + 1],
            (m->segments.count - at) * sizeof *m->segments.items);
    if (mmap(ms_replay_pointer(address), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        drop_pages(address, bytes);
}

ms_status ms_replay_memory_reserve(ms_host_memory *m, ms_memory_kind kind, uint64_t bytes,
                                   uint64_t *address, ms_error *err)
{
    if (bytes > MOST_BYTES)
        return ms_fail(err, MS_ERR_OVERFLOW,
                       "a segment of %" PRIu64 " bytes has no room in the addresses of a process",
                       bytes);
    if (kind == MS_MEMORY_ADDRESSES) {
        *address = (uintptr_t)find_addresses(round_up(bytes), MS_MEMORY_ALIGNMENT, PROT_NONE);
        return *address ? MS_OK : ms_fail(err, MS_ERR_NOMEM, NO_ADDRESSES, bytes);
    }
    ms_status status = take(m, round_up(bytes), err);
    if (status != MS_OK || add_segment(m, round_up(bytes), address))
        return status;
    m->used_bytes -= round_up(bytes);
    return ms_fail(err, MS_ERR_NOMEM, NO_ADDRESSES, bytes);
}

void ms_replay_memory_release(ms_host_memory *m, ms_memory_kind kind, uint64_t address,
                              uint64_t bytes)
{
    if (kind == MS_MEMORY_ADDRESSES) {
        munmap(ms_replay_pointer(address), round_up(bytes));
        return;
    }
    drop_segment(m, address, round_up(bytes));
    m->used_bytes -= round_up(bytes);
}

void ms_replay_memory_free(ms_host_memory *m)
{
    if (m->space)
        munmap(ms_replay_pointer(m->space), m->space_bytes);
    ms_vec_free(&m->segments);
}

/* ---- pages ---- */

ms_status ms_replay_memory_map(ms_host_memory *m, uint64_t address, uint64_t bytes, ms_error *err)
{
    ms_status status = take(m, bytes, err);
    if (status != MS_OK)
        return status;
    if (mprotect(ms_replay_pointer(address), bytes, PROT_READ | PROT_WRITE) == 0) {
        touch(m, address, bytes);
        return MS_OK;
    }
    m->used_bytes -= bytes;
    return ms_fail(err, MS_ERR_NOMEM, "the system does not map %" PRIu64 " bytes", bytes);
}

void ms_replay_memory_unmap(ms_host_memory *m, uint64_t address, uint64_t bytes)
{
    drop_pages(address, bytes);
    m->used_bytes -= bytes;
}

/* ---- memory of the host ---- */

ms_status ms_replay_memory_pin(ms_host_memory *m, uint64_t bytes, void **pinned, ms_error *err)
{
    bool fits =
        bytes <= MOST_BYTES &&
        (!m->limit_bytes || m->used_bytes + m->host_bytes + round_up(bytes) <= m->limit_bytes);
    *pinned = fits ? find_addresses(round_up(bytes), PAGE_BYTES, PROT_READ | PROT_WRITE) : NULL;
    if (!*pinned)
        return ms_fail(err, MS_ERR_NOMEM, "the machine has no %" PRIu64 " bytes of memory left",
                       bytes);
    m->host_bytes += round_up(bytes);
    touch(m, (uintptr_t)*pinned, bytes);
    return MS_OK;
}

void ms_replay_memory_unpin(ms_host_memory *m, void *pinned, uint64_t bytes)
{
    munmap(pinned, round_up(bytes));
    m->host_bytes -= round_up(bytes);
}
