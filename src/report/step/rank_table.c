/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/rank_table.h"

#include <inttypes.h>

#include "trace/words.h"

/* A table that nobody asked for has so many rows at most. */
enum { FEW_ROWS = 8, RANKS_TEXT = 48 };

static const ms_rank_table *table_of(const ms_view *view)
{
    return &view->ledger->run->parallel.ranks;
}

static bool is_shown(const ms_view *view)
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

void ms_rank_table_console(const ms_page *page, const ms_view *view)
{
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT], c[MS_GIB_TEXT], d[MS_GIB_TEXT], text[RANKS_TEXT];
    if (!is_shown(view))
        return;
    ms_page_heading(page, "Ranks", "  (GiB)");
    fprintf(page->out, "  %s%-24s%10s%10s%10s%10s%s\n", ms_page_tone(page, MS_TONE_DIM), "",
            "weights", "allocated", "reserved", "device", ms_page_tone(page, MS_TONE_END));
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        fprintf(page->out, "  %-24s%10s%10s%10s%10s\n", ranks_text(&need, text),
                ms_gib(need.weight_bytes, a), ms_gib(need.peak_bytes, b),
                ms_gib(need.reserved_bytes, c), ms_gib(need.device_bytes, d));
    }
}

static const ms_profile_work *communication_of(const ms_view *view)
{
    return view->ledger->profile->communication;
}

static bool communicates(const ms_view *view)
{
    for (int i = 0; i < MS_WORK_KINDS; i++)
        if (communication_of(view)[i].calls)
            return true;
    return false;
}

void ms_communication_console(const ms_page *page, const ms_view *view)
{
    char gib[MS_GIB_TEXT];
    if (!communicates(view))
        return;
    ms_page_heading(page, "Communication of a step", "  (GiB through this rank's link)");
    for (int i = 0; i < MS_WORK_KINDS; i++) {
        const ms_profile_work *work = &communication_of(view)[i];
        if (work->calls)
            fprintf(page->out, "  %-24s%10s  in %" PRIu64 " call%s\n", ms_work_words.items[i],
                    ms_gib(work->bytes, gib), work->calls, work->calls == 1 ? "" : "s");
    }
}

void ms_communication_markdown(FILE *out, const ms_view *view)
{
    if (!communicates(view))
        return;
    fputs("\n| communication of a step | calls | bytes through this rank's link |\n"
          "|---|---:|---:|\n",
          out);
    for (int i = 0; i < MS_WORK_KINDS; i++) {
        const ms_profile_work *work = &communication_of(view)[i];
        if (work->calls)
            fprintf(out, "| %s | %" PRIu64 " | %" PRIu64 " |\n", ms_work_words.items[i],
                    work->calls, work->bytes);
    }
}

void ms_communication_json(ms_json_writer *w, const ms_view *view)
{
    if (!communicates(view))
        return;
    ms_json_array(w, "communication");
    for (int i = 0; i < MS_WORK_KINDS; i++) {
        const ms_profile_work *work = &communication_of(view)[i];
        if (!work->calls)
            continue;
        ms_json_object(w, NULL);
        ms_json_string(w, "kind", ms_work_words.items[i]);
        ms_json_uint(w, "calls", work->calls);
        ms_json_uint(w, "link_bytes", work->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

void ms_rank_table_markdown(FILE *out, const ms_view *view)
{
    char text[RANKS_TEXT];
    if (!is_shown(view))
        return;
    fputs("\n| rank | weights | allocated at the peak | reserved | on the device |\n"
          "|---|---:|---:|---:|---:|\n",
          out);
    for (uint32_t i = 0; i < table_of(view)->count; i++) {
        const ms_rank_need need = need_at(view, i);
        fprintf(out, "| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n",
                ranks_text(&need, text), need.weight_bytes, need.peak_bytes, need.reserved_bytes,
                need.device_bytes);
    }
}

void ms_rank_table_json(ms_json_writer *w, const ms_view *view)
{
    if (table_of(view)->count == 0)
        return;
    ms_json_array(w, "ranks");
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
