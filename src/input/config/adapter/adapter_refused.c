/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/adapter/adapter_refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- experts ---- */

enum { MOST_NAMES = 4 };

/* What experts and routers were called in transformers 4, by how the families' weights are
 * converted. */
static const char *const of_qwen2_moe[MOST_NAMES] = {"gate", "gate_proj", "up_proj", "down_proj"};
static const char *const of_mixtral[MOST_NAMES] = {"gate", "w1", "w2", "w3"};

static const struct exchanged_row {
    const char *model_type;
    const char *const *names;
} exchanged[] = {
    {"deepseek_v2", of_qwen2_moe}, {"deepseek_v3", of_qwen2_moe}, {"deepseek_v32", of_qwen2_moe},
    {"dots1", of_qwen2_moe},       {"glm4_moe", of_qwen2_moe},    {"ernie4_5_moe", of_qwen2_moe},
    {"olmoe", of_qwen2_moe},       {"qwen3_moe", of_qwen2_moe},   {"qwen3_next", of_qwen2_moe},
    {"mixtral", of_mixtral},       {"minimax_m2", of_mixtral},
};

static const char *const *names_of(const char *model_type)
{
    for (size_t i = 0; i < sizeof exchanged / sizeof *exchanged; i++)
        if (strcmp(exchanged[i].model_type, model_type) == 0)
            return exchanged[i].names;
    return NULL;
}

bool ms_adapter_exchanges(const char *model_type)
{
    return names_of(model_type) != NULL;
}

static bool ends_with_part(const char *name, const char *part)
{
    size_t length = strlen(name), bytes = strlen(part);
    return length >= bytes && strcmp(name + length - bytes, part) == 0 &&
           (length == bytes || name[length - bytes - 1] == '.');
}

bool ms_adapter_exchanges_name(const char *model_type, const char *name)
{
    const char *const *names = names_of(model_type);
    for (int i = 0; names && i < MOST_NAMES; i++)
        if (ends_with_part(name, names[i]))
            return true;
    return false;
}

static bool is_listed(const ms_module_list *targets, const char *name)
{
    for (uint32_t i = 0; i < targets->count; i++)
        if (ends_with_part(targets->names[i], name))
            return true;
    return false;
}

/* A pattern is tried on the names that the modules of each layer would have. */
static bool is_matched(ms_adapter_matcher *matcher, uint64_t layers, const char *name)
{
    bool is_router = strcmp(name, "gate") == 0;
    char path[96];
    for (uint64_t i = 0; i < layers; i++) {
        snprintf(path, sizeof path, "model.layers.%" PRIu64 ".mlp.%s%s", i,
                 is_router ? "" : "experts.", name);
        if (ms_adapter_takes(matcher, path, true, false))
            return true;
    }
    return false;
}

/* The first of the targets that is exchanged; NULL: none is. */
static const char *first_exchanged(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const char *const *names, uint64_t layers)
{
    if (adapter->all_linear)
        return "all-linear";
    for (int i = 0; i < MOST_NAMES; i++)
        if (adapter->targets.pattern ? is_matched(matcher, layers, names[i])
                                     : is_listed(&adapter->targets, names[i]))
            return names[i];
    return NULL;
}

ms_status ms_adapter_check_experts(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const char *model_type, uint64_t layers, ms_error *err)
{
    const char *const *names = names_of(model_type);
    const char *target = names ? first_exchanged(matcher, adapter, names, layers) : NULL;
    if (!target)
        return MS_OK;
    return ms_fail(err, MS_ERR_CONFIG,
                   "adapter: %s of %s is not predicted: PEFT 0.21 adapts the stacked experts in "
                   "its place; name other targets, such as q_proj and v_proj",
                   target, model_type);
}

/* ---- state-space models ---- */

static const struct refused_module {
    const char *model_type, *name, *why;
    const char *other; /* what can be adapted */
} refused_modules[] = {
    {"mamba", "out_proj", "PEFT refuses to adapt it", "in_proj"},
    {"mamba", "dt_proj", "the mixer reads its weight without calling it", "in_proj"},
    {"mamba2", "out_proj", "PEFT refuses to adapt it", "in_proj"},
    {"nemotron_h", "out_proj", "PEFT refuses to adapt it", "in_proj"},
    {"deepseek_v32", "wq_b", "no gradient comes to the indexer", "q_a_proj"},
    {"deepseek_v32", "wk", "no gradient comes to the indexer", "q_a_proj"},
    {"deepseek_v32", "weights_proj", "no gradient comes to the indexer", "q_a_proj"},
};

ms_status ms_adapter_check_module(const char *model_type, const char *name, ms_error *err)
{
    for (size_t i = 0; i < sizeof refused_modules / sizeof *refused_modules; i++) {
        const struct refused_module *row = &refused_modules[i];
        if (strcmp(model_type, row->model_type) == 0 && ends_with_part(name, row->name))
            return ms_fail(err, MS_ERR_CONFIG,
                           "adapter: %s of %s is not supported: %s; name other targets, such as "
                           "%s",
                           row->name, model_type, row->why, row->other);
    }
    return MS_OK;
}
