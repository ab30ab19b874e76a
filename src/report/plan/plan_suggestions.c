/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/plan_suggestions.h"

#include "report/view/suggestions.h"

bool ms_plan_suggestions_lead(const ms_plan_view *view)
{
    return view->plan && view->plan->suggestions.count && view->is_infeasible;
}

bool ms_plan_suggestions_follow(const ms_plan_view *view)
{
    return view->plan && view->plan->suggestions.count && !view->is_infeasible;
}

const char *ms_plan_alternative_text(const ms_alternative *a)
{
    if (!ms_reason_fits(a->figures.reason))
        return "does not fit";
    if (a->option && *a->option)
        return a->option;
    return *a->figures.treat ? a->figures.treat : "keep everything";
}

void ms_plan_treat_cell(const ms_page *p, const char *text, uint32_t column)
{
    enum { LEAST = 12, INDENT = 6 };
    if (column + LEAST <= p->columns) {
        ms_page_last_cell(p, text, p->columns - column);
        return;
    }
    fprintf(p->out, "\n%*s", INDENT, "");
    ms_page_last_cell(p, text, p->columns - INDENT);
}

/* Changes of the run, when nothing fits. */
static void write_changes(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    ms_advice_cost before = MS_COST_COUNT;
    ms_page_heading(p, ms_plan_suggestions_title(plan),
                    "  (GiB on the device, time of a step; each simulated)");
    for (uint32_t i = 0; i < plan->suggestions.count; i++) {
        const ms_alternative *a = &plan->suggestions.items[i];
        const ms_suggestion_lines lines = {
            .title = a->name,
            .changes = a->changes,
            .option = a->option,
            .cost = a->cost,
            .device_bytes = a->figures.device_bytes,
            .reason = a->figures.reason,
            .added_time = ms_plan_overhead(v, a->figures.time.step_ms),
        };
        ms_suggestion_console(p, &lines, before);
        before = a->cost;
    }
}

/* What is typed is whole; the text of a plan may be very long. */
static void write_option(const ms_page *p, const ms_alternative *a)
{
    enum { INDENT = 6 };
    const char *text = ms_plan_alternative_text(a);
    fprintf(p->out, "%*s", text == a->option ? INDENT - 1 : INDENT, "");
    if (text == a->option)
        ms_page_rest(p, INDENT - 1, text);
    else
        ms_page_last_cell(p, text, p->columns - INDENT);
}

void ms_plan_suggestions_console(const ms_page *p, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    if (v->is_infeasible) {
        write_changes(p, v);
        return;
    }
    ms_page_heading(p, ms_plan_suggestions_title(plan),
                    "  (GiB on the device, ms; each simulated)");
    for (uint32_t i = 0; i < plan->suggestions.count; i++) {
        const ms_alternative *a = &plan->suggestions.items[i];
        char gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
        fprintf(p->out, "  %8s%10s ", a->has_figures ? ms_gib(a->figures.device_bytes, gib) : "-",
                a->has_figures ? ms_plan_ms(a->figures.time.step_ms, 1, ms) : "-");
        ms_page_rest(p, 21, a->name);
        write_option(p, a);
    }
}
