/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report as console text: verdict first, then the composition of the peak, when it is reached,
 * the largest operators, suggestions, assumptions.
 */
#include <inttypes.h>
#include <string.h>

#include "report/view/calibrated.h"
#include "report/pictures/chart.h"
#include "report/view/fit_words.h"
#include "report/view/inputs.h"
#include "report/view/suggestions.h"
#include "report/kit/page.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"
#include "report/view/why.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"

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

static void write_verdict(const ms_page *p, const ms_view *v)
{
    const ms_summary *s = v->summary;
    ms_page_title(p, v->title, ms_page_verdict_tone(s->verdict), v->verdict);
    if (*v->why)
        ms_page_note(p, ms_fit_why_label, v->why);
    for (uint32_t i = 0; i < v->finding_count; i++)
        if (v->findings[i].name != ms_view_input_note)
            ms_page_note(p, "note:", v->findings[i].text);
    if (ms_suggestions_lead(v))
        ms_suggestions_console(p, v);
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
        total_row(p, "allocated, most of the job", label_width, s->job_peak_memory_bytes,
                  ms_why_job_part(s));
}

static void write_peak(const ms_page *p, const ms_view *v)
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

/* Narrower than usual where that leaves room for the names of phases. */
static int figure_width(const ms_page *p)
{
    return p->columns < 60 ? 9 : 10;
}

static uint32_t phase_width(const ms_page *p)
{
    return ms_page_room(p, 20, 2 + 4 * (uint32_t)figure_width(p));
}

static void put_four(const ms_page *p, const char *a, const char *b, const char *c, const char *d)
{
    int width = figure_width(p);
    fprintf(p->out, "%*s%*s%*s%*s", width, a, width, b, width, c, width, d);
}

static void phase_row(const ms_page *p, const ms_phase_usage *u, bool numbered)
{
    char start[MS_GIB_TEXT], peak[MS_GIB_TEXT], end[MS_GIB_TEXT], reserved[MS_GIB_TEXT], label[40];
    bool micro = u->phase == MS_PHASE_FORWARD || u->phase == MS_PHASE_BACKWARD;
    snprintf(label, sizeof label, "%s", ms_phase_name((ms_phase)u->phase));
    char number[MS_MICRO_STEP_TEXT];
    if (numbered && micro)
        snprintf(label, sizeof label, "%s %s", ms_phase_name((ms_phase)u->phase),
                 ms_micro_step_text(u, number));
    fputs("  ", p->out);
    ms_page_name(p, label, phase_width(p));
    put_four(p, ms_gib(u->start_bytes, start), ms_gib(u->peak_bytes, peak),
             ms_gib(u->end_bytes, end), ms_gib(u->peak_reserved_bytes, reserved));
    fputc('\n', p->out);
}

static void write_phases(const ms_page *p, const ms_view *v)
{
    const ms_usage *usage = v->ledger->usage;
    ms_page_heading(p, "Phases of a step", "  (GiB)");
    fprintf(p->out, "  %s%*s", ms_page_tone(p, MS_TONE_DIM), (int)phase_width(p), "");
    put_four(p, "start", "peak", "end", "reserved");
    fprintf(p->out, "%s\n", ms_page_tone(p, MS_TONE_END));
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        phase_row(p, &usage->phases.items[i], v->ledger->run->training.accumulate > 1);
    const ms_phase_usage *evaluation = ms_ledger_evaluation(v->ledger);
    if (evaluation)
        phase_row(p, evaluation, false);
}

static void operator_row(const ms_page *p, const char *name, uint64_t saved_bytes,
                         uint64_t all_bytes, const char *phase, uint32_t times)
{
    char saved[MS_GIB_TEXT], other[MS_GIB_TEXT];
    fputs("  ", p->out);
    ms_page_name(p, name, ms_page_room(p, p->columns, 41));
    fprintf(p->out, "%10s%10s", ms_gib(saved_bytes, saved), ms_gib(all_bytes - saved_bytes, other));
    if (times)
        fprintf(p->out, "  %-9s %6" PRIu32, phase, times);
    fputc('\n', p->out);
}

static void write_largest(const ms_page *p, const ms_view *v)
{
    char label[64];
    if (v->largest_count == 0)
        return;
    ms_page_heading(p, "Largest operators", "  (GiB alive at the peak)");
    fprintf(p->out, "  %s%-*s%10s%10s  %-9s %6s%s\n", ms_page_tone(p, MS_TONE_DIM),
            (int)ms_page_room(p, p->columns, 41), "", "saved", "other", "phase", "times",
            ms_page_tone(p, MS_TONE_END));
    for (uint32_t i = 0; i < v->largest_count; i++) {
        const ms_record *r = v->largest[i];
        operator_row(p, ms_view_record_name(v, r), r->peak_saved_bytes, r->peak_bytes,
                     ms_phase_name((ms_phase)r->phase), r->count);
    }
    snprintf(label, sizeof label, "all %" PRIu32 " of them", v->operator_count);
    operator_row(p, label, v->operator_saved_bytes, v->operator_bytes, "", 0);
    ms_page_paragraph(p, "saved: activations for the backward pass; other: temporaries, workspaces "
                         "and short-lived gradients; over all executions in a step");
}

static void write_notes(const ms_page *p, const ms_view *v)
{
    ms_page_heading(p, "Not in these figures", "");
    const char *text;
    for (size_t i = 0; (text = ms_ledger_not_modelled(v->ledger, i)) != NULL; i++)
        ms_page_paragraph(p, text);
}

bool ms_report_console(FILE *out, const ms_view *view)
{
    const ms_page p = ms_page_begin(out, &view->style);
    write_verdict(&p, view);
    if (view->style.chart)
        ms_chart(&p, view);
    write_peak(&p, view);
    write_layers(&p, view);
    ms_rank_table_console(&p, view);
    ms_one_device_console(&p, view);
    ms_communication_console(&p, view);
    write_phases(&p, view);
    write_largest(&p, view);
    if (ms_suggestions_follow(view))
        ms_suggestions_console(&p, view);
    ms_calibrated_console(&p, view->ledger->run, view->arena);
    ms_page_run(&p, view->metadata, view->metadata_count);
    ms_inputs_console(&p, &view->ledger->run->keys);
    write_notes(&p, view);
    return true;
}
