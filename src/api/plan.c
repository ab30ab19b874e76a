/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans: for a run when it has a config, else for figures in a file.
 */
#include "api/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "decide/ledger/ledger.h"
#include "decide/plan/costs/option_list.h"
#include "decide/plan/needs/needs.h"
#include "decide/plan/rank_plan.h"
#include "decide/plan/search/curve.h"
#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/target.h"
#include "decide/plan/trainers/targets.h"
#include "input/config/resolve/resolve.h"
#include "model/load.h"
#include "report/plan_report.h"
#include "report/view/view.h"
#include "run/simulate/variation.h"

/* ---- every target ---- */

/* --target all: the plan of each trainer at the same budget. */

/* What the trainer cannot express; other failures are not about the trainer. */
static bool is_of_trainer(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE || status == MS_ERR_LIMIT;
}

static ms_status solve_one(ms_arena *arena, const ms_step_task *task, const ms_step_plan *free_plan,
                           ms_target_answer *answer, ms_error *err)
{
    ms_step_task own = *task;
    ms_run_config run = *task->run; /* each plan has its own rank that needs most */
    ms_error reason = {0};
    own.run = &run;
    own.target = answer->target->name;
    own.alone = true;
    ms_status status = ms_rank_plan_solve(arena, &own, &run, &answer->plan, &reason);
    if (is_of_trainer(status)) {
        ms_step_plan_free(&answer->plan);
        answer->plan = (ms_step_plan){.outcome = MS_PLAN_INFEASIBLE};
        answer->unsupported = ms_arena_strdup(arena, reason.text);
        return answer->unsupported ? MS_OK
                                   : ms_fail(err, MS_ERR_NOMEM, "out of memory for the trainers");
    }
    answer->plan.target_free_ms = free_plan->plan.time.step_ms;
    answer->plan.target_free_peak_bytes = free_plan->plan.peak_bytes;
    if (status == MS_OK && answer->target->held_text)
        return ms_plan_limit_find(arena, &own, &answer->plan, err);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE)
        return MS_OK;
    if (status == MS_ERR_STOPPED)
        return ms_fail(err, status, "stopped; %s and later trainers are missing",
                       answer->target->name);
    return ms_fail(err, status, "%s: %s", answer->target->name, reason.text);
}

/* Plans for each trainer, next to the free plan of the task. A trainer that cannot fit the budget
 * is an answer; one that cannot express the run has a reason instead of a plan. MS_ERR_STOPPED:
 * later trainers are missing. Free the answers also after a failure. */
static ms_status every_target_solve(ms_arena *arena, const ms_step_task *task,
                                    const ms_step_plan *free_plan, ms_target_answers *answers,
                                    ms_error *err)
{
    const ms_target *target;
    ms_status status = MS_OK;
    for (size_t i = 1; (target = ms_target_at(i)) != NULL && status == MS_OK; i++) {
        ms_target_answer answer = {.target = target};
        status = solve_one(arena, task, free_plan, &answer, err);
        if (status == MS_OK && !ms_vec_push(answers, answer))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the trainers");
        if (status != MS_OK)
            ms_step_plan_free(&answer.plan);
    }
    return status;
}

static void every_target_free(ms_target_answers *answers)
{
    for (uint32_t i = 0; i < answers->count; i++)
        ms_step_plan_free(&answers->items[i].plan);
    ms_vec_free(answers);
}

/* ---- plan ---- */

/* Must not be moved: its members point to one another. */
typedef struct ms_planned_step {
    ms_variation variation;
    ms_simulated simulated;
    ms_ledger ledger;
    ms_view view;
} ms_planned_step;

/* ---- planned step ---- */

/* The planned step in detail, for reports that show more than a plan's figures. */

static ms_status view(ms_planned_step *step, const ms_style *style, ms_error *err)
{
    ms_status status = ms_view_create(&step->ledger, NULL, style, &step->view, err);
    if (status != MS_OK)
        ms_ledger_free(&step->ledger);
    return status;
}

/* Simulates the step with these treatments. The configs must outlive it; on failure nothing is left
 * to free. */
static ms_status planned_step_run(const ms_model_config *model, const ms_run_config *run,
                                  const ms_treatments *treatments, const ms_style *style,
                                  ms_planned_step *step, ms_error *err)
{
    step->variation = ms_vary_run(model, run, NULL);
    step->variation.run.treatments = *treatments;
    const ms_job job = ms_variation_job(&step->variation);
    ms_status status = ms_simulate(&job, MS_SIMULATE_ALL, &step->simulated, err);
    if (status != MS_OK)
        return status;
    status = ms_ledger_build(&step->simulated, MS_FOLD_LAYERS, &step->ledger, err);
    if (status == MS_OK)
        status = view(step, style, err);
    if (status != MS_OK)
        ms_simulated_free(&step->simulated);
    return status;
}

static void planned_step_free(ms_planned_step *step)
{
    ms_view_free(&step->view);
    ms_ledger_free(&step->ledger);
    ms_simulated_free(&step->simulated);
}

/* ---- plan ---- */

ms_plan *ms_plan_create(void)
{
    ms_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->arena = ms_arena_create(0);
    if (!plan->arena || ms_plan_settings_init(&plan->settings, plan->arena, NULL) != MS_OK) {
        ms_arena_free(plan->arena);
        free(plan);
        return NULL;
    }
    atomic_init(&plan->stop, 0);
    plan->style = (ms_style){.columns = 80};
    return plan;
}

static void forget_answer(ms_plan *plan)
{
    every_target_free(&plan->targets);
    ms_step_plan_free(&plan->step);
    ms_curve_free(&plan->curve);
    plan->step = (ms_step_plan){0};
    plan->curve = (ms_curve){0};
    plan->file = (ms_file_plan){.arena = plan->arena,
                                .settings = &plan->settings,
                                .stop = &plan->stop,
                                .style = &plan->style};
    plan->notes = (ms_notes){0};
    plan->is_solved = false;
}

void ms_plan_free(ms_plan *plan)
{
    if (!plan)
        return;
    forget_answer(plan);
    ms_vec_free(&plan->run_settings);
    ms_arena_free(plan->arena);
    free(plan);
}

/* ---- settings ---- */

ms_status ms_plan_set_run(ms_plan *plan, const char *field, const char *value, ms_error *err)
{
    if (!plan || !field || !value)
        return ms_fail_null(err);
    ms_status status = ms_run_field_set(&plan->draft, plan->arena, field, value, err);
    if (status != MS_OK)
        return status;
    ms_run_setting setting = {ms_arena_strdup(plan->arena, field),
                              ms_arena_strdup(plan->arena, value)};
    if (!setting.field || !setting.value || !ms_vec_push(&plan->run_settings, setting))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the plan");
    return MS_OK;
}

/* The budget is the run's as well. */
ms_status ms_plan_set(ms_plan *plan, const char *field, const char *value, ms_error *err)
{
    if (!plan || !field || !value)
        return ms_fail_null(err);
    ms_status status = ms_plan_settings_set(&plan->settings, plan->arena, field, value, err);
    if (status == MS_OK && strcmp(field, "budget") == 0)
        status = ms_plan_set_run(plan, field, value, err);
    return status;
}

void ms_plan_set_inputs(ms_plan *plan, ms_inputs *inputs)
{
    if (plan)
        ms_arena_set_inputs(plan->arena, inputs);
}

void ms_plan_set_watch(ms_plan *plan, ms_watch *watch)
{
    if (plan)
        plan->watch = watch;
}

void ms_plan_stop(ms_plan *plan)
{
    if (!plan)
        return;
    atomic_store_explicit(&plan->stop, 1, memory_order_relaxed);
}

void ms_plan_set_style(ms_plan *plan, const ms_style *style)
{
    if (!plan || !style)
        return;
    plan->style = *style;
}

/* ---- runs ---- */

static bool is_for_all(const ms_plan *plan)
{
    return strcmp(plan->settings.target, ms_every_target) == 0;
}

static bool is_set_aside(const ms_run_config *run)
{
    return (run->treat && *run->treat) ||
           (run->checkpointing && strcmp(run->checkpointing, "none") != 0);
}

/* What a cpu saves is on the host already. */
static uint32_t techniques_of(const ms_plan *plan)
{
    uint32_t techniques = MS_MAY_ALL & ~plan->settings.without;
    bool is_cpu = plan->run.device && plan->run.device->is_cpu;
    return is_cpu ? techniques & ~(uint32_t)MS_MAY_OFFLOAD : techniques;
}

/* What the run leaves nothing to do. */
static ms_status check_for_run(const ms_plan *plan, ms_error *err)
{
    const ms_run_config *run = &plan->run;
    if (run->device->is_cpu && ms_plan_settings_is_set(&plan->settings, "max-cpu-offload"))
        return ms_fail(err, MS_ERR_USAGE,
                       "--max-cpu-offload: with device cpu there is nothing to offload to");
    const uint32_t allowed = plan->settings.allowed;
    const ms_optimizer_traits *optimizer = ms_optimizer_traits_of(run->training.optimizer);
    if (allowed && !optimizer->is_everywhere)
        return ms_fail(err, MS_ERR_USAGE, "--allow: %s is supported on GPUs only, not on the host",
                       optimizer->name);
    if (run->device->is_cpu && allowed)
        return ms_fail(err, MS_ERR_USAGE,
                       "--allow: with device cpu everything is already on the host");
    if (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST &&
        allowed == MS_ALLOW_HOST_OPTIMIZER)
        return ms_fail(err, MS_ERR_USAGE, "--allow: the optimizer is already on the host");
    return MS_OK;
}

static uint64_t half_of_host_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : 0;
}

/* Of a model the units are the run's, by the same name. */
static ms_status take_units(ms_plan *plan, ms_error *err)
{
    static const char field[] = "fsdp-units";
    if (!plan->settings.fsdp_units || ms_run_field_is_set(&plan->draft, field))
        return MS_OK;
    return ms_plan_set_run(plan, field, plan->settings.fsdp_units, err);
}

static ms_status load(ms_plan *plan, ms_error *err)
{
    const ms_plan_settings *s = &plan->settings;
    /* Compared with other planners the rules may use any host, so that answers are alike on every
     * one. */
    const bool allows_retries = (s->allowed & MS_ALLOW_RETRIES) != 0;
    bool asks_host = s->planner == MS_PLANNER_RULES && s->max_host_bytes == UINT64_MAX;
    ms_status status = take_units(plan, err);
    if (status == MS_OK)
        status = ms_run_load(plan->arena, plan->run_settings.items, plan->run_settings.count,
                             &plan->model, &plan->run, &plan->notes, err);
    plan->run.watch = plan->watch;
    if (status == MS_OK)
        status = ms_layout_check_plan(&plan->run, err);
    if (status == MS_OK)
        status = check_for_run(plan, err);
    if (status == MS_OK)
        status = ms_rank_plan_begin(plan->arena, &plan->model, &plan->run, &plan->notes, err);
    if (status == MS_OK && is_set_aside(&plan->run))
        status = ms_note_add(&plan->notes, plan->arena, err,
                             "the plan ignores the run's own treatment of its layers");
    if (status == MS_OK && !ms_device_has_rates(plan->run.device)) {
        plan->device = ms_device_assume_rates(plan->run.device);
        plan->run.device = &plan->device;
    }
    const bool may_leave = status == MS_OK && !allows_retries;
    plan->task = (ms_step_task){
        .model = &plan->model,
        .run = &plan->run,
        .planner = (ms_planner)s->planner,
        .techniques = techniques_of(plan),
        .gap = s->gap,
        .time_limit_s = ms_plan_time_limit_s(s),
        .gpu_cost_per_hour = s->gpu_cost_per_hour,
        .target = is_for_all(plan) ? ms_target_at(0)->name : s->target,
        .rules_mode = (ms_rules_mode)s->rules_mode,
        .max_host_bytes = asks_host ? half_of_host_bytes() : s->max_host_bytes,
        .is_host_half = asks_host,
        .allows_retries = allows_retries,
        .margin = may_leave ? ms_plan_margin_of(&plan->run) : (ms_plan_margin){0},
        .stop = &plan->stop,
    };
    return status;
}

/* Moves the next of what is allowed to the host; 0 when there is nothing more. */
static ms_allowance move_to_host(const ms_plan *plan, ms_run_config *run)
{
    const uint32_t allowed = plan->settings.allowed & ~(uint32_t)MS_ALLOW_RETRIES;
    if (run->device->is_cpu)
        return 0;
    if (allowed && ms_optimizer_may_move(run)) {
        run->training.optimizer_device = MS_OPTIMIZER_ON_HOST;
        return MS_ALLOW_HOST_OPTIMIZER;
    }
    if ((allowed & MS_ALLOW_HOST_PARAMETERS) && ms_parameters_may_move(run)) {
        run->parameter_device = MS_PARAMETERS_ON_HOST;
        return MS_ALLOW_HOST_PARAMETERS;
    }
    return 0;
}

/* Nothing fits, so more goes to the host, as long as there is something that may. */
static ms_status solve_step(ms_plan *plan, ms_error *err)
{
    double before_ms = 0;
    uint32_t before = 0;
    for (;;) {
        ms_error reason = {0};
        ms_status status =
            ms_rank_plan_solve(plan->arena, &plan->task, &plan->run, &plan->step, &reason);
        plan->step.solve_ms += before_ms;
        plan->step.simulations += before;
        ms_allowance moved =
            status == MS_ERR_INFEASIBLE ? move_to_host(plan, &plan->run) : (ms_allowance)0;
        if (!moved)
            return status == MS_OK ? status : ms_fail(err, status, "%s", reason.text);
        plan->task.moved |= moved;
        before_ms = plan->step.solve_ms;
        before = plan->step.simulations;
        ms_step_plan_free(&plan->step);
    }
}

static void forget_times(ms_plan *plan)
{
    ms_step_plan_forget_times(&plan->step);
    ms_curve_forget_times(&plan->curve);
    for (uint32_t i = 0; i < plan->targets.count; i++)
        ms_step_plan_forget_times(&plan->targets.items[i].plan);
}

static ms_status solve_run(ms_plan *plan, ms_error *err)
{
    const ms_plan_settings *s = &plan->settings;
    ms_status status = load(plan, err);
    if (status != MS_OK)
        return status;
    if (plan->run.images.count)
        return ms_fail(err, MS_ERR_USAGE,
                       "plans with images are not supported; analyze predicts images, also with "
                       "--checkpointing all");
    if (s->curve)
        status = ms_curve_trace(plan->arena, &plan->task, (uint32_t)s->points, &plan->curve, err);
    else
        status = solve_step(plan, err);
    if (status == MS_OK && !s->curve && !plan->is_brief)
        status = ms_plan_needs_find(plan->arena, &plan->task, &plan->step, err);
    if (status == MS_OK && is_for_all(plan))
        status = every_target_solve(plan->arena, &plan->task, &plan->step, &plan->targets, err);
    if (plan->run.device->has_assumed_rates)
        forget_times(plan);
    plan->is_solved =
        status == MS_OK || status == MS_ERR_STOPPED || (status == MS_ERR_INFEASIBLE && !s->curve);
    return status;
}

/* The budget is that of either. */
static ms_status refuse_run_settings(const ms_plan *plan, const char *file_option, ms_error *err)
{
    for (uint32_t i = 0; i < plan->run_settings.count; i++)
        if (strcmp(plan->run_settings.items[i].field, "budget") != 0)
            return ms_fail(err, MS_ERR_USAGE, "--%s works with a model, not with %s",
                           plan->run_settings.items[i].field, file_option);
    return MS_OK;
}

ms_status ms_plan_solve(ms_plan *plan, ms_error *err)
{
    if (!plan)
        return ms_fail_null(err);
    const ms_plan_settings *s = &plan->settings;
    const char *file_option = s->graph ? "--graph" : "--ops";
    bool is_of_file = s->graph || s->ops; /* else training arguments may name the model */
    bool has_config = ms_run_field_is_set(&plan->draft, "config") ||
                      (!is_of_file && (ms_run_field_is_set(&plan->draft, "training-args") ||
                                       ms_run_field_is_set(&plan->draft, "launch")));
    forget_answer(plan);
    if (has_config && (s->graph || s->ops))
        return ms_fail(err, MS_ERR_USAGE, "a plan is for a model or for %s, not for both",
                       file_option);
    if (!has_config && !s->graph && !s->ops)
        return ms_fail(err, MS_ERR_USAGE,
                       "there is nothing to plan: name a model (memscope plan llama-3.1-8b "
                       "--budget 65GiB), or give --graph or --ops");
    ms_status status = ms_plan_settings_check(s, err);
    if (status == MS_OK && !has_config)
        status = refuse_run_settings(plan, file_option, err);
    if (status != MS_OK)
        return status;
    status = has_config ? solve_run(plan, err) : ms_file_plan_solve(&plan->file, err);
    plan->run.watch = NULL;
    return status;
}

ms_fit_verdict ms_plan_verdict(const ms_plan *plan)
{
    if (!plan || !plan->is_solved)
        return plan ? MS_VERDICT_FITS : MS_VERDICT_NO; /* of a file, whose answer is the status */
    const ms_step_plan *step = &plan->step;
    ms_fit_reason reason = plan->settings.curve ? MS_FIT_WITHIN_BUDGET : step->plan.reason;
    if (!plan->settings.curve && (step->outcome == MS_PLAN_INFEASIBLE || !step->plan.treat))
        reason = MS_FIT_OVER_BUDGET;
    return ms_reason_verdict(ms_reason_with_keys(reason, &plan->run.keys));
}

const char *ms_plan_note(const ms_plan *plan, size_t index)
{
    if (!plan)
        return NULL;
    return index == plan->notes.count ? plan->file.note : ms_note_at(&plan->notes, index);
}

/* ---- writing ---- */

/* A plan that fits is what the detail is of. */
static bool has_detail(const ms_plan *plan, const char *format)
{
    return !plan->settings.curve && plan->step.plan.treat &&
           ms_reason_fits(plan->step.plan.reason) && ms_plan_format_is_detailed(format);
}

ms_status ms_plan_write(const ms_plan *plan, const char *format, FILE *out, ms_error *err)
{
    if (!plan || !format || !out)
        return ms_fail_null(err);
    if (!plan->is_solved)
        return ms_file_plan_report_write(&plan->file, format, out, err);
    ms_planned_step step, kept;
    bool is_detailed = has_detail(plan, format), has_kept = is_detailed && *plan->step.plan.treat;
    ms_status status = MS_OK;
    if (is_detailed)
        status = planned_step_run(&plan->model, &plan->run, &plan->step.plan.treatments,
                                  &plan->style, &step, err);
    if (status == MS_OK && has_kept) {
        status = planned_step_run(&plan->model, &plan->run, &plan->step.keep_all.treatments,
                                  &plan->style, &kept, err);
        if (status != MS_OK)
            planned_step_free(&step);
    }
    if (status != MS_OK)
        return status;
    const ms_plan_answer answer = {
        .task = &plan->task,
        .plan = plan->settings.curve ? NULL : &plan->step,
        .curve = plan->settings.curve ? &plan->curve : NULL,
        .targets = &plan->targets,
        .analysis = is_detailed ? &step.view : NULL,
        .kept = has_kept ? &kept.view : NULL,
        .style = plan->style,
    };
    status = ms_plan_report_write(&answer, format, out, err);
    if (is_detailed)
        planned_step_free(&step);
    if (has_kept)
        planned_step_free(&kept);
    return status;
}
