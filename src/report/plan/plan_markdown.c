/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as Markdown, in the order of the console view; nothing is shortened.
 */
#include <inttypes.h>
#include <math.h>

#include "input/config/run/run_config.h"
#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/kit/markdown.h"
#include "report/plan/plan_needs.h"
#include "report/kit/writer_list.h"
#include "report/plan/plan_suggestions.h"
#include "report/plan/plan_view.h"

static void write_treat(FILE *out, const ms_plan_view *v)
{
    const char *treat = v->figures->treat;
    if (*treat || *v->moved)
        fprintf(out, "\n%s\n\n```\n%s%s%s%s%s```\n",
                v->is_least ? "The smallest plan found:" : "For `memscope analyze`:", v->moved,
                *v->moved ? "\n" : "", *treat ? "--treat " : "", treat, *treat ? "\n" : "");
}

static void write_target(FILE *out, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    if (!v->target_title || !plan->target_text || v->is_infeasible)
        return;
    fprintf(out, "\n## For %s\n\n```\n%s\n```\n", v->target_title, plan->target_text);
    if (!(plan->target_free_ms > 0))
        return;
    char ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT], more[MS_FIXED_TEXT];
    double added_ms = plan->plan.time.step_ms - plan->target_free_ms;
    fprintf(out,
            "\nThe cost of this trainer's limits, compared with a free plan: %s ms per step (%s), "
            "%s GiB at "
            "the peak.\n",
            ms_fixed(added_ms, 3, ms), ms_plan_percent(added_ms / plan->target_free_ms, percent),
            ms_plan_gib_more(plan->plan.peak_bytes, plan->target_free_peak_bytes, more));
}

static void columns_head(FILE *out, const ms_plan_view *v, const char *corner)
{
    fprintf(out, "\n| %s |", corner);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", v->columns[i].label);
    fputs("\n|---|", out);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fputs("---:|", out);
    fputc('\n', out);
}

static void bytes_row(FILE *out, const char *label, const uint64_t bytes[MS_PLAN_COLUMNS])
{
    char gib[MS_GIB_TEXT];
    fprintf(out, "| %s |", label);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", ms_gib(bytes[i], gib));
    fputc('\n', out);
}

static void write_peak(FILE *out, const ms_plan_view *v)
{
    uint64_t peak[MS_PLAN_COLUMNS], reserved[MS_PLAN_COLUMNS], device[MS_PLAN_COLUMNS];
    uint64_t host[MS_PLAN_COLUMNS], bytes[MS_PLAN_COLUMNS];
    fputs("\n## At the peak\n", out);
    columns_head(out, v, "GiB");
    for (uint32_t c = 0; c < v->category_count; c++) {
        for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
            bytes[i] = v->columns[i].figures->category_bytes[v->categories[c]];
        bytes_row(out, ms_category_name(v->categories[c]), bytes);
    }
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        const ms_step_figures *f = v->columns[i].figures;
        peak[i] = f->peak_bytes;
        reserved[i] = f->reserved_bytes;
        device[i] = f->device_bytes;
        host[i] = f->host_bytes;
    }
    bytes_row(out, "**allocated**", peak);
    bytes_row(out, "reserved by the allocator", reserved);
    bytes_row(out, "on the device, with context", device);
    bytes_row(out, "on the host", host);
    fputs("| fits |", out);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", ms_fit_cell(ms_plan_reason(v, v->columns[i].figures)));
    fputc('\n', out);
}

static void numbers_row(FILE *out, const char *label, const double values[MS_PLAN_COLUMNS],
                        uint32_t decimals)
{
    char text[MS_FIXED_TEXT];
    fprintf(out, "| %s |", label);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", ms_fixed(values[i], decimals, text));
    fputc('\n', out);
}

static void write_time(FILE *out, const ms_plan_view *v)
{
    double compute[MS_PLAN_COLUMNS], again[MS_PLAN_COLUMNS], exposed[MS_PLAN_COLUMNS];
    double step[MS_PLAN_COLUMNS], cost[MS_PLAN_COLUMNS], tokens[MS_PLAN_COLUMNS];
    double retry[MS_PLAN_COLUMNS];
    char text[MS_FIXED_TEXT];
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        const ms_step_time *t = &v->columns[i].figures->time;
        compute[i] = t->compute_ms - t->recompute_ms;
        again[i] = t->recompute_ms;
        exposed[i] = ms_step_waiting_ms(t);
        retry[i] = t->retry_ms;
        step[i] = t->step_ms;
        cost[i] = ms_plan_cost(v, t->step_ms);
        tokens[i] = ms_run_tokens_per_s(v->run, t->step_ms);
    }
    if (!(step[1] > 0)) {
        if (*v->rates_note)
            fprintf(out, "\n## A step\n\nHere %s.\n", v->rates_note);
        return;
    }
    fputs("\n## A step\n\n", out);
    ms_markdown_text(out, v->times_note);
    fputs(".\n", out);
    columns_head(out, v, "ms");
    numbers_row(out, "computing", compute, 3);
    numbers_row(out, "recomputing", again, 3);
    numbers_row(out, v->waiting, exposed, 3);
    if (retry[0] + retry[1] + retry[2] > 0)
        numbers_row(out, "returning cached memory", retry, 3);
    numbers_row(out, "**together**", step, 3);
    fputs("| vs. keeping everything |", out);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", ms_plan_percent(ms_plan_overhead(v, step[i]), text));
    fputs("\n", out);
    if (ms_plan_gpus(v) > 1)
        numbers_row(out, "tokens/s, all GPUs", tokens, 1);
    ms_fixed(v->answer->task->gpu_cost_per_hour, 2, text);
    if (ms_plan_gpus(v) > 1)
        fprintf(out, "| 1,000 steps, %" PRIu64 " GPUs at %s per hour |", ms_plan_gpus(v), text);
    else
        fprintf(out, "| 1,000 steps, at %s per hour |", text);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        fprintf(out, " %s |", ms_fixed(cost[i], 2, text));
    fputc('\n', out);
}

static void write_decisions(FILE *out, const ms_plan_view *v)
{
    if (v->plan->decisions.count == 0 || v->is_fallback)
        return;
    fputs("\n## Treated\n\n| what | how | GiB freed | GiB on host | ms longer | why |\n"
          "|---|---|---:|---:|---:|---|\n",
          out);
    for (uint32_t i = 0; i < v->plan->decisions.count; i++) {
        const ms_decision *d = &v->plan->decisions.items[i];
        char place[MS_PLAN_PLACE_TEXT], freed[MS_GIB_TEXT], host[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
        fprintf(out, "| %s | `%s` | %s | %s | %s | ", ms_plan_place(d, place), d->treatment,
                ms_gib(d->freed_bytes, freed), ms_gib(d->host_bytes, host),
                ms_fixed(d->added_ms, 3, ms));
        ms_markdown_text(out, d->why ? d->why : "");
        fputs(" |\n", out);
    }
    if (*v->kept_layers)
        fprintf(out, "\nKept: layers %s.\n", v->kept_layers);
}

static void figures_row(FILE *out, const ms_plan_view *v, const char *name,
                        const ms_step_figures *f, const char *text, bool is_same_run)
{
    char gib[MS_GIB_TEXT], peak[MS_GIB_TEXT], ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT];
    double overhead = is_same_run ? ms_plan_overhead(v, f->time.step_ms) : NAN;
    fprintf(out, "| %s | %s | %s | %s | %s | %s | `%s` |\n", name, ms_gib(f->peak_bytes, peak),
            ms_gib(f->device_bytes, gib), ms_plan_ms(f->time.step_ms, 3, ms),
            ms_plan_percent(overhead, percent), ms_fit_cell(ms_plan_reason(v, f)),
            *text ? text : "keep everything");
}

static void figures_head(FILE *out, const char *title, const char *what, const char *last)
{
    fprintf(out,
            "\n## %s\n\n| %s | GiB peak | GiB on device | ms per step | vs. keep all | fits | %s "
            "|\n|---|---:|---:|---:|---:|---|---|\n",
            title, what, last);
}

static void write_alternatives(FILE *out, const ms_plan_view *v, const char *title,
                               const char *what, const char *last, const ms_vec_alternatives *list,
                               bool is_same_run)
{
    if (list->count == 0)
        return;
    figures_head(out, title, what, last);
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_alternative *a = &list->items[i];
        if (a->has_figures)
            figures_row(out, v, a->name, &a->figures,
                        a->option && *a->option ? a->option : a->figures.treat, is_same_run);
        else
            fprintf(out, "| %s | - | - | - | - | no | |\n", a->name);
    }
}

static void write_targets(FILE *out, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    if (!targets || targets->count == 0)
        return;
    figures_head(out, "Trainers", "trainer", "plan");
    figures_row(out, v, v->answer->task->target, v->figures, v->figures->treat, true);
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (!a->unsupported)
            figures_row(out, v, a->target->name, &a->plan.plan, a->plan.plan.treat, true);
    }
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->items[i].unsupported) {
            fprintf(out, "\n%s is not compared: ", targets->items[i].target->name);
            ms_markdown_text(out, targets->items[i].unsupported);
            fputc('\n', out);
        }
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (a->plan.target_text && a->plan.outcome != MS_PLAN_INFEASIBLE)
            fprintf(out, "\n### %s\n\n```\n%s\n```\n", a->target->title, a->plan.target_text);
    }
}

static void write_suggestions(FILE *out, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    write_alternatives(out, v, ms_plan_suggestions_title(plan), "change", "option",
                       &plan->suggestions, false);
}

static bool write_plan(FILE *out, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    char ms[MS_FIXED_TEXT], gib[MS_GIB_TEXT], percent[MS_FIXED_TEXT];
    ms_markdown_title(out, "Plan of a training step", v->verdict, v->title);
    fprintf(out, "; %s.\n", v->proof);
    if (*v->why)
        ms_markdown_note(out, ms_fit_why_label, v->why);
    ms_markdown_note(out, "Note:", v->run->several_gpus.text);
    if (*v->margin)
        fprintf(out, "\n%s.\n", v->margin);
    if (*v->evaluation)
        fprintf(out, "\n%s.\n", v->evaluation);
    if (*v->steep)
        fprintf(out, "\n%s.\n", v->steep);
    if (ms_plan_suggestions_lead(v))
        write_suggestions(out, v);
    write_treat(out, v);
    bool ok = ms_plan_needs_markdown(out, v);
    write_target(out, v);
    if (ms_plan_suggestions_follow(v))
        write_suggestions(out, v);
    write_peak(out, v);
    write_time(out, v);
    write_decisions(out, v);
    write_targets(out, v);
    write_alternatives(out, v, "Other planners at the same budget", "planner", "plan",
                       &plan->compared, true);
    if (v->answer->task->planner == MS_PLANNER_RULES)
        fprintf(out, "\nThe rules expected a peak of %s GiB and %s time; %s.\n",
                ms_gib(plan->rules_estimate_bytes, gib),
                ms_plan_percent(plan->rules_estimate_overhead, percent), v->host_note);
    ms_calibrated_markdown(out, v->run, v->arena);
    ms_markdown_run(out, v->metadata, v->metadata_count);
    ms_inputs_markdown(out, &v->run->keys);
    fprintf(out, "\nPlanned by %s: %" PRIu32 " simulations, %s ms.\n",
            ms_planner_names[v->answer->task->planner], plan->simulations,
            ms_fixed(plan->solve_ms, 0, ms));
    return ok;
}

static bool write_curve(FILE *out, const ms_plan_view *v)
{
    ms_markdown_title(out, "Time against memory", v->verdict, v->title);
    fputc('\n', out);
    ms_markdown_note(out, "Note:", v->run->several_gpus.text);
    figures_head(out, "Budgets", "GiB budget", "plan");
    for (uint32_t i = 0; i < v->curve->points.count; i++) {
        const ms_curve_point *p = &v->curve->points.items[i];
        char budget[MS_GIB_TEXT];
        figures_row(out, v, ms_gib(p->budget_bytes, budget), &p->figures, p->figures.treat, true);
    }
    ms_calibrated_markdown(out, v->run, v->arena);
    ms_markdown_run(out, v->metadata, v->metadata_count);
    ms_inputs_markdown(out, &v->run->keys);
    return true;
}

bool ms_plan_markdown(FILE *out, const ms_plan_view *v)
{
    return v->curve ? write_curve(out, v) : write_plan(out, v);
}
