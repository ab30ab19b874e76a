/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report at a terminal: decision first, then what the peak is made of, when it comes, which
 * operators hold most, what would help, what was assumed.
 */
#include <inttypes.h>
#include <string.h>

#include "report/reporter.h"

enum { MIN_COLUMNS = 60, MAX_COLUMNS = 120, MAX_LAYER_ROWS = 6 };

typedef enum tone { TONE_BOLD, TONE_GOOD, TONE_BAD, TONE_DIM, TONE_END } tone;

typedef struct page {
    FILE *out;
    const ms_view *view;
    uint32_t columns;
} page;

static const char *escape(const page *p, tone t)
{
    static const char *const codes[] = {"\033[1m", "\033[1;32m", "\033[1;31m", "\033[2m",
                                        "\033[0m"};
    return p->view->style.color ? codes[t] : "";
}

static void heading(const page *p, const char *text, const char *units)
{
    fprintf(p->out, "\n%s%s%s%s\n", escape(p, TONE_BOLD), text, escape(p, TONE_END), units);
}

static void bar(const page *p, uint32_t permille, uint32_t width)
{
    uint32_t cells = (permille * width + 500) / 1000;
    if (cells)
        fputs("  ", p->out);
    for (uint32_t i = 0; i < cells; i++)
        fputs(p->view->style.unicode ? "\xe2\x96\x88" : "#", p->out);
}

/* A text in `width` columns; the middle of a longer one gives way. */
static void cell(const page *p, const char *text, uint32_t width)
{
    uint32_t length = (uint32_t)strlen(text);
    if (length <= width) {
        fprintf(p->out, "%-*s", (int)width, text);
        return;
    }
    uint32_t head = (width - 3) / 2, tail = width - 3 - head;
    fprintf(p->out, "%.*s...%s", (int)head, text, text + (length - tail));
}

static void share_row(const page *p, const ms_view_row *row, uint32_t label_width, uint64_t whole)
{
    char gib[MS_GIB_TEXT];
    uint32_t permille = ms_permille(row->bytes, whole);
    fputs("  ", p->out);
    cell(p, row->label, label_width);
    fprintf(p->out, "%10s %5" PRIu32 ".%" PRIu32 " %%", ms_gib(row->bytes, gib), permille / 10,
            permille % 10);
}

static void total_row(const page *p, const char *label, uint32_t label_width, uint64_t bytes,
                      const char *remark)
{
    char gib[MS_GIB_TEXT];
    fputs("  ", p->out);
    cell(p, label, label_width);
    fprintf(p->out, "%10s%s%s\n", ms_gib(bytes, gib), *remark ? "  " : "", remark);
}

/* Words that break where the page ends; later lines are indented by two more. */
typedef struct paragraph {
    const page *page;
    uint32_t column;
} paragraph;

static void put_word(paragraph *g, const char *word, uint32_t length)
{
    if (g->column + 1 + length > g->page->columns) {
        fputs("\n    ", g->page->out);
        g->column = 4;
    } else {
        fputs(g->column ? " " : "  ", g->page->out);
        g->column += g->column ? 1 : 2;
    }
    fprintf(g->page->out, "%.*s", (int)length, word);
    g->column += length;
}

static void put_paragraph(const page *p, const char *text)
{
    paragraph g = {p, 0};
    while (*text) {
        uint32_t length = (uint32_t)strcspn(text, " ");
        put_word(&g, text, length);
        text += length + (text[length] == ' ');
    }
    fputc('\n', p->out);
}

static void write_verdict(const page *p)
{
    const ms_summary *s = p->view->summary;
    tone t = s->fits ? TONE_GOOD : TONE_BAD;
    fprintf(p->out, "%s\n\n  %s%s%s\n", p->view->title, escape(p, t), p->view->verdict,
            escape(p, TONE_END));
}

static void write_peak(const page *p)
{
    const ms_summary *s = p->view->summary;
    const uint32_t label_width = 30;
    heading(p, "At the peak", "  (GiB)");
    fprintf(p->out, "  %sin %s%s%s%s\n", escape(p, TONE_DIM), s->peak_stage,
            *p->view->peak_operator ? ", " : "", p->view->peak_operator, escape(p, TONE_END));
    for (uint32_t i = 0; i < p->view->category_count; i++) {
        const ms_view_row *row = &p->view->categories[i];
        share_row(p, row, label_width, s->peak_memory_bytes);
        bar(p, ms_permille(row->bytes, s->peak_memory_bytes), p->columns - label_width - 24);
        fputc('\n', p->out);
    }
    total_row(p, "allocated", label_width, s->peak_memory_bytes, "");
    if (p->view->ledger->run->allocator.kind == MS_ALLOCATOR_RAW)
        return;
    total_row(p, "reserved by the allocator", label_width, s->reserved_memory_bytes,
              s->fits && s->allocator_retries ? "after it gave cached memory back" : "");
    if (s->high_device_bytes == s->low_device_bytes)
        return;
    char low[MS_GIB_TEXT], high[MS_GIB_TEXT], remark[2 * MS_GIB_TEXT + 32];
    snprintf(remark, sizeof remark, "estimate, %s to %s", ms_gib(s->low_device_bytes, low),
             ms_gib(s->high_device_bytes, high));
    total_row(p, "on the device, with context", label_width, s->expected_device_bytes, remark);
}

static void write_layers(const page *p)
{
    const ms_view *v = p->view;
    if (v->layer_count > MAX_LAYER_ROWS)
        return;
    heading(p, "Where", "  (GiB at the peak)");
    for (uint32_t i = 0; i < v->layer_count; i++) {
        share_row(p, &v->layers[i], 30, v->summary->peak_memory_bytes);
        fputc('\n', p->out);
    }
}

static void phase_row(const page *p, const ms_phase_usage *u, bool numbered)
{
    char start[MS_GIB_TEXT], peak[MS_GIB_TEXT], end[MS_GIB_TEXT], reserved[MS_GIB_TEXT], label[40];
    bool micro = u->phase == MS_PHASE_FORWARD || u->phase == MS_PHASE_BACKWARD;
    snprintf(label, sizeof label, "%s", ms_phase_name((ms_phase)u->phase));
    char number[MS_MICRO_STEP_TEXT];
    if (numbered && micro)
        snprintf(label, sizeof label, "%s %s", ms_phase_name((ms_phase)u->phase),
                 ms_micro_step_text(u, number));
    fprintf(p->out, "  %-20s%10s%10s%10s%10s\n", label, ms_gib(u->start_bytes, start),
            ms_gib(u->peak_bytes, peak), ms_gib(u->end_bytes, end),
            ms_gib(u->peak_reserved_bytes, reserved));
}

static void write_phases(const page *p)
{
    const ms_usage *usage = p->view->ledger->usage;
    heading(p, "Phases of a step", "  (GiB)");
    fprintf(p->out, "  %s%-20s%10s%10s%10s%10s%s\n", escape(p, TONE_DIM), "", "start", "peak",
            "end", "reserved", escape(p, TONE_END));
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        phase_row(p, &usage->phases.items[i], p->view->ledger->run->accumulate > 1);
}

static void write_largest(const page *p)
{
    const ms_view *v = p->view;
    const uint32_t label_width = p->columns - 41;
    heading(p, "Largest operators", "  (GiB)");
    fprintf(p->out, "  %s%-*s%10s%10s  %-9s %6s%s\n", escape(p, TONE_DIM), (int)label_width, "",
            "kept", "working", "phase", "times", escape(p, TONE_END));
    for (uint32_t i = 0; i < v->largest_count; i++) {
        const ms_record *r = v->largest[i];
        char kept[MS_GIB_TEXT], working[MS_GIB_TEXT];
        fputs("  ", p->out);
        cell(p, ms_view_record_name(v, r), label_width);
        fprintf(p->out, "%10s%10s  %-9s %6" PRIu32 "\n", ms_gib(ms_view_kept_bytes(r), kept),
                ms_gib(ms_view_working_bytes(r), working), ms_phase_name((ms_phase)r->phase),
                r->count);
    }
    put_paragraph(p, "kept: for the backward pass, by all layers; working: what one of them holds "
                     "beside that");
}

static void write_advice(const page *p)
{
    const ms_advice *advice = p->view->advice;
    if (!advice || advice->suggestions.count == 0)
        return;
    heading(p, "What would help most", "  (GiB on the device, each simulated)");
    for (uint32_t i = 0; i < advice->suggestions.count; i++) {
        const ms_suggestion *s = &advice->suggestions.items[i];
        char saved[MS_GIB_TEXT], left[MS_GIB_TEXT];
        fprintf(p->out, "  -%-8s to %-8s %-32s %s%s\n",
                ms_gib((uint64_t)s->saved_device_bytes, saved), ms_gib(s->device_bytes, left),
                s->title, s->option, s->fits && !p->view->summary->fits ? "  fits" : "");
    }
}

/* "batch 1, seq 4096, ..." */
static void write_run(const page *p)
{
    paragraph g = {p, 0};
    heading(p, "The run", "  (defaults unless given)");
    for (uint32_t i = 0; i < p->view->metadata_count; i++) {
        const ms_field *f = &p->view->metadata[i];
        char value[120], text[160];
        if (f->group != MS_FIELD_RUN)
            continue;
        ms_field_value(f, value, sizeof value);
        bool last = i + 1 == p->view->metadata_count || f[1].group != MS_FIELD_RUN;
        int length = snprintf(text, sizeof text, "%s %s%s", f->name, value, last ? "" : ",");
        put_word(&g, text, length > 0 ? (uint32_t)length : 0);
    }
    fputc('\n', p->out);
}

static void write_notes(const page *p)
{
    heading(p, "Not in these figures", "");
    const char *text;
    for (size_t i = 0; (text = ms_ledger_not_modelled(p->view->ledger, i)) != NULL; i++)
        put_paragraph(p, text);
}

bool ms_report_console(FILE *out, const ms_view *view)
{
    uint32_t columns = view->style.columns;
    columns = columns < MIN_COLUMNS ? MIN_COLUMNS : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
    const page p = {out, view, columns};
    write_verdict(&p);
    write_peak(&p);
    write_layers(&p);
    write_phases(&p);
    write_largest(&p);
    write_advice(&p);
    write_run(&p);
    write_notes(&p);
    return true;
}
