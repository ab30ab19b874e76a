/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/needs/margin.h"

#include "input/config/run/run_config.h"
#include "decide/plan/search/simulate.h"

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
