/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/slow_link.h"

#include "simulate/variation.h"

ms_status ms_step_plan_time_slow_link(const ms_step_task *task, ms_step_plan *plan, ms_error *err)
{
    ms_device device = *task->run->device;
    if (!(plan->plan.time.copy_ms > 0) || device.has_assumed_rates)
        return MS_OK;
    ms_variation v = ms_vary_run(task->model, task->run, NULL);
    ms_simulated simulated;
    device.host_link_bytes_per_s /= 2;
    v.run.device = &device;
    v.run.treatments = plan->plan.treatments;
    const ms_job job = ms_variation_job(&v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_PROFILE, &simulated, err);
    if (status != MS_OK)
        return status;
    plan->slow_link_ms = simulated.profile.time.step_ms;
    plan->simulations++;
    ms_simulated_free(&simulated);
    return MS_OK;
}
