/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Notes on assumptions of a plan that the run does not state.
 */
#include "report/plan/plan_notes.h"

#include <inttypes.h>
#include <math.h>

#include "device/rates.h"

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

const char *ms_plan_link_note(const ms_plan_view *view)
{
    const ms_step_plan *plan = view->plan;
    const ms_rates *rates = view->run->device->rates;
    char rate[MS_FIXED_TEXT], ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT], pageable[MS_FIXED_TEXT];
    if (!plan || !(plan->slow_link_ms > 0))
        return "";
    double more = 100 * (plan->slow_link_ms / plan->plan.time.step_ms - 1);
    return ms_arena_printf(
        view->arena,
        "copies rest on a link of %s GB/s to pinned memory (%s to other memory): at half of that "
        "the step takes %s ms, +%s %%",
        ms_fixed(view->run->device->host_link_bytes_per_s / 1e9, 1, rate),
        ms_fixed(rates ? rates->figures[MS_RATE_PAGEABLE_GB_PER_S].value : NAN, 1, pageable),
        ms_fixed(plan->slow_link_ms, 1, ms), ms_fixed(more, 1, percent));
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
