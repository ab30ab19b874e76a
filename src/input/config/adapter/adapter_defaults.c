/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/adapter/adapter_defaults.h"

#include <stddef.h>

#include "input/config/model/family_facts.h"

static ms_module_list list_of(const char *const *names)
{
    ms_module_list list = {.names = names};
    while (names[list.count])
        list.count++;
    return list;
}

void ms_adapter_defaults(const ms_family *family, ms_adapter_kind kind, ms_module_list lists[2])
{
    const ms_peft_facts *peft = &ms_family_facts_of(family)->peft;
    const bool is_lora = kind == MS_ADAPTER_LORA;
    lists[0] = list_of(is_lora ? peft->lora : peft->ia3);
    lists[0].pattern = is_lora ? peft->lora_pattern : NULL;
    lists[1] = kind == MS_ADAPTER_IA3 ? list_of(peft->ia3_inputs) : (ms_module_list){0};
}

const char *ms_adapter_usual_targets(const ms_family *family)
{
    const ms_peft_facts *peft = &ms_family_facts_of(family)->peft;
    if (peft->lora[0] || peft->lora_pattern)
        return NULL;
    return peft->usual_lora ? peft->usual_lora : "q_proj+v_proj";
}
