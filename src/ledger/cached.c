/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/cached.h"

#include <stdlib.h>

/* A piece that begins a segment and is the last of it is the whole of it. */
static bool is_segment(const ms_allocator_pieces *pieces, uint32_t i)
{
    return pieces->items[i].begins_segment &&
           (i + 1 == pieces->count || pieces->items[i + 1].begins_segment);
}

/* Largest first. */
static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Keeps the list short and in order. */
static void offer(ms_cached *cached, ms_cached_size size)
{
    uint32_t at = cached->size_count;
    uint64_t together = size.bytes * size.count;
    cached->bytes += together;
    while (at > 0 && cached->sizes[at - 1].bytes * cached->sizes[at - 1].count < together)
        at--;
    cached->has_more = cached->size_count == MS_CACHED_SIZES;
    if (at == MS_CACHED_SIZES)
        return;
    cached->size_count += !cached->has_more;
    for (uint32_t i = cached->size_count - 1; i > at; i--)
        cached->sizes[i] = cached->sizes[i - 1];
    cached->sizes[at] = size;
}

static void sum_up(uint64_t *bytes, uint32_t count, ms_cached *cached)
{
    qsort(bytes, count, sizeof *bytes, by_size);
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && bytes[next] == bytes[first];)
            next++;
        offer(cached, (ms_cached_size){bytes[first], next - first});
    }
}

/* Free pieces that are whole segments, or that are not. */
static bool collect(const ms_allocator_pieces *pieces, bool whole, ms_cached *cached)
{
    uint32_t count = 0;
    uint64_t *bytes = malloc((pieces->count + 1) * sizeof *bytes);
    for (uint32_t i = 0; bytes && i < pieces->count; i++)
        if (!pieces->items[i].is_held && is_segment(pieces, i) == whole)
            bytes[count++] = pieces->items[i].bytes;
    if (bytes)
        sum_up(bytes, count, cached);
    free(bytes);
    return bytes != NULL;
}

ms_status ms_cached_find(const ms_ledger *ledger, ms_cached_pieces *cached, ms_error *err)
{
    ms_allocator_pieces pieces = {0};
    *cached = (ms_cached_pieces){0};
    ms_status status = ms_usage_pieces_at(&ledger->simulation->trace, &ledger->usage->allocator,
                                          ledger->usage->peak_event, &pieces, err);
    if (status == MS_OK &&
        !(collect(&pieces, false, &cached->rests) && collect(&pieces, true, &cached->segments)))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for what the allocator caches");
    ms_vec_free(&pieces);
    return status;
}
