/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report as Markdown, in the order of the console view.
 */
#include <inttypes.h>
#include <string.h>

#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/view/suggestions.h"
#include "report/kit/markdown.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"
#include "report/view/why.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"

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
        fprintf(out, " The most of the job is %s: **%s GiB** allocated.", ms_why_job_part(s), a);
    if (s->slow_device_reserved_bytes)
        fprintf(out, " On a device that falls behind its host it reserves up to **%s GiB**.",
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

static void write_peak(FILE *out, const ms_view *v)
{
    uint64_t peak_bytes = v->summary->peak_memory_bytes;
    fprintf(out, "\n## The peak\n\nReached in the %s phase", v->summary->peak_stage);
    if (*v->peak_operator)
        fprintf(out, ", in `%s`", v->peak_operator);
    fputs(".\n", out);
    write_shares(out, "what", v->categories, v->category_count, peak_bytes);
    if (v->ledger->run->allocator.kind != MS_ALLOCATOR_RAW)
        write_device(out, v);
    write_shares(out, "where", v->layers, v->layer_count, peak_bytes);
    write_shares(out, "largest tensors", v->tensors, v->tensor_count, peak_bytes);
}

static void write_phase(FILE *out, const ms_phase_usage *u)
{
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT], c[MS_GIB_TEXT], d[MS_GIB_TEXT];
    char number[MS_MICRO_STEP_TEXT];
    fputs("| ", out);
    ms_markdown_text(out, ms_phase_name((ms_phase)u->phase));
    fprintf(out, " | %s | %s | %s | %s | %s |\n", ms_micro_step_text(u, number),
            ms_gib(u->start_bytes, a), ms_gib(u->peak_bytes, b), ms_gib(u->end_bytes, c),
            ms_gib(u->peak_reserved_bytes, d));
}

static void write_phases(FILE *out, const ms_view *v)
{
    const ms_usage *usage = v->ledger->usage;
    fputs("\n## Phases of a steady step\n\nGiB allocated on the device, weights and states "
          "included.\n\n| phase | micro-step | start | peak | end | reserved |\n"
          "|---|---:|---:|---:|---:|---:|\n",
          out);
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        write_phase(out, &usage->phases.items[i]);
    if (ms_ledger_evaluation(v->ledger))
        write_phase(out, ms_ledger_evaluation(v->ledger));
}

static void write_operator(FILE *out, const ms_view *v, const ms_record *r)
{
    char saved[MS_GIB_TEXT], other[MS_GIB_TEXT];
    fputs("| ", out);
    ms_markdown_text(out, ms_view_record_name(v, r));
    fprintf(out, " | %s | %" PRIu32 " | %s | %s | %" PRIu64 " | `%s` |\n",
            ms_phase_name((ms_phase)r->phase), r->count, ms_gib(r->peak_saved_bytes, saved),
            ms_gib(r->peak_bytes - r->peak_saved_bytes, other), r->memory_bytes,
            ms_view_formula(v, r));
}

static void write_largest(FILE *out, const ms_view *v)
{
    char saved[MS_GIB_TEXT], other[MS_GIB_TEXT];
    fputs("\n## Largest operators\n\nAlive at the peak, over all their executions. Saved: "
          "activations for the backward pass. Other: temporaries, workspaces and short-lived "
          "gradients. Formula: bytes that one execution allocates and that outlive it.\n\n"
          "| operator | phase | times | saved GiB | other GiB | bytes of one | formula |\n"
          "|---|---|---:|---:|---:|---:|---|\n",
          out);
    for (uint32_t i = 0; i < v->largest_count; i++)
        write_operator(out, v, v->largest[i]);
    fprintf(out, "| **all %" PRIu32 " of them** | | | **%s** | **%s** | | |\n", v->operator_count,
            ms_gib(v->operator_saved_bytes, saved),
            ms_gib(v->operator_bytes - v->operator_saved_bytes, other));
    fputs("\nSymbols: ", out);
    const ms_trace *trace = &v->ledger->simulation->trace;
    bool first = true;
    for (uint32_t i = 0; i < trace->symbols.table.count; i++) {
        const ms_symbol *s = &trace->symbols.table.items[i];
        if (s->kind != MS_SYMBOL_NAME)
            continue;
        fprintf(out, "%s`%s` = %" PRIu64, first ? "" : ", ", s->text, s->value);
        first = false;
    }
    fputs(".\n", out);
}

static void write_findings(FILE *out, const ms_view *v)
{
    for (uint32_t i = 0; i < v->finding_count; i++)
        ms_markdown_note(out, "Note:", v->findings[i].text);
}

bool ms_report_markdown(FILE *out, const ms_view *view)
{
    ms_markdown_title(out, "Memory of a training step", view->verdict, view->title);
    fputc('\n', out);
    if (*view->why)
        ms_markdown_note(out, ms_fit_why_label, view->why);
    write_findings(out, view);
    if (ms_suggestions_lead(view))
        ms_suggestions_markdown(out, view);
    write_peak(out, view);
    ms_rank_table_markdown(out, view);
    ms_one_device_markdown(out, view);
    ms_communication_markdown(out, view);
    write_phases(out, view);
    write_largest(out, view);
    if (ms_suggestions_follow(view))
        ms_suggestions_markdown(out, view);
    ms_calibrated_markdown(out, view->ledger->run, view->arena);
    ms_markdown_run(out, view->metadata, view->metadata_count);
    ms_inputs_markdown(out, &view->ledger->run->keys);
    fputs("\n## Not in these figures\n\n", out);
    const char *text;
    for (size_t i = 0; (text = ms_ledger_not_modelled(view->ledger, i)) != NULL; i++) {
        fputs("- ", out);
        ms_markdown_text(out, text);
        fputc('\n', out);
    }
    return true;
}
