/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan for figures in a file, for people and as JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/printable.h"
#include "plan/modules/recount.h"
#include "text/size.h"
#include "json/write.h"
#include "plan/file_plan.h"
#include "report/kit/writer_list.h"

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

/* A name of the file, at the end of a line. */
static void write_name(FILE *out, const char *name)
{
    ms_put_printable(out, name);
    fputc('\n', out);
}

static void write_operators(const ms_file_plan *plan, FILE *out)
{
    const ms_operator_plan *p = &plan->operators;
    char saved[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES], text[MS_SIZE_TEXT_BYTES];
    if (!p->save)
        return;
    ms_file_print(out, "Fits: %s saved of %s allowed; %.3f of %.3f ms recomputed.\n\n",
                  size_text(p->saved_bytes, saved), size_text(p->budget_bytes, budget),
                  p->recompute_ms, p->total_ms);
    fprintf(out, "%4s  %-9s %12s %12s  %s\n", "", "PLAN", "MEMORY", "TIME", "OPERATOR");
    for (uint32_t i = 0; i < plan->operator_task.count; i++) {
        const ms_operator *o = &plan->operator_task.operators[i];
        ms_file_print(out, "%4" PRIu32 "  %-9s %12s %9.3f ms  ", i,
                      p->save[i] ? "save" : "recompute", size_text(o->memory_bytes, text),
                      o->runtime_ms);
        write_name(out, o->name);
    }
}

static void write_decisions(const ms_file_plan *plan, FILE *out)
{
    char text[MS_SIZE_TEXT_BYTES];
    fprintf(out, "\n%9s %12s %12s  %s\n", "DISCARD", "FREED", "RECOMPUTE", "CHECKPOINTED MODULE");
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const ms_module *m = &plan->graph.modules[i];
        uint32_t parts = plan->checkpoints.parts[i];
        if (parts > 0) {
            ms_file_print(out, "%7.2f %% %12s %9.3f ms  ", 100.0 * parts / MS_PARTS,
                          size_text(ms_checkpoint_freed_bytes(m, parts), text),
                          ms_checkpoint_ms(m, parts));
            write_name(out, m->fqn);
        }
    }
}

/* A search ends when its time is over, or when it has done all the work that it may. */
static const char *ending_text(const ms_file_plan *plan)
{
    ms_plan_outcome outcome = plan->checkpoints.outcome;
    bool is_late = plan->solve_ms >= 1000 * ms_plan_time_limit_s(plan->settings);
    return outcome == MS_PLAN_LIMIT && is_late ? "stopped by the time limit"
                                               : ending_texts[outcome];
}

static void write_checkpoints(const ms_file_plan *plan, FILE *out)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->has_plan) {
        fprintf(out, "Does not fit %s.\n", budget);
        return;
    }
    fprintf(out, "Fits: peak %s of %s, in the backward of ", size_text(p->peak_bytes, peak),
            budget);
    ms_put_printable(out, plan->graph.modules[p->peak_module].fqn);
    fputs(".\n", out);
    if (!(p->recompute_ms > 0)) {
        fputs("Nothing has to be recomputed.\n", out);
        return;
    }
    ms_file_print(out, "Recomputes %.3f ms; at least %.3f ms are needed (gap %.3f %%, %s).\n",
                  p->recompute_ms, p->bound_ms, 100 * p->gap, ending_text(plan));
    write_decisions(plan, out);
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

static void write_shards(const ms_file_plan *plan, FILE *out)
{
    const ms_shard_plan *p = &plan->shards;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES], text[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->units[0]) {
        fprintf(out,
                p->outcome == MS_PLAN_INFEASIBLE ? "Does not fit %s.\n" : "No set found for %s.\n",
                budget);
        return;
    }
    ms_file_print(out, "Fits: peak %s of %s; %.3f ms of communication are exposed (%s).\n\n",
                  size_text(p->peak_bytes, peak), budget, p->exposed_ms,
                  p->outcome == MS_PLAN_OPTIMAL ? "optimal" : "not proven to be optimal");
    fprintf(out, "%12s  %s\n", "PARAMETERS", "UNIT");
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->units[i]) {
            fprintf(out, "%12s  ", size_text(unit_bytes(plan, i), text));
            write_name(out, plan->graph.modules[i].fqn);
        }
}

bool ms_file_plan_console(FILE *out, const ms_file_plan *plan)
{
    if (plan->kind == MS_PLAN_OPERATORS)
        write_operators(plan, out);
    else if (plan->kind == MS_PLAN_SHARDS)
        write_shards(plan, out);
    else
        write_checkpoints(plan, out);
    return true;
}
