/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torch.cuda.set_per_process_memory_fraction limits what the caching allocator reserves to
 * (size_t)(fraction * total), where total is the device's memory as CUDA reports it; the CUDA
 * context is outside of it. The allocator compares that with whole segments.
 */
#include "decide/plan/needs/needs.h"

#include <math.h>

#include "decide/plan/search/simulate.h"
#include "decide/plan/trainers/targets.h"
#include "input/config/run/run_config.h"
#include "run/simulate/variation.h"

/* ---- margin ---- */

ms_plan_margin ms_plan_margin_of(const ms_run_config *run)
{
    const ms_device *device = run->device;
    if (device->is_cpu)
        return (ms_plan_margin){0};
    return (ms_plan_margin){.context_bytes =
                                device->context_high_bytes - device->context_expected_bytes,
                            .communicators = ms_communicators_of(&run->parallel.layout),
                            .communicator_bytes = ms_budget_nccl_bytes(run)};
}

/* ---- the whole budget ---- */

/* By the whole budget of the task's run. */
static ms_status judge(ms_arena *arena, const ms_step_task *task, ms_step_figures *f, ms_error *err)
{
    const ms_treatments treatments = f->treatments;
    if (!f->treat || ms_step_figures_judge(f, task->run->budget_bytes))
        return MS_OK;
    return ms_step_plan_simulate(arena, task->model, task->run, &treatments, f, err);
}

/* What a plan is compared with. */
static ms_status judge_others(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                              ms_error *err)
{
    ms_status status = judge(arena, task, &plan->keep_all, err);
    if (status == MS_OK)
        status = judge(arena, task, &plan->checkpoint_all, err);
    for (uint32_t i = 0; i < plan->compared.count && status == MS_OK; i++)
        if (plan->compared.items[i].has_figures)
            status = judge(arena, task, &plan->compared.items[i].figures, err);
    for (uint32_t i = 0; i < plan->suggestions.count; i++)
        if (plan->suggestions.items[i].has_figures)
            ms_step_figures_judge(&plan->suggestions.items[i].figures, task->run->budget_bytes);
    return status;
}

/* Where an evaluation meets the limit, more memory may come to other figures. */
static ms_status judge_plan(ms_arena *arena, const ms_step_task *task, uint64_t within_bytes,
                            ms_step_plan *plan, ms_error *err)
{
    ms_step_figures whole = plan->plan;
    if (plan->held_budget_bytes > 0)
        return MS_OK;
    ms_status status = judge(arena, task, &whole, err);
    if (status == MS_OK && ms_step_plan_accepts(task, &whole))
        plan->plan = whole;
    else
        plan->held_budget_bytes = within_bytes;
    return status;
}

/* Figures that would fit, but for the margin or for their retries. */
static void refuse(const ms_step_task *task, ms_step_figures *f)
{
    const uint64_t bytes = f->device_bytes + ms_plan_margin_bytes(&task->margin);
    if (f->treat)
        f->reason = bytes > task->run->budget_bytes ? MS_FIT_OVER_BUDGET : MS_FIT_NO_ROOM;
}

static ms_status take_whole(ms_arena *arena, const ms_step_task *task, uint64_t within_bytes,
                            ms_step_plan *plan, ms_error *err)
{
    const bool fits = plan->outcome != MS_PLAN_INFEASIBLE && plan->plan.treat &&
                      ms_reason_fits(plan->plan.reason);
    plan->budget_bytes = task->run->budget_bytes;
    if (plan->least_budget_bytes > 0)
        plan->least_budget_bytes += ms_plan_margin_bytes(&task->margin);
    ms_status status = judge_others(arena, task, plan, err);
    if (!fits)
        refuse(task, &plan->plan);
    else if (status == MS_OK)
        status = judge_plan(arena, task, within_bytes, plan, err);
    return status;
}

ms_status ms_margin_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                               ms_error *err)
{
    const uint64_t margin = ms_plan_margin_bytes(&task->margin), budget = task->run->budget_bytes;
    ms_run_config run = *task->run;
    ms_step_task within = *task;
    if (margin > 0 && budget > 0) {
        ms_budget_set(&run, budget > margin ? budget - margin : 1);
        within.run = &run;
        within.margin = (ms_plan_margin){0};
        within.left_bytes = margin;
        within.whole_bytes = budget;
    }
    ms_status status = ms_step_plan_solve(arena, &within, plan, err);
    if (status != MS_OK && status != MS_ERR_INFEASIBLE && status != MS_ERR_STOPPED)
        return status;
    if (within.run == task->run && status != MS_ERR_INFEASIBLE)
        return status;
    ms_status taken = take_whole(arena, task, within.run->budget_bytes, plan, err);
    return taken == MS_OK ? status : taken;
}

/* ---- needs ---- */

static bool is_fitting(const ms_step_plan *plan)
{
    return plan->plan.treat && plan->outcome != MS_PLAN_INFEASIBLE &&
           ms_reason_fits(plan->plan.reason);
}

/* ---- the allocator ---- */

static double plan_fraction(uint64_t limit_bytes, uint64_t device_bytes)
{
    const uint64_t unit = UINT64_C(2) << 20;
    const uint64_t whole = limit_bytes / unit * unit;
    if (whole == 0 || whole >= device_bytes)
        return 0;
    double parts = 1e3;
    for (int digits = 4; digits < 10; digits++) {
        parts *= 10;
        double fraction = ceil((double)whole / (double)device_bytes * parts) / parts;
        double bytes = fraction * (double)device_bytes;
        if (fraction < 1 && bytes >= (double)whole && bytes < (double)(whole + unit))
            return fraction;
    }
    return (double)whole / (double)device_bytes;
}

/* The plan was simulated within a budget below the device's memory, or runs into the end of that.
 */
static bool may_count_on_limit(const ms_step_task *task, const ms_step_plan *plan)
{
    const ms_run_config *run = task->run;
    if (run->device->is_cpu || run->allocator.capacity_bytes == 0)
        return false;
    return run->budget_bytes < ms_device_usable_bytes(run->device) || plan->plan.retries > 0;
}

/* Without the limit there is the device's memory. Where the plan has all of that, it is shown what
 * the allocator would take. */
static ms_status simulate_unheld(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                                 ms_error *err)
{
    const uint64_t device_bytes = ms_device_usable_bytes(task->run->device);
    ms_variation v = ms_vary_run(task->model, task->run, arena);
    if (task->run->budget_bytes < device_bytes)
        ms_budget_set(&v.run, device_bytes);
    else
        ms_budget_lift(&v.run);
    plan->simulations++;
    return ms_step_plan_simulate(arena, v.model, &v.run, &plan->plan.treatments,
                                 &plan->needs.unheld, err);
}

/* Whether the step would not run the same without the limit. */
static bool counts_on_limit(const ms_step_plan *plan)
{
    return plan->held_budget_bytes > 0 || plan->plan.retries > 0 ||
           plan->needs.unheld.reserved_bytes != plan->plan.reserved_bytes;
}

ms_status ms_plan_limit_find(ms_arena *arena, const ms_step_task *free_task, ms_step_plan *plan,
                             ms_error *err)
{
    ms_plan_needs *needs = &plan->needs;
    ms_run_config run = *free_task->run;
    ms_step_task held = *free_task;
    const ms_step_task *task = &held;
    const ms_target *target = ms_target_find(task->target);
    held.run = &run;
    if (plan->held_budget_bytes > 0)
        ms_budget_set(&run, plan->held_budget_bytes);
    const uint64_t limit_bytes = run.allocator.capacity_bytes;
    if (!is_fitting(plan) || !may_count_on_limit(task, plan))
        return MS_OK;
    double fraction = plan_fraction(limit_bytes, ms_device_usable_bytes(task->run->device));
    if (!(fraction > 0))
        return MS_OK;
    ms_status status = simulate_unheld(arena, task, plan, err);
    if (status != MS_OK || !counts_on_limit(plan))
        return status;
    needs->limit_bytes = limit_bytes;
    needs->fraction = fraction;
    if (target && target->held_text && plan->target_text) {
        plan->target_text = target->held_text(arena, task, &plan->plan.treatments, fraction);
        if (!plan->target_text)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for the trainer's text");
    }
    return MS_OK;
}

/* ---- the link to the host ---- */

static ms_status find_link(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                           ms_error *err)
{
    ms_device slower = *task->run->device;
    ms_variation v = ms_vary_run(task->model, task->run, arena);
    const ms_job job = ms_variation_job(&v);
    ms_simulated simulated;
    if (!(plan->plan.time.copy_ms > 0) || slower.is_cpu)
        return MS_OK;
    slower.host_link_bytes_per_s /= 2;
    v.run.device = &slower;
    v.run.treatments = plan->plan.treatments;
    plan->simulations++;
    ms_status status = ms_simulate(&job, MS_SIMULATE_PROFILE, &simulated, err);
    if (status != MS_OK)
        return status;
    plan->needs.link_bytes_per_s = task->run->device->host_link_bytes_per_s;
    plan->needs.half_link_ms = simulated.profile.time.step_ms + plan->plan.time.retry_ms;
    ms_simulated_free(&simulated);
    return MS_OK;
}

ms_status ms_plan_needs_find(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err)
{
    const double start = ms_now_ms();
    if (!is_fitting(plan) || ms_stop_asked(task->stop))
        return MS_OK;
    ms_status status = ms_plan_limit_find(arena, task, plan, err);
    if (status == MS_OK && !task->run->device->has_assumed_rates)
        status = find_link(arena, task, plan, err);
    plan->solve_ms += ms_now_ms() - start;
    return status;
}
