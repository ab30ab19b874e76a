/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/allocator_findings.h"

#include <inttypes.h>

#include "base/text/number.h"
#include "base/text/size.h"
#include "decide/ledger/cached.h"

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
                        "%s are reserved while the whole model is built on each device, before it "
                        "is divided, and stay reserved: more GPUs need no less",
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
        pieces_text(f, &cached.rests, all_bytes, "in free parts of segments in use");
    const char *segments =
        pieces_text(f, &cached.segments, all_bytes, "in whole segments of freed tensors");
    const char *remedies = ms_telling_remedies(f);
    f->found.bytes = bytes;
    f->found.text =
        ms_arena_printf(f->arena,
                        "the allocator reserves %s (%" PRIu32 ".%" PRIu32
                        " %%) more than the step allocates at its peak, when it caches %s%s%s%s%s",
                        ms_telling_size(f, bytes), permille / 10, permille % 10, rests,
                        *rests && *segments ? ", " : "", segments, *remedies ? ": " : "", remedies);
    return MS_OK;
}

bool ms_allocator_retries(const ms_ledger *ledger)
{
    return ledger->usage->retries > 0 && ledger->summary->fits;
}

/* "never", "once", "4 times", in the arena. */
static const char *times(const ms_telling *f, uint64_t count)
{
    if (count < 2)
        return count ? "once" : "never";
    const char *text = ms_arena_printf(f->arena, "%" PRIu64 " times", count);
    return text ? text : "";
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
                                "; the step's time has %" PRIu64 " ms for this, not the waiting "
                                "for the device",
                                (uint64_t)(ms_usage_retry_ms(usage) + 0.5));
    f->found.text = ms_arena_printf(
        f->arena,
        "the allocator returns cached memory to the device: %s in a steady step%s, %s before "
        "it%s%s",
        times(f, usage->steady_retries), given ? given : "", times(f, before), price ? price : "",
        other ? other : "");
    return MS_OK;
}
