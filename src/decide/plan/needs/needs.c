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
#include "run/simulate/variation.h"

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
