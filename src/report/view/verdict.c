/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/verdict.h"

#include <inttypes.h>

#include "report/view/fit_words.h"
#include "report/view/inputs.h"

/* The devices that the verdict is of: "h100-80gb", "each of 8 x h100-80gb" where ranks need the
 * same, or one rank of several. */
static const char *devices(const ms_view *view)
{
    const ms_run_config *run = view->ledger->run;
    const ms_parallel *parallel = &run->parallel;
    uint64_t world = ms_layout_world(&parallel->layout);
    if (parallel->layout.kind == MS_PARALLEL_NONE)
        return run->device->name;
    if (parallel->ranks.count == 1)
        return ms_arena_printf(view->arena, "each of %" PRIu64 " x %s", world, run->device->name);
    return ms_arena_printf(view->arena, "rank %" PRIu64 " of %" PRIu64 " x %s", parallel->rank,
                           world, run->device->name);
}

/* When most is needed, unless it is in a steady step; and what the figure is without. */
static const char *when_most(const ms_summary *s)
{
    if (s->verdict == MS_VERDICT_UNKNOWN)
        return ", not counting what is not predicted";
    if (s->first_step_reserved_bytes > s->evaluation_reserved_bytes)
        return ", in the first step";
    if (s->evaluation_reserved_bytes > s->reserved_memory_bytes)
        return ", in the evaluation";
    return "";
}

/* Figures as the verdict tells them. */
typedef struct verdict_texts {
    const char *word, *device, *when;
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT], missing[MS_GIB_TEXT]; /* missing: "" if nothing */
} verdict_texts;

/* Where ranks need unequal memory and all were looked at: "fits on each of 8 x h100-80gb: rank 0
 * needs most, ...". */
static const char *verdict_of_worst(const ms_view *view, const verdict_texts *t)
{
    const ms_run_config *run = view->ledger->run;
    const char *device = run->device->name;
    uint64_t world = ms_layout_world(&run->parallel.layout), rank = run->parallel.rank;
    bool is_short = *t->missing != '\0';
    if (view->summary->budget_bytes == 0)
        return ms_arena_printf(view->arena,
                               "rank %" PRIu64 " of %" PRIu64
                               " needs the most, %s GiB%s (no budget was given)",
                               rank, world, t->need, t->when);
    if (view->summary->verdict == MS_VERDICT_NO)
        return ms_arena_printf(view->arena,
                               "does not fit: rank %" PRIu64 " of %" PRIu64
                               " x %s needs the most, %s of %s GiB%s%s%s%s",
                               rank, world, device, t->need, t->budget, t->when,
                               is_short ? ": short by about " : "", t->missing,
                               is_short ? " GiB" : "");
    return ms_arena_printf(view->arena,
                           "%s on each of %" PRIu64 " x %s: rank %" PRIu64
                           " needs the most, %s of %s GiB%s",
                           t->word, world, device, rank, t->need, t->budget, t->when);
}

static const char *verdict_of_one(const ms_view *view, const verdict_texts *t)
{
    if (view->summary->budget_bytes == 0)
        return ms_arena_printf(view->arena, "needs %s GiB%s (no budget was given)", t->need,
                               t->when);
    if (*t->missing)
        return ms_arena_printf(view->arena,
                               "does not fit: short by about %s GiB (needs %s of %s GiB on %s%s)",
                               t->missing, t->need, t->budget, t->device, t->when);
    return ms_arena_printf(view->arena, "%s: %s of %s GiB on %s%s", t->word, t->need, t->budget,
                           t->device, t->when);
}

const char *ms_view_verdict(const ms_view *view)
{
    const ms_summary *s = view->summary;
    verdict_texts t = {.word = s->verdict == MS_VERDICT_NO ? "does not fit"
                                                           : ms_fit_verdict_name(s->verdict),
                       .device = devices(view),
                       .when = when_most(s)};
    if (!t.device)
        return NULL;
    ms_gib(s->expected_device_bytes, t.need);
    ms_gib(s->budget_bytes, t.budget);
    if (s->verdict_reason == MS_FIT_OVER_BUDGET)
        ms_gib(s->expected_device_bytes - s->budget_bytes, t.missing);
    const char *verdict = view->ledger->run->parallel.ranks.count > 1 ? verdict_of_worst(view, &t)
                                                                      : verdict_of_one(view, &t);
    return ms_inputs_dated(view->arena, &view->ledger->run->keys, verdict);
}

/* Why it needs that much, and why the verdict is not a plain one. */
const char *ms_view_why(const ms_view *view)
{
    const ms_summary *s = view->summary;
    if (s->verdict == MS_VERDICT_UNKNOWN) {
        const char *unknown = ms_inputs_why(view->arena, &view->ledger->run->keys);
        return unknown ? ms_arena_printf(view->arena, "%s. Without it %s", unknown, view->peak_why)
                       : NULL;
    }
    const char *fit =
        ms_fit_why(view->arena, &(ms_fit_facts){.reason = s->verdict_reason,
                                                .budget_bytes = s->budget_bytes,
                                                .high_device_bytes = s->high_device_bytes,
                                                .retries = s->allocator_retries});
    if (!fit || !*fit)
        return fit ? view->peak_why : NULL;
    return ms_arena_printf(view->arena, "%s. %c%s", view->peak_why,
                           (char)(*fit >= 'a' && *fit <= 'z' ? *fit - 'a' + 'A' : *fit), fit + 1);
}
