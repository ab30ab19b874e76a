/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plan.json, defined by schemas/plan.schema.json. `memscope analyze --plan` reads "treat" and the
 * devices of optimizer and parameters.
 */
#include <math.h>

#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/treatment.h"
#include "base/json/write.h"
#include "decide/plan/trainers/targets.h"
#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/times.h"
#include "report/view/fit_words.h"
#include "report/plan/plan_needs.h"
#include "report/kit/writer_list.h"
#include "report/plan/plan_view.h"
#include "report/kit/category_id.h"

static void number_or_null(ms_json_writer *w, const char *key, bool known, double value,
                           int decimals)
{
    ms_json_double(w, key, known ? value : NAN, decimals);
}

static const char *status_name(const ms_plan_view *v)
{
    bool is_infeasible = v->is_infeasible && v->plan->outcome != MS_PLAN_STOPPED;
    return ms_plan_outcome_names[is_infeasible ? MS_PLAN_INFEASIBLE : v->plan->outcome];
}

/* The members that every way to run a step has. The time of another run says nothing about this
 * one. */
static void write_some(ms_json_writer *w, const ms_plan_view *view, const ms_step_figures *f,
                       bool is_same_run)
{
    ms_fit_json(w, ms_plan_reason(view, f));
    ms_json_uint(w, "peak_memory_bytes", f->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", f->reserved_bytes);
    ms_json_uint(w, "device_bytes", f->device_bytes);
    ms_json_uint(w, "host_bytes", f->host_bytes);
    ms_json_uint(w, "allocator_retries", f->retries);
    ms_json_string(w, "peak_stage", ms_phase_name(f->step_peak_phase));
    ms_json_object_inline(w, "categories");
    for (uint32_t i = 0; i < MS_CATEGORY_COUNT; i++)
        if (f->category_bytes[i])
            ms_json_uint(w, ms_json_category((uint8_t)i), f->category_bytes[i]);
    ms_json_close(w);
    bool timed = f->time.step_ms > 0;
    number_or_null(w, "step_ms", timed, f->time.step_ms, 3);
    number_or_null(w, "compute_ms", timed, f->time.compute_ms, 3);
    number_or_null(w, "recompute_ms", timed, f->time.recompute_ms, 3);
    number_or_null(w, "exposed_copy_ms", timed && !f->time.lacks_rate, f->time.exposed_ms, 3);
    number_or_null(w, "copy_ms", timed, f->time.copy_ms, 3);
    number_or_null(w, "retry_ms", timed, f->time.retry_ms, 3);
    double overhead = is_same_run ? ms_plan_overhead(view, f->time.step_ms) : NAN;
    ms_json_double(w, "overhead_pct", 100 * overhead, 3);
    ms_json_string(w, "treat", f->treat);
}

static void write_figures(ms_json_writer *w, const ms_plan_view *view, const ms_step_figures *f)
{
    write_some(w, view, f, true);
}

/* Of all ranks together. */
static void write_tokens(ms_json_writer *w, const ms_plan_view *v)
{
    const double step_ms = v->figures->time.step_ms;
    ms_json_uint(w, "tokens", ms_run_tokens(v->run));
    number_or_null(w, "tokens_per_s", step_ms > 0, ms_run_tokens_per_s(v->run, step_ms), 4);
    number_or_null(w, "tokens_per_s_per_gpu", step_ms > 0,
                   ms_run_tokens_per_s_per_gpu(v->run, step_ms), 4);
}

/* What is left of the budget, and whether steps may return cached memory. */
static void write_margin(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_step_task *task = v->answer->task;
    ms_json_object_inline(w, "margin");
    ms_json_uint(w, "bytes", ms_plan_margin_bytes(&task->margin));
    ms_json_uint(w, "context_bytes", task->margin.context_bytes);
    ms_json_uint(w, "communicator_bytes", task->margin.communicator_bytes);
    ms_json_bool(w, "allows_retries", task->allows_retries);
    ms_json_close(w);
}

static void write_proof(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_step_plan *p = v->plan;
    bool known = !v->is_infeasible && p->bound_ms > 0;
    bool assumed = !v->is_infeasible && v->run->device->has_assumed_rates && p->has_gap;
    number_or_null(w, "bound_ms", known, p->bound_ms, 3);
    number_or_null(w, "gap", known || assumed, p->gap, 6);
    ms_json_double(w, "solve_ms", p->solve_ms, 3);
    ms_json_uint(w, "simulations", p->simulations);
}

/* Rows of layers that are treated alike would do; a row for each is easier to read back. */
static bool write_treatments(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_treatments *t = &v->figures->treatments;
    bool ok = true;
    ms_json_array(w, "treatments");
    for (uint32_t i = 0; t->layers && i < v->model->num_layers; i++) {
        const char *text = ms_treatment_text(&t->layers[i], v->arena);
        ok = ok && text;
        ms_json_object_inline(w, NULL);
        ms_json_uint(w, "layer", i);
        ms_json_string(w, "treatment", text);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_uint(w, "loss_chunks", t->loss_chunks);
    return ok;
}

static void write_rationale(ms_json_writer *w, const ms_plan_view *v)
{
    ms_json_array(w, "rationale");
    for (uint32_t i = 0; !v->is_fallback && i < v->plan->decisions.count; i++) {
        const ms_decision *d = &v->plan->decisions.items[i];
        ms_json_object(w, NULL);
        if (d->first_layer == MS_NONE) {
            ms_json_null(w, "first_layer");
            ms_json_null(w, "last_layer");
        } else {
            ms_json_uint(w, "first_layer", d->first_layer);
            ms_json_uint(w, "last_layer", d->last_layer);
        }
        ms_json_string(w, "treatment", d->treatment);
        ms_json_uint(w, "freed_bytes", d->freed_bytes);
        ms_json_uint(w, "host_bytes", d->host_bytes);
        ms_json_double(w, "added_ms", d->added_ms, 3);
        ms_json_string(w, "why", d->why);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_cost(ms_json_writer *w, const ms_plan_view *v)
{
    ms_json_object(w, "cost");
    ms_json_double(w, "gpu_cost_per_hour", v->answer->task->gpu_cost_per_hour, 2);
    ms_json_uint(w, "gpus", ms_plan_gpus(v));
    ms_json_object_inline(w, "per_1000_steps");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        double step_ms = v->columns[i].figures->time.step_ms;
        number_or_null(w, v->columns[i].name, step_ms > 0, ms_plan_cost(v, step_ms), 4);
    }
    ms_json_close(w);
    ms_json_close(w);
}

static void write_alternatives(ms_json_writer *w, const ms_plan_view *v, const char *key,
                               const ms_alternative *items, uint32_t count, bool is_same_run)
{
    ms_json_array(w, key);
    for (uint32_t i = 0; i < count; i++) {
        ms_json_object(w, NULL);
        ms_json_string(w, "name", items[i].name);
        ms_json_string(w, "option", items[i].option ? items[i].option : "");
        if (items[i].changes) {
            ms_json_string(w, "cost", ms_advice_cost_names[items[i].cost]);
            ms_json_string(w, "changes_result", *items[i].changes ? items[i].changes : NULL);
        }
        if (items[i].has_figures)
            write_some(w, v, &items[i].figures, is_same_run);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_target(ms_json_writer *w, const ms_step_plan *plan, const char *name,
                         const char *title)
{
    bool priced = plan->outcome != MS_PLAN_INFEASIBLE && plan->target_free_ms > 0;
    ms_json_string(w, "name", name);
    ms_json_string(w, "title", title);
    ms_json_string(w, "text", plan->target_text);
    number_or_null(w, "free_step_ms", plan->target_free_ms > 0, plan->target_free_ms, 3);
    if (!priced) {
        ms_json_null(w, "price");
        return;
    }
    double more_ms = plan->plan.time.step_ms - plan->target_free_ms;
    ms_json_object_inline(w, "price");
    ms_json_double(w, "step_ms", more_ms, 3);
    ms_json_double(w, "step_pct", 100 * more_ms / plan->target_free_ms, 3);
    ms_json_int(w, "peak_memory_bytes",
                (int64_t)(plan->plan.peak_bytes - plan->target_free_peak_bytes));
    ms_json_close(w);
}

/* Members of "target" and then the figures, for each trainer that was asked. */
static void write_targets(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    if (!targets || targets->count == 0)
        return;
    ms_json_array(w, "targets");
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (a->unsupported)
            continue;
        ms_json_object(w, NULL);
        ms_json_string(w, "status", ms_plan_outcome_names[a->plan.outcome]);
        write_target(w, &a->plan, a->target->name, a->target->title);
        write_figures(w, v, &a->plan.plan);
        ms_json_close(w);
    }
    ms_json_close(w);
}

/* Trainers that could not be planned for, and why. */
static void write_unsupported(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    if (!targets || targets->count == 0)
        return;
    ms_json_array(w, "unsupported_targets");
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (!a->unsupported)
            continue;
        ms_json_object(w, NULL);
        ms_json_string(w, "name", a->target->name);
        ms_json_string(w, "title", a->target->title);
        ms_json_string(w, "reason", a->unsupported);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_rules(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_step_plan *p = v->plan;
    if (v->answer->task->planner != MS_PLANNER_RULES)
        return;
    ms_json_object(w, "rules_estimate");
    ms_json_uint(w, "peak_memory_bytes", p->rules_estimate_bytes);
    ms_json_double(w, "overhead_pct", 100 * p->rules_estimate_overhead, 3);
    ms_json_uint(w, "max_cpu_offload_bytes", v->answer->task->max_host_bytes);
    ms_json_bool(w, "is_half_of_host", v->answer->task->is_host_half);
    ms_json_close(w);
}

/* What treatments were weighed at, where the device's rates are not known. */
static void write_assumed_rates(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_device *device = v->run->device;
    if (!device->has_assumed_rates) {
        ms_json_null(w, "assumed_rates");
        return;
    }
    ms_json_object_inline(w, "assumed_rates");
    ms_json_double(w, "bf16_tflops", device->bf16_flops / 1e12, 3);
    ms_json_double(w, "fp32_tflops", device->fp32_flops / 1e12, 3);
    ms_json_double(w, "memory_gb_per_s", device->memory_bytes_per_s / 1e9, 3);
    ms_json_double(w, "host_link_gb_per_s", device->host_link_bytes_per_s / 1e9, 3);
    ms_json_close(w);
}

static void write_times(ms_json_writer *w, const ms_plan_view *v)
{
    if (!*v->times_note)
        return;
    ms_json_object(w, "times");
    ms_times_json(w, v->arena, v->run);
    ms_json_close(w);
}

static void write_metadata(ms_json_writer *w, const ms_plan_view *v)
{
    write_assumed_rates(w, v);
    ms_calibrated_json(w, v->run, v->arena);
    write_times(w, v);
    ms_json_object(w, "metadata");
    for (uint32_t i = 0; i < v->metadata_count; i++)
        ms_field_json(w, &v->metadata[i]);
    ms_json_close(w);
}

static bool write_plan(FILE *out, const ms_plan_view *v)
{
    ms_json_writer w = {.out = out};
    const ms_step_plan *plan = v->plan;
    const ms_target *target = ms_target_find(v->answer->task->target);
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_PLAN_SCHEMA_VERSION);
    ms_json_string(&w, "status", status_name(v));
    ms_json_string(&w, "planner", ms_planner_names[v->answer->task->planner]);
    if (v->budget_bytes)
        ms_json_uint(&w, "budget_bytes", v->budget_bytes);
    else
        ms_json_null(&w, "budget_bytes");
    if (v->least_budget_bytes)
        ms_json_uint(&w, "least_budget_bytes", v->least_budget_bytes);
    else
        ms_json_null(&w, "least_budget_bytes");
    write_margin(&w, v);
    write_figures(&w, v, v->figures);
    write_tokens(&w, v);
    ms_json_string(&w, "optimizer_device", ms_place_names[v->run->training.optimizer_device]);
    ms_json_string(&w, "parameter_device", ms_place_names[v->run->parameter_device]);
    write_proof(&w, v);
    bool ok = ms_plan_needs_json(&w, v);
    ok = write_treatments(&w, v) && ok;
    write_rationale(&w, v);
    for (uint32_t i = 1; i < MS_PLAN_COLUMNS; i++) {
        ms_json_object(&w, v->columns[i].name);
        write_figures(&w, v, v->columns[i].figures);
        ms_json_close(&w);
    }
    write_cost(&w, v);
    ms_json_object(&w, "target");
    write_target(&w, plan, v->answer->task->target, target ? target->title : NULL);
    ms_json_close(&w);
    write_targets(&w, v);
    write_unsupported(&w, v);
    write_rules(&w, v);
    write_alternatives(&w, v, "compared", plan->compared.items, plan->compared.count, true);
    write_alternatives(&w, v, "suggestions", plan->suggestions.items, plan->suggestions.count,
                       false);
    write_metadata(&w, v);
    ms_inputs_json(&w, &v->run->keys);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return ok;
}

/* ---- the curve ---- */

static void write_point(ms_json_writer *w, const ms_plan_view *v, const ms_curve_point *p)
{
    ms_json_object(w, NULL);
    ms_json_uint(w, "budget_bytes", p->budget_bytes);
    write_figures(w, v, &p->figures);
    number_or_null(w, "bound_ms", p->bound_ms > 0, p->bound_ms, 3);
    number_or_null(w, "gap", p->bound_ms > 0, p->gap, 6);
    ms_json_close(w);
}

static bool write_curve(FILE *out, const ms_plan_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_PLAN_SCHEMA_VERSION);
    ms_json_string(&w, "planner", ms_planner_names[v->answer->task->planner]);
    ms_json_string(&w, "target", v->answer->task->target);
    ms_json_double(&w, "solve_ms", v->curve->solve_ms, 3);
    ms_json_object(&w, "keep_all");
    write_figures(&w, v, &v->curve->keep_all);
    ms_json_close(&w);
    ms_json_array(&w, "points");
    for (uint32_t i = 0; i < v->curve->points.count; i++)
        write_point(&w, v, &v->curve->points.items[i]);
    ms_json_close(&w);
    write_metadata(&w, v);
    ms_inputs_json(&w, &v->run->keys);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

bool ms_plan_json(FILE *out, const ms_plan_view *v)
{
    return v->curve ? write_curve(out, v) : write_plan(out, v);
}
