/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A probe as console text: predicted beside measured.
 */
#include <inttypes.h>
#include <math.h>

#include "base/locale.h"
#include "base/printable.h"
#include "report/kit/writer_list.h"
#include "report/runtime/probe_view.h"
#include "base/text/number.h"

enum { NAME_COLUMNS = 34, CELL_BYTES = 32, LINE_BYTES = 1024 };
enum { NARROW = 72, APART_COLUMNS = 11 }; /* a difference: "  +12.34 %" */

static const char *cell(const ms_probe_row *row, double value, char text[CELL_BYTES])
{
    char gib[MS_GIB_TEXT];
    if (row->is_time)
        ms_text_print(text, CELL_BYTES, "%.2f ms", value);
    else
        snprintf(text, CELL_BYTES, "%s GiB", ms_gib((uint64_t)value, gib));
    return text;
}

static const char *difference(const ms_probe_row *row, char text[CELL_BYTES])
{
    double share = ms_probe_difference(row);
    if (share == 0)
        snprintf(text, CELL_BYTES, "equal");
    else if (isinf(share))
        snprintf(text, CELL_BYTES, "not predicted");
    else
        ms_text_print(text, CELL_BYTES, "%+.2f %%", share * 100);
    return text;
}

static void write_rows(const ms_page *page, const ms_probe_row *rows, uint32_t count)
{
    char predicted[CELL_BYTES], measured[CELL_BYTES], apart[CELL_BYTES];
    const uint32_t figure = page->columns < NARROW ? 12 : 14;
    const uint32_t room = ms_page_room(page, NAME_COLUMNS, 2 + 2 * (1 + figure) + APART_COLUMNS);
    fprintf(page->out, "  %-*s %*s %*s\n", (int)room, "", (int)figure, "predicted", (int)figure,
            "measured");
    for (uint32_t i = 0; i < count; i++) {
        fputs("  ", page->out);
        ms_page_name(page, rows[i].title, room);
        fprintf(page->out, " %*s %*s  %s\n", (int)figure,
                cell(&rows[i], rows[i].predicted, predicted), (int)figure,
                cell(&rows[i], rows[i].measured, measured), difference(&rows[i], apart));
    }
}

static void write_most(const ms_page *page, const ms_probe_row *rows, uint32_t count)
{
    char apart[CELL_BYTES];
    const ms_probe_row *most = ms_probe_most(rows, count);
    if (count == 0)
        return;
    if (!most) {
        fprintf(page->out, "\n  every figure is equal to the byte\n");
        return;
    }
    char bytes[CELL_BYTES + 8] = "";
    if (!most->is_time)
        snprintf(bytes, sizeof bytes, ", %+" PRId64 " bytes",
                 (int64_t)(most->measured - most->predicted));
    fputc('\n', page->out);
    ms_page_say(page, "what disagrees most: %s, %s%s", most->title, difference(most, apart), bytes);
}

/* ---- times ---- */

static const char *const time_names[MS_REPLAY_TIMES] = {
    [MS_OP_PRODUCT] = "products",
    [MS_OP_ATTENTION] = "attention, as traffic",
    [MS_OP_OTHER] = "other operators, as traffic",
    [MS_REPLAY_WAITING] = "waiting for copies and updates",
    [MS_REPLAY_BETWEEN] = "between operators",
};

static void write_time(const ms_page *page, const char *name, double ms)
{
    ms_file_print(page->out, "  %-*s %11.2f\n", NAME_COLUMNS, name, ms);
}

static void write_skipped(const ms_page *page, const ms_replay_result *r)
{
    const double flops = (double)r->skipped_flops;
    bool is_large = flops >= 1e12;
    if (r->skipped_flops > 0)
        fputc('\n', page->out);
    if (r->skipped_flops > 0)
        ms_page_say(page,
                    "%.1f %s of the step's arithmetic ran as traffic alone, so its time is not "
                    "compared with a prediction",
                    flops / (is_large ? 1e12 : 1e9), is_large ? "TFLOP" : "GFLOP");
}

static void write_times(const ms_page *page, const ms_replay_result *r)
{
    double waited = r->times_ms[MS_REPLAY_WAITING], all = r->copy_ms + r->host_ms;
    ms_page_heading(page, "Time of the step", "  (ms, as measured)");
    for (uint32_t i = r->first_steady_phase; i < r->phases.count; i++) {
        const ms_replay_phase *p = &r->phases.items[i];
        char name[CELL_BYTES];
        snprintf(name, sizeof name, p->repeats > 1 ? "%s x%" PRIu32 : "%s",
                 ms_phase_name((ms_phase)p->phase), p->repeats);
        write_time(page, name, p->ms);
    }
    write_time(page, "the step", r->step_ms);
    fputc('\n', page->out);
    for (int i = 0; i < MS_REPLAY_TIMES; i++)
        if (r->times_ms[i] > 0)
            write_time(page, time_names[i], r->times_ms[i]);
    if (r->copies > 0 || r->host_ms > 0) {
        write_time(page, "copies", r->copy_ms);
        if (r->host_ms > 0)
            write_time(page, "updates by the host", r->host_ms);
        write_time(page, "of these hidden", all > waited ? all - waited : 0);
    }
    write_skipped(page, r);
}

/* ---- all of it ---- */

static void write_head(const ms_probe_view *v, const ms_page *page)
{
    const ms_backend_facts *f = v->facts;
    char total[MS_GIB_TEXT];
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "on %s: %s, %s GiB", f->title, f->versions,
             ms_gib(f->total_bytes, total));
    ms_page_subject(page, ms_probe_title(v), text);
    if (v->is_memory_only)
        ms_page_say(page, "memory only: allocations and releases, no operators");
    else if (f->is_simulated)
        ms_page_say(page, "nothing runs on this device: no time is measured");
}

static void write_partial(const ms_probe_view *v, const ms_page *page)
{
    const ms_replay_result *r = v->result;
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT];
    fputc('\n', page->out);
    ms_page_note(page, "partial:", v->message ? v->message : "");
    ms_page_say(page,
                "%" PRIu32 " of %" PRIu32 " events, in %s; by then allocated %s GiB, reserved %s "
                "GiB at most",
                r->played_events, r->event_count,
                r->has_steady ? "the steady step" : "the build or the first steps",
                ms_gib(r->peak_bytes, peak), ms_gib(r->most_reserved_bytes, reserved));
}

bool ms_probe_console(FILE *out, const ms_probe_view *v)
{
    ms_probe_row rows[MS_PROBE_ROWS];
    const ms_page page = ms_page_begin(out, v->style);
    uint32_t count = ms_probe_rows(v, rows);
    write_head(v, &page);
    if (v->status != MS_OK) {
        write_partial(v, &page);
        return true;
    }
    fputc('\n', out);
    write_rows(&page, rows, count);
    write_most(&page, rows, count);
    if (v->result->has_times)
        write_times(&page, v->result);
    return true;
}
