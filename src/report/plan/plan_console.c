/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as console text: the verdict first, then memory and time compared with the two baselines,
 * the treatments of layers and why, the settings for a trainer, and alternatives that fit.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/run/run_config.h"
#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/kit/page.h"
#include "report/plan/plan_needs.h"
#include "report/kit/writer_list.h"
#include "report/plan/plan_curve.h"
#include "report/plan/plan_suggestions.h"
#include "report/plan/plan_view.h"

enum { LABEL_WIDTH = 28, MAX_DECISIONS = 12, MAX_TARGET_LINES = 20, LEAST_TREATMENT = 10 };

static const int column_widths[MS_PLAN_COLUMNS] = {10, 10, 16};

static void row_label(const ms_page *p, const char *label)
{
    fputs("  ", p->out);
    ms_page_name(p, label, ms_page_room(p, LABEL_WIDTH, 38));
}

static void write_verdict(const ms_page *p, const ms_plan_view *v)
{
    ms_page_title(p, v->title, ms_page_verdict_tone(v->tone), v->verdict);
    if (*v->why)
        ms_page_note(p, ms_fit_why_label, v->why);
    fputs(ms_page_tone(p, MS_TONE_DIM), p->out);
    ms_page_paragraph(p, v->proof);
    if (*v->margin)
        ms_page_paragraph(p, v->margin);
    fputs(ms_page_tone(p, MS_TONE_END), p->out);
    if (*v->evaluation)
        ms_page_paragraph(p, v->evaluation);
    if (*v->steep)
        ms_page_paragraph(p, v->steep);
    if (v->run->several_gpus.text)
        ms_page_note(p, "note:", v->run->several_gpus.text);
}

static void write_treat(const ms_page *p, const ms_plan_view *v)
{
    const char *treat = v->figures->treat;
    if (!*treat && !*v->moved)
        return;
    ms_page_heading(p, v->is_least ? "The smallest plan found" : "The plan",
                    "  (for memscope analyze)");
    if (*v->moved)
        fprintf(p->out, "  %s\n", v->moved);
    if (*treat && strlen(treat) + 10 <= p->columns)
        fprintf(p->out, "  --treat %s\n", treat);
    else if (*treat)
        ms_page_paragraph(
            p, "too long for --treat here: save it with -o plan.json, then use --plan plan.json");
}

/* ---- memory and time, next to the extremes ---- */

static void bytes_row(const ms_page *p, const ms_plan_view *v, const char *label,
                      uint64_t (*bytes_of)(const ms_step_figures *f, uint32_t which),
                      uint32_t which)
{
    char gib[MS_GIB_TEXT];
    row_label(p, label);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(p->out, "%*s", column_widths[i],
                ms_gib(bytes_of(v->columns[i].figures, which), gib));
    fputc('\n', p->out);
}

static uint64_t category_bytes(const ms_step_figures *f, uint32_t which)
{
    return f->category_bytes[which];
}

typedef enum total { TOTAL_PEAK, TOTAL_RESERVED, TOTAL_DEVICE, TOTAL_HOST } total;

static uint64_t total_bytes(const ms_step_figures *f, uint32_t which)
{
    const uint64_t totals[] = {[TOTAL_PEAK] = f->peak_bytes,
                               [TOTAL_RESERVED] = f->reserved_bytes,
                               [TOTAL_DEVICE] = f->device_bytes,
                               [TOTAL_HOST] = f->host_bytes};
    return totals[which];
}

static void columns_row(const ms_page *p, const ms_plan_view *v)
{
    fputs(ms_page_tone(p, MS_TONE_DIM), p->out);
    row_label(p, "");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(p->out, "%*s", column_widths[i], v->columns[i].label);
    fprintf(p->out, "%s\n", ms_page_tone(p, MS_TONE_END));
}

static void write_peak(const ms_page *p, const ms_plan_view *v)
{
    bool uses_host = false;
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        uses_host = uses_host || v->columns[i].figures->host_bytes > 0;
    ms_page_heading(p, "At the peak", "  (GiB)");
    columns_row(p, v);
    for (uint32_t i = 0; i < v->category_count; i++)
        bytes_row(p, v, ms_category_name(v->categories[i]), category_bytes,
                  (uint32_t)v->categories[i]);
    bytes_row(p, v, "allocated", total_bytes, TOTAL_PEAK);
    if (v->run->allocator.kind != MS_ALLOCATOR_RAW) {
        bytes_row(p, v, "reserved by the allocator", total_bytes, TOTAL_RESERVED);
        bytes_row(p, v, "on the device, with context", total_bytes, TOTAL_DEVICE);
    }
    if (uses_host)
        bytes_row(p, v, "on the host", total_bytes, TOTAL_HOST);
    row_label(p, "verdict");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(p->out, "%*s", column_widths[i],
                ms_fit_cell(ms_plan_reason(v, v->columns[i].figures)));
    fputc('\n', p->out);
}

static void numbers_row(const ms_page *p, const char *label, const double values[MS_PLAN_COLUMNS],
                        uint32_t decimals)
{
    char text[MS_FIXED_TEXT];
    row_label(p, label);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(p->out, "%*s", column_widths[i], ms_fixed(values[i], decimals, text));
    fputc('\n', p->out);
}

static void write_time(const ms_page *p, const ms_plan_view *v)
{
    double compute[MS_PLAN_COLUMNS], again[MS_PLAN_COLUMNS], exposed[MS_PLAN_COLUMNS];
    double step[MS_PLAN_COLUMNS], cost[MS_PLAN_COLUMNS], tokens[MS_PLAN_COLUMNS];
    double retry[MS_PLAN_COLUMNS];
    char text[MS_FIXED_TEXT], label[64];
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        const ms_step_time *t = &v->columns[i].figures->time;
        step[i] = t->step_ms;
        compute[i] = t->compute_ms - t->recompute_ms;
        again[i] = t->recompute_ms;
        exposed[i] = ms_step_waiting_ms(t);
        retry[i] = t->retry_ms;
        cost[i] = ms_plan_cost(v, t->step_ms);
        tokens[i] = ms_run_tokens_per_s(v->run, t->step_ms);
    }
    ms_page_heading(p, "A step", "  (ms)");
    if (!(step[1] > 0)) {
        ms_page_paragraph(p, v->rates_note);
        return;
    }
    columns_row(p, v);
    numbers_row(p, "computing", compute, 1);
    numbers_row(p, "recomputing", again, 1);
    numbers_row(p, v->waiting, exposed, 1);
    if (retry[0] + retry[1] + retry[2] > 0)
        numbers_row(p, "returning cached memory", retry, 1);
    numbers_row(p, "together", step, 1);
    row_label(p, "vs. keeping everything");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(p->out, "%*s", column_widths[i],
                ms_plan_percent(ms_plan_overhead(v, step[i]), text));
    fputc('\n', p->out);
    ms_fixed(v->answer->task->gpu_cost_per_hour, 2, text);
    if (ms_plan_gpus(v) > 1) {
        numbers_row(p, "tokens/s, all GPUs", tokens, 0);
        snprintf(label, sizeof label, "1,000 steps, %" PRIu64 " x %.12s/h", ms_plan_gpus(v), text);
    } else {
        snprintf(label, sizeof label, "1,000 steps, at %.12s/h", text);
    }
    numbers_row(p, label, cost, 2);
    ms_page_paragraph(p, v->times_note);
}

/* ---- decisions ---- */

/* Where there is little room, on a line of its own. */
static void write_treatment(const ms_page *p, const char *text, uint32_t width)
{
    if (width >= LEAST_TREATMENT) {
        ms_page_cell(p, text, width);
        return;
    }
    ms_page_last_cell(p, text, p->columns - 18);
    fprintf(p->out, "  %*s", (int)(16 + width), "");
}

static void write_decisions(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    const uint32_t width = ms_page_room(p, p->columns, 50);
    uint32_t count = plan->decisions.count;
    if (count == 0 || v->is_fallback)
        return;
    ms_page_heading(p, "Treated", "  (GiB, ms; most freed first)");
    fprintf(p->out, "  %s%-16s%-*s%10s%10s%12s%s\n", ms_page_tone(p, MS_TONE_DIM), "", (int)width,
            "", "freed", "on host", "step longer", ms_page_tone(p, MS_TONE_END));
    for (uint32_t i = 0; i < count && i < MAX_DECISIONS; i++) {
        const ms_decision *d = &plan->decisions.items[i];
        char place[MS_PLAN_PLACE_TEXT], freed[MS_GIB_TEXT], host[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
        fprintf(p->out, "  %-16s", ms_plan_place(d, place));
        write_treatment(p, ms_plan_short(v, d->treatment), width);
        fprintf(p->out, "%10s%10s%12s\n", ms_gib(d->freed_bytes, freed),
                d->host_bytes ? ms_gib(d->host_bytes, host) : "", ms_fixed(d->added_ms, 1, ms));
    }
    if (count > MAX_DECISIONS)
        fprintf(p->out, "  and %" PRIu32 " more: --format md lists them all\n",
                count - MAX_DECISIONS);
    if (*v->kept_layers)
        fprintf(p->out, "  kept: layer%s %s\n", strpbrk(v->kept_layers, ",-") ? "s" : "",
                v->kept_layers);
    ms_page_heading(p, "Why", "");
    for (uint32_t i = 0; i < count && i < MAX_DECISIONS; i++) {
        const ms_decision *d = &plan->decisions.items[i];
        char place[MS_PLAN_PLACE_TEXT], text[512];
        snprintf(text, sizeof text, "%s: %s", ms_plan_place(d, place), d->why ? d->why : "");
        ms_page_paragraph(p, text);
    }
}

/* ---- trainers ---- */

static void indent_lines(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", length ? "  " : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void write_target(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    if (!v->target_title || !plan->target_text || v->is_infeasible)
        return;
    fprintf(p->out, "\n%sFor %s%s\n", ms_page_tone(p, MS_TONE_BOLD), v->target_title,
            ms_page_tone(p, MS_TONE_END));
    indent_lines(p->out, plan->target_text);
    if (!(plan->target_free_ms > 0))
        return;
    char text[200], ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT], more[MS_FIXED_TEXT];
    double added_ms = plan->plan.time.step_ms - plan->target_free_ms;
    fputc('\n', p->out);
    ms_fixed(added_ms, 1, ms);
    snprintf(
        text, sizeof text,
        "cost of this trainer's limits: %s%.12s ms per step (%.12s) and %.12s GiB at the peak, "
        "compared with a free plan",
        *ms == '-' ? "" : "+", ms, ms_plan_percent(added_ms / plan->target_free_ms, percent),
        ms_plan_gib_more(plan->plan.peak_bytes, plan->target_free_peak_bytes, more));
    ms_page_paragraph(p, text);
}

/* Code of more than a few lines comes last. */
static bool target_is_long(const ms_plan_view *v)
{
    uint32_t lines = 0;
    for (const char *text = v->plan->target_text; text && *text; text++)
        lines += *text == '\n';
    return lines > MAX_TARGET_LINES;
}

static void target_row(const ms_page *p, const ms_plan_view *v, const char *name,
                       const ms_step_plan *plan)
{
    const ms_step_figures *f = &plan->plan, *free_plan = v->figures;
    char step[MS_FIXED_TEXT], ms[MS_FIXED_TEXT], gib[MS_GIB_TEXT], more[MS_FIXED_TEXT];
    fprintf(p->out, "  %-12s", name);
    if (plan->outcome == MS_PLAN_INFEASIBLE) {
        fprintf(p->out, "%10s%10s%10s%10s  does not fit\n", "-", "-", ms_gib(f->peak_bytes, gib),
                "-");
        return;
    }
    bool has_time = f->time.step_ms > 0;
    ms_fixed(has_time ? f->time.step_ms - free_plan->time.step_ms : NAN, 1, ms);
    fprintf(p->out, "%10s%10s%10s%10s  ", ms_plan_ms(f->time.step_ms, 1, step), ms,
            ms_gib(f->peak_bytes, gib),
            ms_plan_gib_more(f->peak_bytes, free_plan->peak_bytes, more));
    ms_plan_treat_cell(p, *f->treat ? f->treat : "keep everything", 56);
}

static void unsupported_row(const ms_page *p, const ms_target_answer *a)
{
    char text[320];
    snprintf(text, sizeof text, "%s is not compared: %s", a->target->name, a->unsupported);
    ms_page_paragraph(p, text);
}

static void write_targets(const ms_page *p, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    if (!targets || targets->count == 0)
        return;
    ms_page_heading(p, "Trainers", "  (ms, GiB; --target NAME shows what to type)");
    fprintf(p->out, "  %s%-12s%10s%10s%10s%10s%s\n", ms_page_tone(p, MS_TONE_DIM), "", "step",
            "longer", "peak", "higher", ms_page_tone(p, MS_TONE_END));
    target_row(p, v, v->answer->task->target, v->plan);
    for (uint32_t i = 0; i < targets->count; i++)
        if (!targets->items[i].unsupported)
            target_row(p, v, targets->items[i].target->name, &targets->items[i].plan);
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->items[i].unsupported)
            unsupported_row(p, &targets->items[i]);
}

/* ---- what else ---- */

static void write_compared(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    if (plan->compared.count == 0)
        return;
    ms_page_heading(p, "Other planners", "  (GiB on the device, ms; the same budget)");
    for (uint32_t i = 0; i < plan->compared.count; i++) {
        const ms_alternative *a = &plan->compared.items[i];
        char gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT];
        double step_ms = a->figures.time.step_ms;
        fputs("  ", p->out);
        ms_page_cell(p, a->name, 16);
        if (!a->has_figures) {
            fputs("no plan\n", p->out);
            continue;
        }
        fprintf(p->out, "%8s%10s%11s  ", ms_gib(a->figures.device_bytes, gib),
                ms_plan_ms(step_ms, 1, ms), ms_plan_percent(ms_plan_overhead(v, step_ms), percent));
        ms_plan_treat_cell(p, ms_plan_alternative_text(a), 49);
    }
}

static void write_rules(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    char text[200], gib[MS_GIB_TEXT], real[MS_GIB_TEXT], percent[MS_FIXED_TEXT];
    if (v->answer->task->planner != MS_PLANNER_RULES)
        return;
    ms_page_heading(p, "What the rules expected", "");
    snprintf(text, sizeof text, "a peak of %s GiB and %s time; simulated, the peak is %s GiB",
             ms_gib(plan->rules_estimate_bytes, gib),
             ms_plan_percent(plan->rules_estimate_overhead, percent),
             ms_gib(plan->plan.peak_bytes, real));
    ms_page_paragraph(p, text);
    ms_page_paragraph(p, v->host_note);
}

static void write_solving(const ms_page *p, const ms_plan_view *v)
{
    char ms[MS_FIXED_TEXT];
    fprintf(p->out, "\n  %splanned by %s: %" PRIu32 " simulations, %s ms%s\n",
            ms_page_tone(p, MS_TONE_DIM), ms_planner_names[v->answer->task->planner],
            v->plan->simulations, ms_fixed(v->plan->solve_ms, 0, ms), ms_page_tone(p, MS_TONE_END));
}

bool ms_plan_console(FILE *out, const ms_plan_view *view)
{
    if (view->curve)
        return ms_plan_curve_console(out, view);
    const ms_page p = ms_page_begin(out, &view->answer->style);
    write_verdict(&p, view);
    if (ms_plan_suggestions_lead(view))
        ms_plan_suggestions_console(&p, view);
    write_treat(&p, view);
    bool ok = ms_plan_needs_console(&p, view);
    if (!target_is_long(view))
        write_target(&p, view);
    if (ms_plan_suggestions_follow(view))
        ms_plan_suggestions_console(&p, view);
    write_peak(&p, view);
    write_time(&p, view);
    write_decisions(&p, view);
    write_targets(&p, view);
    write_compared(&p, view);
    write_rules(&p, view);
    ms_calibrated_console(&p, view->run, view->arena);
    ms_page_run(&p, view->metadata, view->metadata_count);
    ms_inputs_console(&p, &view->run->keys);
    write_solving(&p, view);
    if (target_is_long(view))
        write_target(&p, view);
    return ok;
}
