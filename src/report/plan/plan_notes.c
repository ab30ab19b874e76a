/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Notes on assumptions of a plan that the run does not state.
 */
#include "report/plan/plan_notes.h"

#include <inttypes.h>

const char *ms_plan_rates_note(const ms_plan_view *view)
{
    const ms_device *device = view->run->device;
    char flops[MS_FIXED_TEXT], memory[MS_FIXED_TEXT], link[MS_FIXED_TEXT];
    if (!device->has_assumed_rates)
        return "";
    return ms_arena_printf(
        view->arena,
        "times are omitted: not all rates of this device are known; treatments were compared at "
        "%s TFLOP/s%s %s GB/s of its memory%s%s%s",
        ms_fixed(device->bf16_flops / 1e12, 0, flops), device->is_cpu ? " and" : ",",
        ms_fixed(device->memory_bytes_per_s / 1e9, 0, memory), device->is_cpu ? "" : " and ",
        device->is_cpu ? "" : ms_fixed(device->host_link_bytes_per_s / 1e9, 0, link),
        device->is_cpu ? "" : " GB/s to the host");
}

const char *ms_plan_host_note(const ms_plan_view *view)
{
    const ms_step_task *task = view->answer->task;
    char gib[MS_GIB_TEXT];
    if (task->planner != MS_PLANNER_RULES)
        return "";
    return ms_arena_printf(
        view->arena,
        task->is_host_half
            ? "up to %s GiB might go to the host, half of this one's memory: "
              "--max-cpu-offload %" PRIu64 "B gives the same plan on other machines"
            : "up to %s GiB might go to the host, as set by --max-cpu-offload %" PRIu64 "B",
        ms_gib(task->max_host_bytes, gib), task->max_host_bytes);
}

const char *ms_plan_evaluation_note(const ms_plan_view *view)
{
    char gib[MS_GIB_TEXT];
    if (!view->plan || view->figures->peak_phase != MS_PHASE_EVALUATION)
        return "";
    return ms_arena_printf(view->arena,
                           "the evaluation between steps needs most, %s GiB on the device; it "
                           "needs less with a smaller --eval-batch",
                           ms_gib(view->figures->device_bytes, gib));
}

double ms_plan_steep_share(const ms_plan_view *view)
{
    return view->figures->time.step_ms / view->plan->needs.more_ms - 1;
}

const char *ms_plan_steep_note(const ms_plan_view *view)
{
    char more[MS_GIB_TEXT], percent[MS_FIXED_TEXT], ms[MS_FIXED_TEXT];
    if (!view->plan || view->is_infeasible || !(view->plan->needs.more_ms > 0) ||
        !(view->figures->time.step_ms > 0))
        return "";
    return ms_arena_printf(view->arena, "%s GiB more makes the step %s %% faster (%s ms)",
                           ms_gib(view->plan->needs.more_bytes, more),
                           ms_fixed(100 * ms_plan_steep_share(view), 0, percent),
                           ms_fixed(view->plan->needs.more_ms, 1, ms));
}
