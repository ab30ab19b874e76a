/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "report/kit/page.h"
#include "report/view/view.h"

enum { NAMES_BYTES = 64, NAMES_COLUMNS = 16, LINE_BYTES = 1024 };
enum { STAGE_COLUMN = 2 + NAMES_COLUMNS + 2 * 11 + 1 };
static const char out_of_memory[] = "out_of_memory";

static int compare(uint64_t first, uint64_t second)
{
    return first < second ? 1 : first > second ? -1 : 0;
}

int ms_rank_compare(const ms_rank *first, const ms_rank *second)
{
    int order = compare(first->has_figures, second->has_figures);
    if (order == 0)
        order = compare(strcmp(first->outcome, out_of_memory) == 0,
                        strcmp(second->outcome, out_of_memory) == 0);
    if (order == 0)
        order = compare(first->peak_bytes, second->peak_bytes);
    return order != 0 ? order : compare(first->reserved_bytes, second->reserved_bytes);
}

static bool are_equal(const ms_rank *first, const ms_rank *second)
{
    return ms_rank_compare(first, second) == 0 && strcmp(first->outcome, second->outcome) == 0 &&
           strcmp(first->peak_stage, second->peak_stage) == 0;
}

static bool all_are_equal(const ms_ranks_view *v)
{
    for (size_t i = 1; i < v->count; i++)
        if (!are_equal(&v->ranks[0], &v->ranks[i]))
            return false;
    return v->count > 0 && v->ranks[0].has_figures;
}

/* ---- console ---- */

static const char *stage_of(const ms_rank *r)
{
    return r->peak_stage[0] ? r->peak_stage : "no step";
}

static const ms_rank *least(const ms_ranks_view *v)
{
    const ms_rank *found = &v->ranks[v->worst];
    for (size_t i = 0; i < v->count; i++)
        if (v->ranks[i].has_figures && ms_rank_compare(found, &v->ranks[i]) < 0)
            found = &v->ranks[i];
    return found;
}

/* The answer first: who needs the most, and how much. */
static void write_answer(const ms_ranks_view *v, const ms_page *page)
{
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT], low[MS_GIB_TEXT];
    const ms_rank *worst = &v->ranks[v->worst], *other = least(v);
    bool ran_out = strcmp(worst->outcome, out_of_memory) == 0;
    char who[96], text[LINE_BYTES];
    if (all_are_equal(v) && v->count > 1)
        snprintf(who, sizeof who, "Ranks %" PRIu64 " to %" PRIu64 " of %" PRIu64 " are equal",
                 v->ranks[0].rank, v->ranks[v->count - 1].rank, v->world_size);
    else
        snprintf(who, sizeof who, "Rank %" PRIu64 " of %" PRIu64 " %s", worst->rank, v->world_size,
                 ran_out ? "ran out of memory" : "needs the most");
    snprintf(text, sizeof text,
             "%s: peak %s GiB in %s, %" PRIu64 " bytes; reserved by the allocator %s GiB", who,
             ms_gib(worst->peak_bytes, peak), stage_of(worst), worst->peak_bytes,
             ms_gib(worst->reserved_bytes, reserved));
    ms_page_line(page, text);
    if (other->peak_bytes >= worst->peak_bytes)
        return;
    snprintf(text, sizeof text, "Rank %" PRIu64 " needs the least: peak %s GiB, %" PRIu64 " bytes",
             other->rank, ms_gib(other->peak_bytes, low), other->peak_bytes);
    ms_page_line(page, text);
}

/* "0-3, 6" of the ranks that equal the one at `first`; marks them. */
static void name_equals(const ms_ranks_view *v, size_t first, bool *named, char text[NAMES_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < v->count; i++) {
        size_t end = i;
        if (named[i] || !are_equal(&v->ranks[first], &v->ranks[i]))
            continue;
        while (end + 1 < v->count && !named[end + 1] &&
               v->ranks[end + 1].rank == v->ranks[end].rank + 1 &&
               are_equal(&v->ranks[first], &v->ranks[end + 1]))
            end++;
        int added = used >= NAMES_BYTES
                        ? 0
                        : snprintf(text + used, NAMES_BYTES - used,
                                   end > i ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64,
                                   used > 0 ? "," : "", v->ranks[i].rank, v->ranks[end].rank);
        used += added > 0 ? (size_t)added : 0;
        for (; i <= end; i++)
            named[i] = true;
        i = end;
    }
}

static void write_row(const ms_ranks_view *v, size_t first, bool *named, const ms_page *page)
{
    char names[NAMES_BYTES] = "", peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT];
    const ms_rank *r = &v->ranks[first];
    bool is_measured = strcmp(r->outcome, "stepped") == 0 || strcmp(r->outcome, "few_steps") == 0;
    name_equals(v, first, named, names);
    fputs("  ", page->out);
    ms_page_cell(page, names, NAMES_COLUMNS);
    if (r->has_figures)
        fprintf(page->out, " %10s %10s ", ms_gib(r->peak_bytes, peak),
                ms_gib(r->reserved_bytes, reserved));
    else
        fprintf(page->out, " %10s %10s ", "-", "-");
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s%s%s", r->has_figures ? stage_of(r) : "",
             r->has_figures && !is_measured ? ", " : "",
             is_measured     ? ""
             : r->outcome[0] ? r->outcome
                             : "not followed");
    ms_page_rest(page, STAGE_COLUMN, text);
}

static size_t next_row(const ms_ranks_view *v, const bool *named)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < v->count; i++)
        if (!named[i] && (found == SIZE_MAX || ms_rank_compare(&v->ranks[found], &v->ranks[i]) > 0))
            found = i;
    return found;
}

ms_status ms_ranks_console(const ms_ranks_view *v, FILE *out, ms_error *err)
{
    const ms_page page = ms_page_begin(out, &v->style);
    bool *named = calloc(v->count ? v->count : 1, sizeof *named);
    if (!named)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of ranks");
    if (v->worst != SIZE_MAX)
        write_answer(v, &page);
    if (!all_are_equal(v)) {
        ms_page_heading(&page, "Ranks", "  (GiB; each was run alone)");
        const char *phase = "phase of the peak";
        fprintf(out, "  %-*s %10s %10s  %s\n", NAMES_COLUMNS, "", "peak", "reserved",
                STAGE_COLUMN + 1 + strlen(phase) <= page.columns ? phase : "phase");
        for (size_t i; (i = next_row(v, named)) != SIZE_MAX;)
            write_row(v, i, named, &page);
    }
    if (v->count < v->world_size)
        fprintf(out, "  %zu of %" PRIu64 " ranks were run\n", v->count, v->world_size);
    free(named);
    return MS_OK;
}

/* ---- JSON ---- */

static void write_rank(ms_json_writer *w, const ms_rank *r)
{
    char report[64];
    snprintf(report, sizeof report, "rank-%" PRIu64 "/runtime_report.json", r->rank);
    ms_json_object_inline(w, NULL);
    ms_json_uint(w, "rank", r->rank);
    ms_json_string(w, "outcome", r->outcome[0] ? r->outcome : NULL);
    if (r->has_figures) {
        ms_json_uint(w, "peak_memory_bytes", r->peak_bytes);
        ms_json_uint(w, "reserved_memory_bytes", r->reserved_bytes);
        ms_json_string(w, "peak_stage", r->peak_stage[0] ? r->peak_stage : NULL);
    }
    ms_json_string(w, "report", r->outcome[0] ? report : NULL);
    ms_json_close(w);
}

void ms_ranks_json(const ms_ranks_view *v, FILE *out)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_RANKS_SCHEMA_VERSION);
    ms_json_uint(&w, "world_size", v->world_size);
    if (v->worst != SIZE_MAX)
        ms_json_uint(&w, "worst_rank", v->ranks[v->worst].rank);
    else
        ms_json_null(&w, "worst_rank");
    ms_json_bool(&w, "ranks_are_equal", v->count == v->world_size && all_are_equal(v));
    ms_json_array(&w, "ranks");
    for (size_t i = 0; i < v->count; i++)
        write_rank(&w, &v->ranks[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
}
