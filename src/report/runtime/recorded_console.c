/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A captured program's memory as console text.
 */
#include "report/runtime/recorded_console.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "report/kit/page.h"
#include "report/runtime/engine_console.h"
#include "report/runtime/ledger_console.h"
#include "report/view/view.h"

enum { MOST_READS = 8, MOST_GROUPS = 8, LINE_BYTES = 2048 };
enum {
    BAR_COLUMNS = 20,
    NAME_COLUMNS = 36,
    PHASE_COLUMNS = 16,
    FIGURE_COLUMNS = 11,
    COUNT_COLUMNS = 9
};

/* The decision first: how high, of how much, when and where. What a CUDA graph replays into is
 * reserved, and not allocated. */
static void write_peak(const ms_recorded *r, const ms_page *page)
{
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT], device[MS_GIB_TEXT], kept[MS_GIB_TEXT];
    const char *stage = r->peak_stage ? r->peak_stage : "no step";
    uint64_t graphs = r->compiled.pool_free_bytes;
    const char *module = r->peak_module ? r->peak_module : "";
    char line[32] = "";
    if (r->peak_file && *r->peak_file)
        snprintf(line, sizeof line, ":%" PRIu64, r->peak_line);
    const char *of = *module ? ", in " : "", *at = *line ? ", " : "";
    const char *file = *line ? r->peak_file : "";
    if (graphs > 0)
        ms_page_say(page,
                    "peak %s GiB: %s GiB kept for CUDA graphs, and %" PRIu64 " bytes in %s"
                    "%s%s%s%s%s",
                    ms_gib(r->peak_bytes + graphs, peak), ms_gib(graphs, kept), r->peak_bytes,
                    stage, of, module, at, file, line);
    else
        ms_page_say(page, "peak %s GiB in %s, %" PRIu64 " bytes%s%s%s%s%s",
                    ms_gib(r->peak_bytes, peak), stage, r->peak_bytes, of, module, at, file, line);
    bool has_size = r->device_bytes > 0;
    ms_page_say(page, "reserved by the allocator %s GiB%s%s%s", ms_gib(r->reserved_bytes, reserved),
                has_size ? " of the device's " : "",
                has_size ? ms_gib(r->device_bytes, device) : "", has_size ? " GiB" : "");
    if (r->managed_bytes > 0)
        ms_page_say(page,
                    "not in these figures: %s GiB that host and device share (cudaMallocManaged), "
                    "which are on the device while it has room",
                    ms_gib(r->managed_bytes, peak));
}

/* The first step comes before what was compiled is in use, and holds what the compiler tried. */
static void write_compiled(const ms_recorded *r, const ms_page *page)
{
    const ms_recorded_compiled *c = &r->compiled;
    const ms_recorded_first_step *first = &r->first_step;
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT];
    if (first->peak_bytes > r->peak_bytes || c->graphs > 0)
        ms_page_say(page, "first step: peak %s GiB, reserved %s GiB%s",
                    ms_gib(first->peak_bytes, peak), ms_gib(first->reserved_bytes, reserved),
                    c->graphs > 0 ? ", with what compiling takes" : "");
    if (c->graphs > 0)
        fprintf(page->out, "  compiled: %" PRIu64 " graph%s, %" PRIu64 " break%s\n", c->graphs,
                c->graphs == 1 ? "" : "s", c->breaks, c->breaks == 1 ? "" : "s");
    if (c->choices > 0)
        ms_page_say(page,
                    "%" PRIu64
                    " of the compiler's choices depended on times, which are not real here",
                    c->choices);
}

static void write_head(const ms_recorded *r, const ms_page *page)
{
    bool is_null = strcmp(r->mode, "null") == 0;
    ms_page_subject(page, r->device ? r->device : "a GPU",
                    is_null ? "(null device: PyTorch's allocator, no kernels)" : "");
    if (r->engine) {
        ms_engine_head(r, page);
        return;
    }
    ms_page_put(page, "  step %" PRIu64 ", torch %s", r->steps, r->torch ? r->torch : "?");
    if (r->world_size && r->has_rank)
        fprintf(page->out, ", rank %" PRIu64 " of %" PRIu64, r->rank, r->world_size);
    else if (r->world_size)
        fprintf(page->out, ", one rank of %" PRIu64, r->world_size);
    fputc('\n', page->out);
    write_peak(r, page);
    write_compiled(r, page);
    if (r->retries > 0)
        ms_page_say(page, "the allocator returned cached memory %" PRIu64 " times to make room",
                    r->retries);
}

static void write_phases(const ms_recorded *r, const ms_page *page)
{
    char start[MS_GIB_TEXT], peak[MS_GIB_TEXT], end[MS_GIB_TEXT];
    ms_page_heading(page, "Phases", "  (GiB)");
    const uint32_t room = ms_page_room(page, PHASE_COLUMNS, 2 + 3 * FIGURE_COLUMNS);
    fprintf(page->out, "  %-*s %10s %10s %10s\n", (int)room, "", "start", "peak", "end");
    for (uint32_t i = 0; i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        fputs("  ", page->out);
        ms_page_cell(page, p->name, room);
        fprintf(page->out, " %10s %10s %10s\n", ms_gib(p->start_bytes, start),
                ms_gib(p->peak_bytes, peak), ms_gib(p->end_bytes, end));
    }
}

static void write_categories(const ms_recorded *r, const ms_page *page)
{
    char text[MS_GIB_TEXT];
    ms_page_heading(page, "At the peak", "  (GiB)");
    for (uint32_t i = 0; i < r->category_count; i++) {
        const ms_recorded_category *c = &r->categories[i];
        fputs("  ", page->out);
        ms_page_cell(page, c->name, PHASE_COLUMNS);
        fprintf(page->out, " %10s  ", ms_gib(c->bytes, text));
        ms_page_bar(page, ms_permille(c->bytes, r->peak_bytes), BAR_COLUMNS);
        fputc('\n', page->out);
    }
}

static void write_groups(const ms_recorded *r, const ms_page *page)
{
    char peak[MS_GIB_TEXT], saved[MS_GIB_TEXT], temporary[MS_GIB_TEXT], name[512];
    ms_page_heading(page, "By module",
                    "  (GiB; at the peak, saved by forward, largest temporaries)");
    const uint32_t room = ms_page_room(page, NAME_COLUMNS, 2 + 3 * FIGURE_COLUMNS);
    fprintf(page->out, "  %-*s %10s %10s %10s\n", (int)room, "", "peak", "forward", "temporary");
    for (uint32_t i = 0; i < r->group_count && i < MOST_GROUPS; i++) {
        const ms_recorded_group *g = &r->groups[i];
        snprintf(name, sizeof name, g->count > 1 ? "%s (%" PRIu64 ")" : "%s",
                 *g->name ? g->name : "the model itself, and outside it", g->count);
        fputs("  ", page->out);
        ms_page_name(page, name, room);
        fprintf(page->out, " %10s %10s %10s\n", ms_gib(g->peak_bytes, peak),
                ms_gib(g->saved_bytes, saved), ms_gib(g->temporary_bytes, temporary));
    }
    if (r->group_count > MOST_GROUPS)
        fprintf(page->out, "  and %" PRIu32 " more, in runtime_report.json\n",
                r->group_count - MOST_GROUPS);
}

/* How often something was, and what. */
static void write_counted(const ms_page *page, uint64_t count, const char *text)
{
    fprintf(page->out, "  %6" PRIu64 "x", count);
    ms_page_rest(page, COUNT_COLUMNS, text);
}

static void write_reads(const ms_recorded *r, const ms_page *page)
{
    char text[LINE_BYTES];
    ms_page_heading(page, "Values read from the device", "  (they are not real)");
    for (uint32_t i = 0; i < r->read_count && i < MOST_READS; i++) {
        const ms_recorded_read *read = &r->reads[i];
        snprintf(text, sizeof text, "%s:%" PRIu64 " %s%s", read->file, read->line, read->function,
                 read->played_back == read->count ? ", copied there by the program" : "");
        write_counted(page, read->count, text);
    }
    if (r->read_count > MOST_READS)
        fprintf(page->out, "  and %" PRIu32 " more lines, in runtime_report.json\n",
                r->read_count - MOST_READS);
}

/* What the figures rest on. */
static void write_answers(const ms_recorded *r, const ms_page *page)
{
    char text[LINE_BYTES];
    ms_page_heading(page, "Assumed, because the device is not real", "");
    for (uint32_t i = 0; i < r->answer_count && i < MOST_READS; i++) {
        snprintf(text, sizeof text, "%s: %s", r->answers[i].question, r->answers[i].assumes);
        write_counted(page, r->answers[i].count, text);
    }
    if (r->answer_count > MOST_READS)
        fprintf(page->out, "  and %" PRIu32 " more, in runtime_report.json\n",
                r->answer_count - MOST_READS);
}

static void write_calls(const ms_recorded *r, const ms_page *page)
{
    if (r->tally_count > 0)
        fputs("\nCalls that were emulated\n", page->out);
    for (uint32_t i = 0; i < r->tally_count; i++) {
        ms_page_put(page, "%8" PRIu64 "x %s", r->tallies[i].count, r->tallies[i].name);
        fputc('\n', page->out);
    }
    if (r->call_count > 0)
        fputs("\nCalls that the null device does not cover\n", page->out);
    for (uint32_t i = 0; i < r->call_count; i++) {
        ms_page_say(page, "%s, called from %s:%" PRIu64, r->calls[i].name, r->calls[i].file,
                    r->calls[i].line);
    }
    if (r->call_count > 0)
        ms_page_say(page, "Anything that depends on these calls is not known. To get one "
                          "supported, report it together with runtime_report.json, which contains "
                          "its name, its caller and the versions.");
}

ms_status ms_recorded_console(const ms_recorded *r, FILE *out, ms_error *err)
{
    const ms_page page = ms_page_begin(out, &r->style);
    (void)err;
    if (r->ledger)
        ms_ledger_console(r, &page);
    if (!r->has_figures)
        return MS_OK;
    write_head(r, &page);
    if (r->engine)
        ms_engine_workers(r, &page);
    if (r->phase_count > 0)
        write_phases(r, &page);
    if (r->category_count > 0)
        write_categories(r, &page);
    if (r->group_count > 0)
        write_groups(r, &page);
    if (r->answer_count > 0)
        write_answers(r, &page);
    if (r->read_count > 0)
        write_reads(r, &page);
    write_calls(r, &page);
    return MS_OK;
}
