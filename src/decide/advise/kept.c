/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/kept.h"

#include "input/config/run/run_config.h"

ms_kept ms_kept_of(const ms_run_config *run, const ms_simulation *s)
{
    const ms_training *training = &run->training;
    ms_kept kept = {.weight_bytes = s->weight_bytes};
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        return kept;
    if (training->optimizer_device == MS_OPTIMIZER_ON_DEVICE)
        kept.state_bytes = s->optimizer_state_bytes;
    if (!training->optimizer_in_backward && run->parameter_device == MS_PARAMETERS_ON_DEVICE)
        kept.gradient_bytes = s->gradient_bytes;
    return kept;
}

bool ms_kept_exceeds(const ms_run_config *run, uint64_t kept_bytes)
{
    uint64_t capacity = ms_budget_capacity(run->device, run->budget_bytes);
    return capacity && kept_bytes > capacity;
}
