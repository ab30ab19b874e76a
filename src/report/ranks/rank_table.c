/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/ranks/rank_table.h"

#include <inttypes.h>

#include "report/kit/html.h"

/* A table that nobody asked for has so many rows at most. */
enum { FEW_ROWS = 8, RANKS_TEXT = 48 };

static const ms_rank_table *table_of(const ms_view *view)
{
    return &view->ledger->run->parallel.ranks;
}

bool ms_rank_table_is_there(const ms_view *view)
{
    bool is_asked = view->ledger->run->parallel.choice.kind == MS_RANK_ALL;
    return table_of(view)->count > (is_asked ? 0 : 1) &&
           (is_asked || table_of(view)->count <= FEW_ROWS);
}

/* What was not measured for the table is in the report itself. */
static ms_rank_need need_at(const ms_view *view, uint32_t index)
{
    const ms_summary *s = view->summary;
    ms_rank_need need = table_of(view)->items[index];
    if (table_of(view)->count > 1)
        return need;
    need.weight_bytes = s->weight_memory_bytes;
    need.peak_bytes = s->peak_memory_bytes;
    need.reserved_bytes = s->reserved_memory_bytes;
    need.device_bytes = s->expected_device_bytes;
    return need;
}

/* "3", or "0, 95 of them like it". */
static const char *ranks_text(const ms_rank_need *need, char text[RANKS_TEXT])
{
    if (need->count > 1)
        snprintf(text, RANKS_TEXT, "%" PRIu64 " and %" PRIu64 " more", need->rank, need->count - 1);
    else
        snprintf(text, RANKS_TEXT, "%" PRIu64, need->rank);
    return text;
}

void ms_rank_table_console(const ms_page *page, const void *analysis)
{
    const ms_view *view = analysis;
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT], c[MS_GIB_TEXT], d[MS_GIB_TEXT], text[RANKS_TEXT];
    ms_page_heading(page, "Ranks", "  (GiB)");
    const uint32_t width = ms_page_room(page, 24, 42);
    fprintf(page->out, "  %s%*s%10s%10s%10s%10s%s\n", ms_page_tone(page, MS_TONE_DIM), (int)width,
            "", "weights", "allocated", "reserved", "device", ms_page_tone(page, MS_TONE_END));
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        fputs("  ", page->out);
        ms_page_name(page, ranks_text(&need, text), width);
        fprintf(page->out, "%10s%10s%10s%10s\n", ms_gib(need.weight_bytes, a),
                ms_gib(need.peak_bytes, b), ms_gib(need.reserved_bytes, c),
                ms_gib(need.device_bytes, d));
    }
}

void ms_rank_table_markdown(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    char text[RANKS_TEXT];
    fputs("| rank | weights | allocated at the peak | reserved | on the device |\n"
          "|---|---:|---:|---:|---:|\n",
          out);
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        fprintf(out, "| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n",
                ranks_text(&need, text), need.weight_bytes, need.peak_bytes, need.reserved_bytes,
                need.device_bytes);
    }
}

/* ---- bars ---- */

/* What every bar is scaled to: the budget, or what a rank needs beyond it. */
static uint64_t bar_scale(const ms_view *view)
{
    uint64_t scale = view->summary->budget_bytes;
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        scale = need.device_bytes > scale ? need.device_bytes : scale;
    }
    return scale;
}

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static void write_bar(FILE *out, const ms_rank_need *need, uint64_t scale, uint64_t budget)
{
    uint64_t others = rest_of(need->peak_bytes, need->weight_bytes);
    const ms_html_piece pieces[] = {
        {"weight", "weights", rest_of(need->peak_bytes, others)},
        {"activation", "other tensors at the peak", others},
        {"cached", "cached by the allocator", rest_of(need->reserved_bytes, need->peak_bytes)},
        {"context", "CUDA context", rest_of(need->device_bytes, need->reserved_bytes)},
    };
    char text[RANKS_TEXT], label[RANKS_TEXT + MS_BYTES_TEXT + 32], size[MS_BYTES_TEXT];
    snprintf(label, sizeof label, "rank %s: %s on the device", ranks_text(need, text),
             ms_bytes_text(need->device_bytes, size));
    ms_html_small_bar(out, label, pieces, sizeof pieces / sizeof *pieces, scale, budget);
}

bool ms_rank_table_html(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    char text[RANKS_TEXT];
    uint64_t scale = bar_scale(view), budget = view->summary->budget_bytes;
    ms_html_table(out, "ranks",
                  budget ? "Each bar is as long as the memory that a rank may use"
                         : "Each bar is as long as what the rank that needs most needs",
                  "rank|on the device|#weights|#allocated|#reserved|#on the device");
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        fprintf(out, "<tr><th scope=\"row\">%s</th><td>", ranks_text(&need, text));
        write_bar(out, &need, scale, budget);
        fputs("</td>", out);
        ms_html_bytes_cell(out, need.weight_bytes);
        ms_html_bytes_cell(out, need.peak_bytes);
        ms_html_bytes_cell(out, need.reserved_bytes);
        ms_html_bytes_cell(out, need.device_bytes);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
    return true;
}

void ms_rank_table_json(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    if (table_of(view)->count == 0)
        return;
    ms_json_array(w, name);
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        ms_json_object(w, NULL);
        ms_json_uint(w, "rank", need.rank);
        ms_json_uint(w, "count", need.count);
        ms_json_uint(w, "weight_memory_bytes", need.weight_bytes);
        ms_json_uint(w, "peak_memory_bytes", need.peak_bytes);
        ms_json_uint(w, "reserved_memory_bytes", need.reserved_bytes);
        ms_json_uint(w, "expected_device_bytes", need.device_bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}
