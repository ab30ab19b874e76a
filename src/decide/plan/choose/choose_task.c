/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/choose_task.h"

#include "input/config/treatment/row.h"
#include "decide/plan/solver/problem.h"

bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques)
{
    return (ms_treatment_techniques(treatment) & ~techniques) == 0;
}

double ms_choose_effort(const ms_choose_task *task, const ms_layer_cost *cost)
{
    if (task->saved_ms_per_mib > 0)
        return (double)ms_layer_saved(cost, task->costs->micro_steps - 1) / MS_MIB *
               task->saved_ms_per_mib;
    return (double)cost->host_bytes / MS_MIB * 1e-9;
}

bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss)
{
    if (task->loss != MS_ANY_LOSS)
        return loss == task->loss;
    return loss == 0 || (task->techniques & MS_MAY_CHUNK_LOSS);
}
