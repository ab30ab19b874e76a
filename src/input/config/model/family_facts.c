/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/family_facts.h"

const char *const ms_experts_of_qwen2_moe[] = {"gate", "gate_proj", "up_proj", "down_proj", NULL};
const char *const ms_experts_of_mixtral[] = {"gate", "w1", "w2", "w3", NULL};

const ms_family_facts *ms_family_facts_of(const ms_family *family)
{
    static const ms_family_facts none = {0};
    return family && family->facts ? family->facts : &none;
}

bool ms_is_compared(const ms_model_config *model, uint32_t strategy)
{
    return (ms_family_facts_of(model->family)->compared & strategy) != 0;
}
