/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan for figures in a file, for people and as JSON.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/locale.h"
#include "decide/plan/modules/recount.h"
#include "base/text/size.h"
#include "base/json/write.h"
#include "decide/plan/file_plan.h"
#include "report/kit/list_table.h"
#include "report/kit/writer_list.h"

enum { SENTENCE_BYTES = 1024 };

static const char *const ending_texts[] = {
    [MS_PLAN_OPTIMAL] = "proven",
    [MS_PLAN_INFEASIBLE] = "",
    [MS_PLAN_LIMIT] = "not closed", /* see ending_text */
    [MS_PLAN_STOPPED] = "stopped",
};

/* ---- JSON ---- */

static void write_operators_json(const ms_file_plan *plan, ms_json_writer *w)
{
    ms_json_array_inline(w, "save");
    for (uint32_t i = 0; plan->operators.save && i < plan->operator_task.count; i++)
        ms_json_uint(w, NULL, plan->operators.save[i]);
    ms_json_close(w);
}

static void write_figures(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    if (p->has_plan) {
        ms_json_double(w, "recompute_ms", p->recompute_ms, 6);
        ms_json_double(w, "bound_ms", p->bound_ms, 6);
        ms_json_double(w, "gap", p->gap, 6);
        ms_json_uint(w, "peak_bytes", p->peak_bytes);
    } else {
        ms_json_null(w, "recompute_ms");
        ms_json_null(w, "bound_ms");
        ms_json_null(w, "gap");
        ms_json_null(w, "peak_bytes");
        ms_json_uint(w, "smallest_peak_bytes", p->least_bytes);
    }
}

static void write_checkpoints_json(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    ms_json_string(w, "status", ms_plan_outcome_names[p->outcome]);
    ms_json_object(w, "decisions");
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->parts[i] > 0)
            ms_json_double(w, plan->graph.modules[i].fqn, (double)p->parts[i] / MS_PARTS, 6);
    ms_json_close(w);
    write_figures(plan, w);
    ms_json_double(w, "solve_ms", plan->solve_ms, 3);
}

static void write_shards_json(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_shard_plan *p = &plan->shards;
    bool is_proven = p->outcome == MS_PLAN_OPTIMAL;
    ms_json_string(w, "status", ms_plan_outcome_names[p->outcome]);
    ms_json_array(w, "units");
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->units[i])
            ms_json_string(w, NULL, plan->graph.modules[i].fqn);
    ms_json_close(w);
    if (p->units[0]) {
        ms_json_double(w, "exposed_ms", p->exposed_ms, 6);
        ms_json_double(w, "bound_ms", is_proven ? p->exposed_ms : 0, 6);
        ms_json_double(w, "gap", !is_proven && p->exposed_ms > 0, 6);
        ms_json_uint(w, "peak_bytes", p->peak_bytes);
    } else {
        ms_json_null(w, "exposed_ms");
        ms_json_null(w, "bound_ms");
        ms_json_null(w, "gap");
        ms_json_null(w, "peak_bytes");
    }
    ms_json_double(w, "solve_ms", plan->solve_ms, 3);
}

bool ms_file_plan_json(FILE *out, const ms_file_plan *plan)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    if (plan->kind == MS_PLAN_OPERATORS)
        write_operators_json(plan, &w);
    else if (plan->kind == MS_PLAN_SHARDS)
        write_shards_json(plan, &w);
    else
        write_checkpoints_json(plan, &w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- for people ---- */

static const char *size_text(uint64_t bytes, char *text)
{
    return ms_size_format(bytes, text, MS_SIZE_TEXT_BYTES);
}

/* A sentence at the margin. */
__attribute__((format(printf, 2, 3))) static void say(const ms_page *page, const char *format, ...)
{
    char text[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    ms_page_line(page, text);
}

static void put_ms(ms_list_table *list, double ms)
{
    char text[MS_SIZE_TEXT_BYTES];
    ms_text_print(text, sizeof text, "%.3f ms", ms);
    ms_list_put(list, text);
}

static void put_size(ms_list_table *list, uint64_t bytes)
{
    char text[MS_SIZE_TEXT_BYTES];
    ms_list_put(list, size_text(bytes, text));
}

static bool write_operators(const ms_file_plan *plan, const ms_page *page)
{
    static const ms_list_column columns[] = {{"", 0, 4, 0, true},
                                             {"PLAN", 2, 9, 0, false},
                                             {"MEMORY", 1, 12, 0, true},
                                             {"TIME", 1, 12, 0, true},
                                             {"OPERATOR", 2, 0, 0, false}};
    const ms_operator_plan *p = &plan->operators;
    char saved[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES], number[16];
    if (!p->save)
        return true;
    say(page, "Fits: %s saved of %s allowed; %.3f of %.3f ms recomputed.",
        size_text(p->saved_bytes, saved), size_text(p->budget_bytes, budget), p->recompute_ms,
        p->total_ms);
    fputc('\n', page->out);
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->operator_task.count; i++) {
        const ms_operator *o = &plan->operator_task.operators[i];
        snprintf(number, sizeof number, "%" PRIu32, i);
        ms_list_put(&list, number);
        ms_list_put(&list, p->save[i] ? "save" : "recompute");
        put_size(&list, o->memory_bytes);
        put_ms(&list, o->runtime_ms);
        ms_list_put(&list, o->name);
    }
    return ms_list_end(&list, page, page->columns);
}

static bool write_decisions(const ms_file_plan *plan, const ms_page *page)
{
    static const ms_list_column columns[] = {{"DISCARD", 0, 9, 0, true},
                                             {"FREED", 1, 12, 0, true},
                                             {"RECOMPUTE", 1, 12, 0, true},
                                             {"CHECKPOINTED MODULE", 2, 0, 0, false}};
    char text[MS_SIZE_TEXT_BYTES];
    fputc('\n', page->out);
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const ms_module *m = &plan->graph.modules[i];
        uint32_t parts = plan->checkpoints.parts[i];
        if (parts > 0) {
            ms_text_print(text, sizeof text, "%.2f %%", 100.0 * parts / MS_PARTS);
            ms_list_put(&list, text);
            put_size(&list, ms_checkpoint_freed_bytes(m, parts));
            put_ms(&list, ms_checkpoint_ms(m, parts));
            ms_list_put(&list, m->fqn);
        }
    }
    return ms_list_end(&list, page, page->columns);
}

/* A search ends when its time is over, or when it has done all the work that it may. */
static const char *ending_text(const ms_file_plan *plan)
{
    ms_plan_outcome outcome = plan->checkpoints.outcome;
    bool is_late = plan->solve_ms >= 1000 * ms_plan_time_limit_s(plan->settings);
    return outcome == MS_PLAN_LIMIT && is_late ? "stopped by the time limit"
                                               : ending_texts[outcome];
}

static bool write_checkpoints(const ms_file_plan *plan, const ms_page *page)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->has_plan) {
        say(page, "Does not fit %s.", budget);
        return true;
    }
    say(page, "Fits: peak %s of %s, in the backward of %s.", size_text(p->peak_bytes, peak), budget,
        plan->graph.modules[p->peak_module].fqn);
    if (!(p->recompute_ms > 0)) {
        say(page, "Nothing has to be recomputed.");
        return true;
    }
    say(page, "Recomputes %.3f ms; at least %.3f ms are needed (gap %.3f %%, %s).", p->recompute_ms,
        p->bound_ms, 100 * p->gap, ending_text(plan));
    return write_decisions(plan, page);
}

/* The root keeps what is in no other unit. */
static uint64_t unit_bytes(const ms_file_plan *plan, uint32_t unit)
{
    uint64_t bytes = plan->graph.modules[unit].param_bytes;
    for (uint32_t i = 1; unit == 0 && i < plan->graph.count; i++)
        if (plan->shards.units[i]) {
            uint64_t inside = plan->graph.modules[i].param_bytes;
            bytes = bytes > inside ? bytes - inside : 0;
        }
    return bytes;
}

static bool write_shards(const ms_file_plan *plan, const ms_page *page)
{
    static const ms_list_column columns[] = {{"PARAMETERS", 0, 12, 0, true},
                                             {"UNIT", 2, 0, 0, false}};
    const ms_shard_plan *p = &plan->shards;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->units[0]) {
        say(page, p->outcome == MS_PLAN_INFEASIBLE ? "Does not fit %s." : "No set found for %s.",
            budget);
        return true;
    }
    say(page, "Fits: peak %s of %s; %.3f ms of communication are exposed (%s).",
        size_text(p->peak_bytes, peak), budget, p->exposed_ms,
        p->outcome == MS_PLAN_OPTIMAL ? "optimal" : "not proven to be optimal");
    fputc('\n', page->out);
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->units[i]) {
            put_size(&list, unit_bytes(plan, i));
            ms_list_put(&list, plan->graph.modules[i].fqn);
        }
    return ms_list_end(&list, page, page->columns);
}

bool ms_file_plan_console(FILE *out, const ms_file_plan *plan)
{
    const ms_page page = ms_page_begin(out, plan->style);
    return plan->kind == MS_PLAN_OPERATORS ? write_operators(plan, &page)
           : plan->kind == MS_PLAN_SHARDS  ? write_shards(plan, &page)
                                           : write_checkpoints(plan, &page);
}
