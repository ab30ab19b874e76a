/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/choose/choose_task.h"

#include "config/treatment/row.h"

bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques)
{
    return (ms_treatment_techniques(treatment) & ~techniques) == 0;
}

bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss)
{
    if (task->loss != MS_ANY_LOSS)
        return loss == task->loss;
    return loss == 0 || (task->techniques & MS_MAY_CHUNK_LOSS);
}
