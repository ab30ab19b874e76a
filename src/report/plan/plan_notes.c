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
        "times are omitted because not all rates of this device are known; treatments were "
        "compared at %s TFLOP/s%s %s GB/s of memory bandwidth%s%s%s",
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
        task->is_host_half ? "up to %s GiB may go to the host, half of this machine's memory: "
                             "--max-cpu-offload %" PRIu64 "B gives the same plan on other machines"
                           : "up to %s GiB may go to the host, as set by --max-cpu-offload %" PRIu64
                             "B",
        ms_gib(task->max_host_bytes, gib), task->max_host_bytes);
}

/* " and 0.64 for NCCL's buffers (1 communicator)", or "". */
static const char *communicators_text(const ms_plan_view *view)
{
    const ms_plan_margin *margin = &view->answer->task->margin;
    char gib[MS_GIB_TEXT];
    if (margin->communicators == 0)
        return "";
    return ms_arena_printf(view->arena, " and %s for NCCL's buffers (%" PRIu32 " communicator%s)",
                           ms_gib(margin->communicator_bytes, gib), margin->communicators,
                           margin->communicators > 1 ? "s" : "");
}

const char *ms_plan_margin_note(const ms_plan_view *view)
{
    const ms_plan_margin *margin = &view->answer->task->margin;
    const char *communicators = communicators_text(view);
    char all[MS_GIB_TEXT], context[MS_GIB_TEXT];
    if (view->budget_bytes == 0 || view->run->device->is_cpu || !communicators)
        return communicators ? "" : NULL;
    if (view->answer->task->allows_retries)
        return "with --allow retries the plan may use all of the budget and return cached memory";
    if (ms_plan_margin_bytes(margin) == 0)
        return "no step returns cached memory; --allow retries would allow it";
    return ms_arena_printf(
        view->arena,
        "no step returns cached memory, and %s GiB of the budget are kept free: %s for the upper "
        "end of the CUDA context%s; --allow retries may use all of it",
        ms_gib(ms_plan_margin_bytes(margin), all), ms_gib(margin->context_bytes, context),
        communicators);
}

static const char *why_infeasible(const ms_plan_view *view)
{
    ms_planner planner = view->answer->task->planner;
    if (view->plan->outcome == MS_PLAN_LIMIT || view->plan->outcome == MS_PLAN_STOPPED)
        return "stopped before all plans were ruled out";
    if (view->is_restricted)
        return ms_arena_printf(view->arena, "%s can express no plan that fits", view->target_title);
    if (planner != MS_PLANNER_MILP)
        return ms_arena_printf(view->arena,
                               "the %s planner found no plan; another planner may find one",
                               ms_planner_names[planner]);
    return view->plan->is_ruled_out
               ? "no combination of these options fits, even if the allocator wasted nothing"
               : "other combinations of these options are not ruled out";
}

/* What the time of a step and its bound leave out; docs/times.md has it in full. */
static const char *clock_text(const ms_plan_view *view)
{
    const bool has_retries = view->figures->time.retry_ms > 0;
    return has_retries ? ", not counting kernel launches on the host and the waits for retries"
                       : ", not counting kernel launches on the host";
}

/* A plan this near to the bound is called proven, a larger --gap or not. */
static const double closed_gap = 0.001;

/* "no combination of these options is faster than 512.300 ms: gap 0.04 %, proven". Where copies of
 * parameters share the links, an option is timed beside itself, and a mix may be faster. */
const char *ms_plan_proof_note(const ms_plan_view *view)
{
    const ms_step_plan *p = view->plan;
    char bound[MS_FIXED_TEXT], gap[MS_FIXED_TEXT];
    if (view->is_infeasible)
        return why_infeasible(view);
    if (view->run->device->has_assumed_rates && *view->figures->treat && p->has_gap)
        return ms_arena_printf(view->arena, "compared at assumed rates: gap %s %%",
                               ms_fixed(100 * p->gap, 3, gap));
    if (!(p->bound_ms > 0))
        return *view->figures->treat ? "no bound was computed" : "no option was tried";
    if (!*view->figures->treat && p->gap <= view->answer->task->gap)
        return "no layer has to be treated: no combination of these options is faster";
    const char *options = p->is_timed_by_layer ? ", timed layer by layer," : "";
    ms_fixed(p->bound_ms, 3, bound);
    ms_fixed(100 * p->gap, 3, gap);
    if (p->gap <= view->answer->task->gap && p->gap <= closed_gap)
        return ms_arena_printf(
            view->arena,
            "no combination of these options%s is faster than %s ms%s: gap %s %%, proven", options,
            bound, clock_text(view), gap);
    ms_fixed(100 * (view->figures->time.step_ms / p->bound_ms - 1), 3, gap);
    return ms_arena_printf(view->arena,
                           "within %s %% of the best possible: no combination of these options%s "
                           "is faster than %s ms%s%s",
                           gap, options, bound, clock_text(view),
                           p->outcome == MS_PLAN_STOPPED ? "; stopped"
                           : p->is_cut                   ? "; --time-limit ended the search"
                                                         : "");
}

const char *ms_plan_evaluation_note(const ms_plan_view *view)
{
    char gib[MS_GIB_TEXT];
    if (!view->plan || view->figures->peak_phase != MS_PHASE_EVALUATION)
        return "";
    return ms_arena_printf(view->arena,
                           "the evaluation between steps needs the most, %s GiB on the device; a "
                           "smaller --eval-batch needs less",
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
    return ms_arena_printf(view->arena, "with %s GiB more the step is %s %% faster (%s ms)",
                           ms_gib(view->plan->needs.more_bytes, more),
                           ms_fixed(100 * ms_plan_steep_share(view), 0, percent),
                           ms_fixed(view->plan->needs.more_ms, 1, ms));
}
