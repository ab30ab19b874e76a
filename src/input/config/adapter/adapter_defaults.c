/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Default targets of adapters: PEFT 0.21's tables by model type (peft/utils/constants.py). For a
 * model type in no table, targets must be given.
 */
#include "input/config/adapter/adapter_defaults.h"

#include <stddef.h>
#include <string.h>

#include "input/config/adapter/adapter.h"

#define MOST 4

static const struct default_row {
    const char *model_type;
    const char *lora[MOST], *ia3[MOST];
    const char *scaled_inputs[2]; /* of ia3's */
} defaults[] = {
    {"llama", {"q_proj", "v_proj"}, {"k_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"mistral", {"q_proj", "v_proj"}, {"k_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"mixtral", {"q_proj", "v_proj"}, {"k_proj", "v_proj", "w2"}, {"w2"}},
    {"qwen2", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"qwen3", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"gemma", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"gemma2", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"gemma3_text", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"gpt2", {"c_attn"}, {"c_attn", "mlp.c_proj"}, {"mlp.c_proj"}},
    {"bloom", {"query_key_value"}, {"query_key_value", "mlp.dense_4h_to_h"}, {"mlp.dense_4h_to_h"}},
    {"gptj", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "fc_out"}, {"fc_out"}},
    {"llama4", {"q_proj", "v_proj"}, {"q_proj", "v_proj", "down_proj"}, {"down_proj"}},
    {"gpt_neox", {"query_key_value"}, {"query_key_value", "dense_4h_to_h"}, {"dense_4h_to_h"}},
    {"falcon", {"query_key_value"}, {"query_key_value", "dense_4h_to_h"}, {"dense_4h_to_h"}},
    {"RefinedWebModel",
     {"query_key_value"},
     {"query_key_value", "dense_4h_to_h"},
     {"dense_4h_to_h"}},
    {"RefinedWeb", {"query_key_value"}, {"query_key_value", "dense_4h_to_h"}, {"dense_4h_to_h"}},
    {"opt", {"q_proj", "v_proj"}, {"q_proj", "k_proj", "fc2"}, {"fc2"}},
    {"phi", {"q_proj", "v_proj", "fc1", "fc2"}, {"q_proj", "v_proj", "fc2"}, {"fc2"}},
    {"stablelm", {"q_proj", "v_proj"}, {0}, {0}},
    {"bert", {"query", "value"}, {"key", "value", "output.dense"}, {"output.dense"}},
    {"roberta", {"query", "value"}, {"key", "value", "output.dense"}, {"output.dense"}},
    {"xlm-roberta", {"query", "value"}, {0}, {0}},
    {"electra", {"query", "value"}, {0}, {0}},
    {"nemotron_h", {"q_proj", "k_proj", "v_proj", "o_proj"}, {0}, {0}},
    {"t5", {"q", "v"}, {"k", "v", "wo"}, {"wo"}},
};

/* LoRA's targets as a pattern of whole names. */
static const struct pattern_row {
    const char *model_type, *pattern;
} patterns[] = {
    {"gemma4", ".*language_model\\..*\\.(q_proj|v_proj)"},
};

static ms_module_list list_of(const char *const *names, uint32_t most)
{
    ms_module_list list = {.names = names};
    while (list.count < most && names[list.count])
        list.count++;
    return list;
}

void ms_adapter_defaults(const char *model_type, ms_adapter_kind kind, ms_module_list lists[2])
{
    lists[0] = lists[1] = (ms_module_list){0};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && kind == MS_ADAPTER_LORA; i++)
        if (strcmp(patterns[i].model_type, model_type) == 0)
            lists[0].pattern = patterns[i].pattern;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        const struct default_row *row = &defaults[i];
        if (strcmp(row->model_type, model_type) != 0)
            continue;
        lists[0] = list_of(kind == MS_ADAPTER_LORA ? row->lora : row->ia3, MOST);
        if (kind == MS_ADAPTER_IA3)
            lists[1] = list_of(row->scaled_inputs, 2);
    }
}

/* Models whose queries and values are not called q_proj and v_proj. */
static const struct usual_row {
    const char *model_type, *targets;
} usual[] = {
    {"camembert", "query+value"},
    {"deepseek_v2", "q_proj+q_b_proj+kv_b_proj"},
    {"deepseek_v3", "q_proj+q_b_proj+kv_b_proj"},
    {"distilbert", "q_lin+v_lin"},
    {"mamba", "in_proj"},
    {"mamba2", "in_proj"},
    {"modernbert", "Wqkv"},
    {"phi3", "qkv_proj"},
    {"vit", "query+value"},
};

const char *ms_adapter_usual_targets(const char *model_type)
{
    ms_module_list lists[2];
    ms_adapter_defaults(model_type, MS_ADAPTER_LORA, lists);
    if (lists[0].count > 0 || lists[0].pattern)
        return NULL;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (strcmp(usual[i].model_type, model_type) == 0)
            return usual[i].targets;
    return "q_proj+v_proj";
}
