/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/allocator_findings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text/number.h"
#include "base/text/size.h"
#include "decide/ledger/ledger.h"

/* ---- cached ---- */

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

/* ---- the pieces at the peak ---- */

/* Whether the segments at the end of the step are those of the peak, and a block in use is a
 * storage that is alive: none waits for another stream. */
static bool has_same_segments(const ms_ledger *ledger)
{
    const ms_usage *usage = ledger->usage;
    const uint32_t first = usage->steady_first_event;
    if (!ledger->simulated || usage->allocator.kind != MS_ALLOCATOR_CUDA || usage->steady_retries ||
        !usage->reserved_bytes || ledger->simulation->trace.uses.count)
        return false;
    for (uint32_t i = usage->peak_event + 1; i < usage->steady_end_event; i++)
        if (usage->reserved_bytes[i - first] != usage->reserved_bytes[usage->peak_event - first] ||
            ledger->simulation->trace.events.items[i].kind == MS_EVENT_EMPTY_CACHE)
            return false;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const ms_allocator_piece *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The blocks of what is alive at the peak, by their addresses. */
static bool list_held(const ms_ledger *ledger, ms_allocator_pieces *held)
{
    const ms_usage *usage = ledger->usage;
    for (uint32_t i = 0; i < ledger->simulated->peak.storages.count; i++) {
        uint32_t storage = ledger->simulated->peak.storages.items[i];
        const ms_allocator_piece piece = {.address = usage->addresses[storage],
                                          .bytes = usage->block_bytes[storage],
                                          .is_held = true};
        if (piece.bytes && !ms_vec_push(held, piece))
            return false;
    }
    if (held->count)
        qsort(held->items, held->count, sizeof *held->items, by_address);
    return true;
}

/* Appends the blocks of a segment from `next` on, and what is free between them. */
static bool list_segment(const ms_allocator_pieces *held, uint32_t *next, uint64_t begin,
                         uint64_t end, ms_allocator_pieces *pieces)
{
    bool begins = true;
    for (uint64_t at = begin; at < end; begins = false) {
        const bool has_more = *next < held->count && held->items[*next].address < end;
        const uint64_t until = has_more ? held->items[*next].address : end;
        ms_allocator_piece piece = {.address = at, .bytes = until - at};
        if (until == at)
            piece = held->items[(*next)++];
        piece.begins_segment = begins;
        at += piece.bytes;
        if (!ms_vec_push(pieces, piece))
            return false;
    }
    return true;
}

/* Without playing the trace again. */
static bool list_pieces(const ms_ledger *ledger, ms_allocator_pieces *pieces)
{
    const ms_allocator_pieces *last = &ledger->usage->pieces;
    ms_allocator_pieces held = {0};
    uint32_t next = 0;
    bool ok = list_held(ledger, &held);
    for (uint32_t i = 0, end; i < last->count && ok; i = end) {
        for (end = i + 1; end < last->count && !last->items[end].begins_segment;)
            end++;
        const ms_allocator_piece *final = &last->items[end - 1];
        ok = list_segment(&held, &next, last->items[i].address, final->address + final->bytes,
                          pieces);
    }
    ms_vec_free(&held);
    return ok;
}

static ms_status find_pieces(const ms_ledger *ledger, ms_allocator_pieces *pieces, ms_error *err)
{
    if (!has_same_segments(ledger))
        return ms_usage_pieces_at(&ledger->simulation->trace, &ledger->usage->allocator,
                                  ledger->usage->peak_event, pieces, err);
    return list_pieces(ledger, pieces)
               ? MS_OK
               : ms_fail(err, MS_ERR_NOMEM, "no memory for the allocator's segments");
}

ms_status ms_cached_find(const ms_ledger *ledger, ms_cached_pieces *cached, ms_error *err)
{
    ms_allocator_pieces pieces = {0};
    *cached = (ms_cached_pieces){0};
    ms_status status = find_pieces(ledger, &pieces, err);
    if (status == MS_OK &&
        !(collect(&pieces, false, &cached->rests) && collect(&pieces, true, &cached->segments)))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for what the allocator caches");
    ms_vec_free(&pieces);
    return status;
}

/* ---- finding ---- */

const char *ms_telling_size(const ms_telling *f, uint64_t bytes)
{
    char text[MS_SIZE_TEXT_BYTES];
    const char *kept = ms_arena_strdup(f->arena, ms_size_format(bytes, text, sizeof text));
    return kept ? kept : "";
}

const char *ms_telling_remedies(const ms_telling *f)
{
    const char *text = "";
    for (uint32_t i = 0; i < f->found.remedy_count && text; i++) {
        const ms_remedy *r = &f->found.remedies[i];
        int64_t saved = r->saved_device_bytes;
        const char *much = saved == 0  ? "as much"
                           : saved > 0 ? ms_telling_size(f, (uint64_t)saved)
                                       : ms_telling_size(f, (uint64_t)-saved);
        text = ms_arena_printf(f->arena, "%s%s%s needs %s%s", text, i ? ", " : "", r->option, much,
                               saved == 0  ? ""
                               : saved > 0 ? " less"
                                           : " more");
    }
    return text ? text : "";
}

/* ---- allocator findings ---- */

/* What is cached has a floor, as segments of 20 MiB are much of a small run. */
enum { LEAST_CACHED_BYTES = 256 << 20 };

static uint64_t cached_bytes(const ms_ledger *ledger)
{
    const ms_summary *s = ledger->summary;
    return s->reserved_memory_bytes > s->peak_memory_bytes
               ? s->reserved_memory_bytes - s->peak_memory_bytes
               : 0;
}

bool ms_allocator_is_built_most(const ms_ledger *ledger)
{
    uint64_t built = ledger->usage->build_reserved_bytes, bytes = cached_bytes(ledger);
    return ledger->run->parallel.build == MS_BUILD_DEVICE &&
           ms_layout_shards(&ledger->run->parallel.layout) && bytes >= LEAST_CACHED_BYTES &&
           built > ledger->summary->reserved_memory_bytes / 10 * 9 &&
           built > ledger->summary->peak_memory_bytes;
}

ms_status ms_allocator_tell_built(ms_telling *f)
{
    f->found.bytes = f->ledger->usage->build_reserved_bytes;
    f->found.text =
        ms_arena_printf(f->arena,
                        "%s are reserved while each device builds the whole model, before it is "
                        "divided, and stay reserved: more GPUs do not reduce this",
                        ms_telling_size(f, f->found.bytes));
    return MS_OK;
}

bool ms_allocator_caches_much(const ms_ledger *ledger)
{
    uint64_t bytes = cached_bytes(ledger);
    return !ms_allocator_is_built_most(ledger) && ledger->run->allocator.kind != MS_ALLOCATOR_RAW &&
           bytes >= LEAST_CACHED_BYTES &&
           bytes > ledger->summary->peak_memory_bytes / MS_FINDING_WORTH;
}

/* "never", "once", "4 times", in the arena. */
static const char *times(const ms_telling *f, uint64_t count)
{
    if (count < 2)
        return count ? "once" : "never";
    const char *text = ms_arena_printf(f->arena, "%" PRIu64 " times", count);
    return text ? text : "";
}

/* "3.40 GiB in free parts of segments in use (2 x 1.60 GiB, 16.00 MiB, ...)"; "" for what is a
 * small part of it all. */
static const char *pieces_text(const ms_telling *f, const ms_cached *cached, uint64_t all_bytes,
                               const char *what)
{
    const char *sizes = "", *text = "";
    if (cached->bytes < all_bytes / MS_FINDING_WORTH || cached->bytes == 0)
        return text;
    for (uint32_t i = 0; i < cached->size_count && sizes; i++) {
        const ms_cached_size *s = &cached->sizes[i];
        const char *times =
            s->count > 1 ? ms_arena_printf(f->arena, "%" PRIu32 " x ", s->count) : "";
        sizes = ms_arena_printf(f->arena, "%s%s%s%s", sizes, i ? ", " : "", times ? times : "",
                                ms_telling_size(f, s->bytes));
    }
    if (sizes)
        text = ms_arena_printf(f->arena, "%s %s (%s%s)", ms_telling_size(f, cached->bytes), what,
                               sizes, cached->has_more ? ", ..." : "");
    return text ? text : "";
}

ms_status ms_allocator_tell_cached(ms_telling *f)
{
    ms_cached_pieces cached;
    uint64_t bytes = cached_bytes(f->ledger);
    uint32_t permille = ms_permille(bytes, f->ledger->summary->peak_memory_bytes);
    ms_status status = ms_cached_find(f->ledger, &cached, f->err);
    if (status != MS_OK)
        return status;
    uint64_t all_bytes = cached.rests.bytes + cached.segments.bytes;
    const char *rests =
        pieces_text(f, &cached.rests, all_bytes, "in free parts of partly used segments");
    const char *segments = pieces_text(f, &cached.segments, all_bytes, "in unused whole segments");
    const char *remedies = ms_telling_remedies(f);
    f->found.bytes = bytes;
    f->found.text =
        ms_arena_printf(f->arena,
                        "the allocator reserves %s (%" PRIu32 ".%" PRIu32
                        " %%) more than the step allocates at its peak, where it caches %s%s%s%s%s",
                        ms_telling_size(f, bytes), permille / 10, permille % 10, rests,
                        *rests && *segments ? ", " : "", segments, *remedies ? ": " : "", remedies);
    return MS_OK;
}

bool ms_allocator_retries(const ms_ledger *ledger)
{
    return ledger->usage->retries > 0 && ledger->summary->fits;
}

ms_status ms_allocator_tell_retries(ms_telling *f)
{
    const ms_usage *usage = f->ledger->usage;
    uint64_t before = usage->retries - usage->steady_retries;
    const char *given = "", *other = "", *price = "";
    f->found.bytes = usage->steady_retry_bytes;
    if (usage->steady_retry_bytes)
        given = ms_arena_printf(f->arena, " (%s)", ms_telling_size(f, usage->steady_retry_bytes));
    if (f->found.remedy_count)
        other = ms_arena_printf(f->arena, "; with %s: %s", f->found.remedies[0].option,
                                times(f, f->found.remedies[0].retries));
    if (usage->steady_retries)
        price = ms_arena_printf(f->arena,
                                "; the step's time includes %" PRIu64
                                " ms for this, but not the waiting for the device",
                                (uint64_t)(ms_usage_retry_ms(usage) + 0.5));
    f->found.text = ms_arena_printf(
        f->arena,
        "the allocator returns cached memory to the device: %s in a steady step%s, %s before "
        "it%s%s",
        times(f, usage->steady_retries), given ? given : "", times(f, before), price ? price : "",
        other ? other : "");
    return MS_OK;
}
