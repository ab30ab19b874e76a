/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/check/wording.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "base/text/size.h"
#include "decide/check/verdict.h"

enum { MOST_PARTS = 4, MOST_FIELDS = 6 };

/* Text that grows; what no longer fits is dropped. */
typedef struct line {
    char text[1024];
    size_t used;
} line;

__attribute__((format(printf, 2, 3))) static void put(line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = ms_text_vprint(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    l->used += length > 0 ? (size_t)length : 0;
    if (l->used >= sizeof l->text)
        l->used = sizeof l->text - 1;
}

/* Whole bytes next to a size that is too coarse to show them. */
static void put_size(line *l, uint64_t bytes)
{
    char text[MS_SIZE_TEXT_BYTES];
    put(l, "%s", ms_size_format(bytes, text, sizeof text));
}

static void put_change(line *l, uint64_t was, uint64_t is)
{
    put(l, is < was ? "-" : "+");
    put_size(l, is < was ? was - is : is - was);
}

/* What is less than a plain yes, and what to do about it. */
static void put_fit(line *l, const ms_verdict *v)
{
    ms_fit_reason reason = v->report.reason;
    ms_fit_verdict verdict = ms_reason_verdict(reason);
    if (v->report.left_out.names && *v->report.left_out.names) {
        put(l, "%s%s: not predicted: %.300s (memscope analyze says where; --assume KEY=harmless)",
            l->used ? "; " : "",
            v->outcome == MS_OUTCOME_UNKNOWN ? "unknown" : "with any other settings",
            v->report.left_out.names);
        return;
    }
    if (!v->report.has_reason || verdict == MS_VERDICT_FITS)
        return;
    /* How to make it fit, `infer` says itself. */
    bool has_advice = !v->report.is_inference;
    put(l, "%s%s on %.64s: %s%s%s", l->used ? "; " : "",
        verdict == MS_VERDICT_TIGHT ? "tight" : "does not fit", v->report.device,
        ms_fit_reason_text(reason), has_advice ? "; " : "",
        has_advice ? ms_fit_reason_advice(reason) : "");
}

const char *ms_verdict_text(ms_arena *arena, const ms_verdict *v)
{
    line l = {.used = 0};
    if (v->outcome == MS_OUTCOME_FAILED)
        return ms_arena_strdup(arena, v->error.text);
    for (uint32_t i = 0; i < v->breach_count; i++) {
        const ms_breach *b = &v->breaches[i];
        if (b->is_warning && v->outcome == MS_OUTCOME_OVER)
            continue;
        put(&l, "%s%s %s is exceeded by ", i ? "; " : "", b->key, b->limit->text);
        put_size(&l, v->used_bytes - b->limit_bytes);
        put(&l, " (%" PRIu64 " bytes)", v->used_bytes - b->limit_bytes);
    }
    put_fit(&l, v);
    const char *between = l.used ? "; " : "";
    if (v->outcome == MS_OUTCOME_SKIPPED) {
        put(&l, "%sno limit", between);
    } else if (v->breach_count == 0 && v->limit_bytes) {
        put(&l, "%s", between);
        put_size(&l, v->limit_bytes - v->used_bytes);
        put(&l, *between ? " of the limit left" : " left");
    }
    return ms_arena_strdup(arena, l.text);
}

/* Those of a table that take more now, largest first. */
static void put_grown(line *l, const char *before, const ms_diff *diff, ms_diff_table table)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < diff->tables[table].count && count < MOST_PARTS; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        if (row->b_bytes <= row->a_bytes)
            continue;
        put(l, "%s%s ", count++ ? ", " : before, row->name);
        put_change(l, row->a_bytes, row->b_bytes);
    }
}

static void put_fields(line *l, const ms_field_change *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < MOST_FIELDS; i++)
        put(l, "; %s %.60s -> %.60s", rows[i].name, rows[i].a ? rows[i].a : "absent",
            rows[i].b ? rows[i].b : "absent");
    if (count > MOST_FIELDS)
        put(l, "; and %" PRIu32 " more", count - MOST_FIELDS);
}

const char *ms_verdict_changes(ms_arena *arena, const ms_verdict *v)
{
    line l = {.used = 0};
    if (!v->has_before || v->outcome == MS_OUTCOME_FAILED || v->diff.is_same)
        return "";
    put_change(&l, v->before_bytes, v->used_bytes);
    put(&l, " compared with the baseline");
    put_grown(&l, ": ", &v->diff, MS_DIFF_CATEGORIES);
    put_grown(&l, "; ", &v->diff, MS_DIFF_PLACES);
    put_fields(&l, v->diff.config, v->diff.config_count);
    put_fields(&l, v->diff.settings, v->diff.settings_count);
    return ms_arena_strdup(arena, l.text);
}
