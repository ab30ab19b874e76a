/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runs/runs_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/runs/runs_verdict.h"
#include "base/text/number.h"

/* ---- numbers ---- */

static const char *gib(const ms_runs_view *v, const char *sign, uint64_t bytes)
{
    char text[MS_GIB_TEXT];
    return ms_arena_printf(v->arena, "%s%s", sign, ms_gib(bytes, text));
}

static const char *fixed(const ms_runs_view *v, double value, uint32_t decimals)
{
    char text[MS_FIXED_TEXT];
    return ms_arena_strdup(v->arena, ms_fixed(value > 0 ? value : NAN, decimals, text));
}

static const char *count(const ms_runs_view *v, uint64_t value)
{
    return value ? ms_arena_printf(v->arena, "%" PRIu64, value) : "-";
}

/* ---- the first sentence ---- */

static const ms_runs_row *first_that(const ms_runs_view *v, bool (*is)(const ms_runs_row *row))
{
    for (uint32_t i = 0; i < v->count; i++)
        if (is(&v->rows[i]))
            return &v->rows[i];
    return NULL;
}

static bool has_figures(const ms_runs_row *row)
{
    return !row->error;
}

static const char *options_of(const ms_runs_view *v, const ms_runs_row *row)
{
    const char *text = "";
    for (uint32_t i = 0; text && i < v->field_count; i++)
        if (row->values[i] && *row->values[i])
            text = ms_arena_printf(v->arena, "%s%s--%s %s", text, *text ? " " : "", v->fields[i],
                                   row->values[i]);
    return text;
}

/* What a device that fits is good for. */
static const char *merit(const ms_runs_view *v, const ms_runs_row *row)
{
    char more[MS_FIXED_TEXT];
    if (v->is_fewest && (row->safe_value == row->value || row->safe_value == 0))
        return ms_arena_printf(v->arena, ": %" PRIu64 " of them", row->value);
    if (v->is_fewest)
        return ms_arena_printf(v->arena, ": %" PRIu64 " of them (%" PRIu64 " are safe)", row->value,
                               row->safe_value);
    if (v->question == MS_RUNS_FIT)
        return row->safe_value == row->value || row->safe_value == 0
                   ? ms_arena_printf(v->arena, ", with %s %" PRIu64, v->what, row->value)
                   : ms_arena_printf(v->arena, ", with %s %" PRIu64 " (%" PRIu64 " is safe)",
                                     v->what, row->value, row->safe_value);
    if (v->question != MS_RUNS_PLAN)
        return "";
    if (!*row->treat)
        return ", with everything kept";
    if (row->step_ms <= 0 || row->keep_all_ms <= 0)
        return "";
    return ms_arena_printf(v->arena, ", with a %s %% longer step",
                           ms_fixed(100 * (row->step_ms / row->keep_all_ms - 1), 1, more));
}

/* A smaller device that is tight. */
static const char *tighter_than(const ms_runs_view *v, const ms_runs_row *safe)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (ms_runs_fits(&v->rows[i]) && !ms_runs_are_safe(&v->rows[i]))
            return v->rows[i].budget_bytes < safe->budget_bytes
                       ? ms_arena_printf(v->arena, "; %s is tight", v->rows[i].values[0])
                       : "";
    return "";
}

/* Of the devices with a price whose fit is safe, the one with the cheapest tokens. */
static const char *cheapest(const ms_runs_view *v)
{
    const ms_runs_row *best = NULL;
    char usd[MS_FIXED_TEXT];
    for (uint32_t i = 0; i < v->count; i++) {
        const ms_runs_row *row = &v->rows[i];
        if (ms_runs_are_safe(row) && row->usd_per_million_tokens > 0 &&
            (!best || row->usd_per_million_tokens < best->usd_per_million_tokens))
            best = row;
    }
    return best ? ms_arena_printf(v->arena, "; a token costs least on %s, $%s a million",
                                  best->values[0], ms_fixed(best->usd_per_million_tokens, 4, usd))
                : "";
}

/* The smallest is the first, and the last of those that do not fit is the largest. */
static const char *decide_on_devices(const ms_runs_view *v, uint32_t fits)
{
    const char *subject = v->question == MS_RUNS_PLAN ? "a plan " : "";
    const ms_runs_row *first = first_that(v, ms_runs_are_safe), *figures = NULL;
    if (!first)
        first = first_that(v, ms_runs_fits);
    if (first) {
        const char *end = merit(v, first), *tight = tighter_than(v, first), *least = cheapest(v);
        return end && tight && least
                   ? ms_arena_printf(v->arena,
                                     "%sfits on %" PRIu32 " of %" PRIu32
                                     " devices; the smallest is %s%s%s%s%s",
                                     subject, fits, v->count, first->values[0],
                                     ms_runs_are_safe(first) ? "" : " (tight)", end, tight, least)
                   : NULL;
    }
    for (uint32_t i = 0; i < v->count; i++)
        figures = has_figures(&v->rows[i]) ? &v->rows[i] : figures;
    if (!figures || !figures->has_step || figures->needed_bytes <= figures->budget_bytes)
        return ms_arena_printf(v->arena, "%sfits on none of %" PRIu32 " devices", subject,
                               v->count);
    const char *with = v->question != MS_RUNS_FIT
                           ? ""
                           : ms_arena_printf(v->arena, " with %s %" PRIu64, v->what, figures->next);
    return ms_arena_printf(v->arena,
                           "%sfits on none of %" PRIu32 " devices; the largest, %s, is short by "
                           "%s GiB%s",
                           subject, v->count, figures->values[0],
                           gib(v, "", figures->needed_bytes - figures->budget_bytes), with);
}

const char *ms_runs_decision(const ms_runs_view *v)
{
    uint32_t fits = ms_runs_fit_count(v);
    const ms_runs_row *first = first_that(v, ms_runs_fits);
    if (!first_that(v, has_figures))
        return "no run has figures";
    if (!first && ms_runs_unknown_count(v))
        return ms_arena_printf(
            v->arena,
            "unknown for %" PRIu32 " of %" PRIu32
            ": some settings in the files are not predicted (memscope analyze lists them)",
            ms_runs_unknown_count(v), v->count);
    if (v->of_devices)
        return decide_on_devices(v, fits);
    if (!first)
        return ms_arena_printf(v->arena, "none of %" PRIu32 " runs fits", v->count);
    const char *options = options_of(v, first);
    if (!options)
        return NULL;
    return ms_arena_printf(v->arena, "%" PRIu32 " of %" PRIu32 " %s%s%s", fits, v->count,
                           fits == 1 ? "fits" : "fit", *options ? ", the first with " : "",
                           options);
}

/* ---- columns ---- */

static const char *value(const ms_runs_view *v, const ms_runs_row *row)
{
    return count(v, row->value);
}

static const char *safe(const ms_runs_view *v, const ms_runs_row *row)
{
    return count(v, row->safe_value);
}

static const char *needs(const ms_runs_view *v, const ms_runs_row *row)
{
    return row->has_step ? gib(v, "", row->needed_bytes) : "-";
}

static const char *left(const ms_runs_view *v, const ms_runs_row *row)
{
    uint64_t need = row->needed_bytes, there = row->budget_bytes;
    if (there == 0 || !row->has_step)
        return "-";
    return need > there ? gib(v, "-", need - there) : gib(v, "", there - need);
}

/* The least plan found takes long to fit less than there is. */
static double time_of(const ms_runs_view *v, const ms_runs_row *row)
{
    return v->question == MS_RUNS_PLAN && strcmp(row->verdict, "no") == 0 ? 0 : row->step_ms;
}

static const char *milliseconds(const ms_runs_view *v, const ms_runs_row *row)
{
    return fixed(v, time_of(v, row), 1);
}

static const char *longer(const ms_runs_view *v, const ms_runs_row *row)
{
    char percent[MS_FIXED_TEXT];
    if (time_of(v, row) <= 0 || row->keep_all_ms <= 0)
        return "-";
    double more = 100 * (row->step_ms / row->keep_all_ms - 1);
    return ms_arena_printf(v->arena, "%s%s %%", more < 0 ? "" : "+", ms_fixed(more, 1, percent));
}

static const char *tokens(const ms_runs_view *v, const ms_runs_row *row)
{
    return fixed(v, time_of(v, row) > 0 ? row->tokens_per_s : 0, 0);
}

static const char *tokens_of_one(const ms_runs_view *v, const ms_runs_row *row)
{
    return fixed(v, time_of(v, row) > 0 ? row->tokens_per_s_per_gpu : 0, 0);
}

static const char *hour(const ms_runs_view *v, const ms_runs_row *row)
{
    return fixed(v, row->usd_per_hour, 2);
}

static const char *million(const ms_runs_view *v, const ms_runs_row *row)
{
    return fixed(v, time_of(v, row) > 0 ? row->usd_per_million_tokens : 0, 4);
}

static const char *plan(const ms_runs_view *v, const ms_runs_row *row)
{
    (void)v;
    if (strcmp(row->verdict, "no") == 0)
        return "none fits";
    return *row->treat ? row->treat : "keep everything";
}

/* OF_PRICED: where a row has a price; OF_RANKS: where one is of several GPUs. */
enum { OF_ANALYZE = 1, OF_FIT = 2, OF_PLAN = 4, OF_ALL = 7, OF_PRICED = 8, OF_RANKS = 16 };

/* Behind the fields that differ and the verdict. */
static const struct {
    const char *head; /* NULL: the name of what is looked for */
    const char *(*cell)(const ms_runs_view *view, const ms_runs_row *row);
    unsigned questions;
    bool is_text, may_go;
} columns[] = {
    {NULL, value, OF_FIT, false, false},       {"safe", safe, OF_FIT, false, true},
    {"needs", needs, OF_ALL, false, false},    {"left", left, OF_ALL, false, true},
    {"longer", longer, OF_PLAN, false, true},  {"ms", milliseconds, OF_ALL, false, true},
    {"tokens/s", tokens, OF_ALL, false, true}, {"per GPU", tokens_of_one, OF_RANKS, false, true},
    {"$/h", hour, OF_PRICED, false, true},     {"$/Mtokens", million, OF_PRICED, false, false},
    {"plan", plan, OF_PLAN, true, false},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static bool has_prices(const ms_runs_view *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->rows[i].usd_per_hour > 0)
            return true;
    return false;
}

static bool has_ranks(const ms_runs_view *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        if (v->rows[i].tokens_per_s > v->rows[i].tokens_per_s_per_gpu)
            return true;
    return false;
}

static bool is_asked(const ms_runs_view *v, uint32_t which)
{
    if (columns[which].questions == OF_PRICED)
        return has_prices(v);
    if (columns[which].questions == OF_RANKS)
        return has_ranks(v);
    return (columns[which].questions & (1u << v->question)) != 0;
}

uint32_t ms_runs_columns(const ms_runs_view *v)
{
    uint32_t found = v->field_count + 1;
    for (uint32_t i = 0; i < COLUMNS; i++)
        found += is_asked(v, i);
    return found;
}

/* Index in `columns`. */
static uint32_t column_of(const ms_runs_view *v, uint32_t column)
{
    uint32_t which = 0;
    for (uint32_t skip = column - v->field_count - 1;; which++)
        if (is_asked(v, which) && skip-- == 0)
            return which;
}

const char *ms_runs_head(const ms_runs_view *v, uint32_t column)
{
    if (column < v->field_count)
        return v->fields[column];
    if (column == v->field_count)
        return "verdict";
    const char *head = columns[column_of(v, column)].head;
    return head ? head : v->what;
}

const char *ms_runs_cell(const ms_runs_view *v, const ms_runs_row *row, uint32_t column)
{
    if (column < v->field_count)
        return row->values[column] ? row->values[column] : "";
    if (column == v->field_count)
        return ms_runs_verdict(row);
    return row->error ? "" : columns[column_of(v, column)].cell(v, row);
}

bool ms_runs_is_figure(const ms_runs_view *v, uint32_t column)
{
    return column > v->field_count && !columns[column_of(v, column)].is_text;
}

bool ms_runs_may_go(const ms_runs_view *v, uint32_t column)
{
    return column > v->field_count && columns[column_of(v, column)].may_go;
}

/* ---- notes ---- */

/* What the figures of a row do not show; NULL: nothing. */
static const char *why_of(const ms_runs_row *row)
{
    if (row->error)
        return row->error;
    if (ms_runs_are_unknown(row))
        return ms_fit_reason_text(MS_FIT_NOT_PREDICTED);
    bool shows_it = !row->has_step || row->needed_bytes > row->budget_bytes;
    return ms_runs_fits(row) || shows_it ? NULL : ms_fit_reason_text(MS_FIT_NO_ROOM);
}

static bool has_why(const ms_runs_row *row, const char *why)
{
    const char *own = why_of(row);
    return own && strcmp(own, why) == 0;
}

static bool is_first_with(const ms_runs_view *v, uint32_t index, const char *why)
{
    for (uint32_t i = 0; i < index; i++)
        if (has_why(&v->rows[i], why))
            return false;
    return true;
}

/* "t4, v100-16gb" or "27 runs, the first with --batch 3". */
static const char *rows_with(const ms_runs_view *v, uint32_t index, const char *why)
{
    const char *text = v->of_devices ? v->rows[index].values[0] : "";
    uint32_t same = 0;
    for (uint32_t i = index; i < v->count; i++)
        if (has_why(&v->rows[i], why)) {
            if (v->of_devices && i > index)
                text = ms_arena_printf(v->arena, "%s, %s", text, v->rows[i].values[0]);
            same++;
        }
    if (v->of_devices)
        return text;
    const char *options = options_of(v, &v->rows[index]);
    return ms_arena_printf(v->arena, "%" PRIu32 " run%s%s%s", same, same == 1 ? "" : "s",
                           !options || !*options ? ""
                           : same == 1           ? " with "
                                                 : ", the first with ",
                           options ? options : "");
}

const char *ms_runs_note(const ms_runs_view *v, uint32_t index)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const char *why = why_of(&v->rows[i]);
        if (!why || !is_first_with(v, i, why) || index-- > 0)
            continue;
        const char *rows = rows_with(v, i, why);
        return rows ? ms_arena_printf(v->arena, "%s: %s", rows, why) : NULL;
    }
    return NULL;
}
