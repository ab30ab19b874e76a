/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/peak_parts.h"

#include <inttypes.h>
#include <string.h>

#include "report/kit/escape.h"
#include "report/view/view.h"
#include "report/view/why.h"

/* ---- console ---- */

enum { MAX_LAYER_ROWS = 6, LABEL_WIDTH = 30, SHARE_WIDTH = 22 };

static void share_row(const ms_page *p, const ms_view_row *row, uint32_t label_width,
                      uint64_t whole)
{
    char gib[MS_GIB_TEXT];
    uint32_t permille = ms_permille(row->bytes, whole);
    fputs("  ", p->out);
    ms_page_cell(p, row->label, label_width);
    fprintf(p->out, "%10s %5" PRIu32 ".%" PRIu32 " %%", ms_gib(row->bytes, gib), permille / 10,
            permille % 10);
}

static void total_row(const ms_page *p, const char *label, uint32_t label_width, uint64_t bytes,
                      const char *remark)
{
    char gib[MS_GIB_TEXT];
    fputs("  ", p->out);
    ms_page_cell(p, label, label_width);
    fprintf(p->out, "%10s%s", ms_gib(bytes, gib), *remark ? " " : "");
    ms_page_rest(p, label_width + 13, remark);
}

static void host_row(const ms_page *p, const ms_summary *s, uint32_t label_width)
{
    char weights[MS_GIB_TEXT], remark[MS_GIB_TEXT + 32];
    snprintf(remark, sizeof remark, "%s of it parameters",
             ms_gib(s->host_weight_memory_bytes, weights));
    if (s->host_memory_bytes)
        total_row(p, "on the host", label_width, s->host_memory_bytes,
                  s->host_weight_memory_bytes ? remark : "");
}

static void reserved_row(const ms_page *p, const ms_summary *s, uint32_t label_width)
{
    char gib[MS_GIB_TEXT], slow[MS_GIB_TEXT + 32];
    const char *remark = s->fits && s->allocator_retries ? "after returning cached memory" : "";
    if (s->slow_device_reserved_bytes && !*remark) {
        snprintf(slow, sizeof slow, "up to %s on a slow device",
                 ms_gib(s->slow_device_reserved_bytes, gib));
        remark = slow;
    }
    total_row(p, "reserved by the allocator", label_width, s->reserved_memory_bytes, remark);
}

/* Where another part of the job than the steady step needs more. */
static void job_row(const ms_page *p, const ms_summary *s, uint32_t label_width)
{
    char most[MS_GIB_TEXT], peak[MS_GIB_TEXT];
    ms_gib(s->job_peak_memory_bytes, most);
    if (strcmp(most, ms_gib(s->peak_memory_bytes, peak)) != 0)
        total_row(p, "allocated, peak of the job", label_width, s->job_peak_memory_bytes,
                  ms_why_job_part(s));
}

static void write_shares_at_peak(const ms_page *p, const ms_view *v)
{
    const ms_summary *s = v->summary;
    const uint32_t label_width = ms_page_room(p, LABEL_WIDTH, SHARE_WIDTH);
    ms_page_heading(p, "At the peak", "  (GiB)");
    fputs(ms_page_tone(p, MS_TONE_DIM), p->out);
    ms_page_say(p, "in %s%s%s", s->peak_stage, *v->peak_operator ? ", " : "", v->peak_operator);
    fputs(ms_page_tone(p, MS_TONE_END), p->out);
    for (uint32_t i = 0; i < v->category_count; i++) {
        const ms_view_row *row = &v->categories[i];
        if (!ms_is_seen(row->bytes, s->peak_memory_bytes))
            continue;
        share_row(p, row, label_width, s->peak_memory_bytes);
        ms_page_bar(p, ms_permille(row->bytes, s->peak_memory_bytes),
                    ms_page_room(p, p->columns, label_width + 24));
        fputc('\n', p->out);
    }
    total_row(p, "allocated", label_width, s->peak_memory_bytes, "");
    job_row(p, s, label_width);
    if (v->ledger->run->allocator.kind == MS_ALLOCATOR_RAW)
        return;
    reserved_row(p, s, label_width);
    if (s->high_device_bytes != s->low_device_bytes) {
        char low[MS_GIB_TEXT], high[MS_GIB_TEXT], remark[2 * MS_GIB_TEXT + 32];
        snprintf(remark, sizeof remark, "%s, %s to %s",
                 v->ledger->run->calibration ? "calibrated" : "estimate",
                 ms_gib(s->low_device_bytes, low), ms_gib(s->high_device_bytes, high));
        total_row(p, "on the device, with context", label_width, s->expected_device_bytes, remark);
    }
    host_row(p, s, label_width);
}

static void write_layers(const ms_page *p, const ms_view *v)
{
    if (v->layer_count > MAX_LAYER_ROWS)
        return;
    ms_page_heading(p, "Where", "  (GiB at the peak)");
    for (uint32_t i = 0; i < v->layer_count; i++) {
        if (!ms_is_seen(v->layers[i].bytes, v->summary->peak_memory_bytes))
            continue;
        share_row(p, &v->layers[i], ms_page_room(p, LABEL_WIDTH, SHARE_WIDTH),
                  v->summary->peak_memory_bytes);
        fputc('\n', p->out);
    }
}

void ms_peak_console(const ms_page *p, const void *view)
{
    write_shares_at_peak(p, view);
    write_layers(p, view);
}

/* ---- Markdown ---- */

static void write_shares(FILE *out, const char *title, const ms_view_row *rows, uint32_t count,
                         uint64_t whole)
{
    char gib[MS_GIB_TEXT];
    fprintf(out, "\n| %s | | GiB | share | bytes |\n|---|---|---:|---:|---:|\n", title);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t permille = ms_permille(rows[i].bytes, whole);
        fputs("| ", out);
        ms_markdown_text(out, rows[i].label);
        fprintf(out, " | %s | %s | %" PRIu32 ".%" PRIu32 " %% | %" PRIu64 " |\n", rows[i].detail,
                ms_gib(rows[i].bytes, gib), permille / 10, permille % 10, rows[i].bytes);
    }
    fprintf(out, "| **sum** | | **%s** | | **%" PRIu64 "** |\n", ms_gib(whole, gib), whole);
}

static void write_device(FILE *out, const ms_view *v)
{
    const ms_summary *s = v->summary;
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT], c[MS_GIB_TEXT];
    fprintf(out, "\nThe allocator reserves **%s GiB** for it.",
            ms_gib(s->reserved_memory_bytes, a));
    if (strcmp(ms_gib(s->job_peak_memory_bytes, a), ms_gib(s->peak_memory_bytes, b)) != 0)
        fprintf(out, " The job's peak is %s: **%s GiB** allocated.", ms_why_job_part(s), a);
    if (s->slow_device_reserved_bytes)
        fprintf(out, " On a device that lags behind its host it reserves up to **%s GiB**.",
                ms_gib(s->slow_device_reserved_bytes, a));
    if (s->high_device_bytes != s->low_device_bytes)
        fprintf(out,
                " With the device's context (%s) the device shows **%s GiB**, between %s and "
                "%s GiB.",
                v->ledger->run->calibration ? "calibrated" : "an estimate",
                ms_gib(s->expected_device_bytes, a), ms_gib(s->low_device_bytes, b),
                ms_gib(s->high_device_bytes, c));
    if (s->host_memory_bytes)
        fprintf(out, " The host keeps **%s GiB**", ms_gib(s->host_memory_bytes, a));
    if (s->host_weight_memory_bytes)
        fprintf(out, ", %s GiB of it parameters of the layers",
                ms_gib(s->host_weight_memory_bytes, a));
    fputs(s->host_memory_bytes ? ".\n" : "\n", out);
}

void ms_peak_markdown(FILE *out, const void *view)
{
    const ms_view *v = view;
    uint64_t peak_bytes = v->summary->peak_memory_bytes;
    fprintf(out, "## The peak\n\nReached in the %s phase", v->summary->peak_stage);
    if (*v->peak_operator)
        fprintf(out, ", in `%s`", v->peak_operator);
    fputs(".\n", out);
    write_shares(out, "what", v->categories, v->category_count, peak_bytes);
    if (v->ledger->run->allocator.kind != MS_ALLOCATOR_RAW)
        write_device(out, v);
    write_shares(out, "where", v->layers, v->layer_count, peak_bytes);
    write_shares(out, "largest tensors", v->tensors, v->tensor_count, peak_bytes);
}
