/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/costs/choose_task.h"

bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques)
{
    static const uint32_t needed[] = {[MS_TREAT_KEEP] = 0,
                                      [MS_TREAT_CHECKPOINT] = MS_MAY_CHECKPOINT,
                                      [MS_TREAT_SELECTIVE] = MS_MAY_SELECT,
                                      [MS_TREAT_OFFLOAD] = 0};
    uint32_t wanted = needed[treatment->kind] |
                      (treatment->mlp_checkpoint ? MS_MAY_CHECKPOINT : 0u) |
                      (treatment->tiles + treatment->attention_tiles > 0 ? MS_MAY_TILE : 0u) |
                      (ms_treatment_sends(treatment) ? MS_MAY_OFFLOAD : 0u);
    return (wanted & ~techniques) == 0;
}

bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss)
{
    if (task->loss != MS_ANY_LOSS)
        return loss == task->loss;
    return loss == 0 || (task->techniques & MS_MAY_CHUNK_LOSS);
}
