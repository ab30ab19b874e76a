/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/layouts.h"

#include <stddef.h>

#include "input/config/treatment/technique.h"

/* Copies to the host share the step with other ranks, and their waits are not counted exactly. */
static const uint32_t without_clock = MS_MAY_OFFLOAD;

/* The end of "parallel: PIPELINE has no plans: ..."; NULL: it has. */
static const char *why_not(const ms_layout *layout)
{
    if (ms_layout_has_stages(layout))
        return "micro-batches of several stages are in flight, and the time of a step is not known";
    if (layout->kind == MS_PARALLEL_ZERO && layout->stage == 3)
        return "modules are gathered ahead across layers, so that what a layer needs depends on "
               "the others";
    return NULL;
}

ms_status ms_layout_check_plan(const ms_run_config *run, ms_error *err)
{
    const ms_layout *layout = &run->parallel.layout;
    const char *why = why_not(layout);
    if (!why)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE, "parallel: %s has no plans: %s", ms_layout_name(layout), why);
}

uint32_t ms_plan_techniques(const ms_run_config *run)
{
    uint32_t known = ms_parallel_techniques(&run->parallel);
    if (run->parallel.layout.tensor > 1) /* not all operators of a DTensor are PyTorch's own */
        known &= ~(uint32_t)MS_MAY_SELECT;
    return run->parallel.layout.kind == MS_PARALLEL_NONE ? known : known & ~without_clock;
}
