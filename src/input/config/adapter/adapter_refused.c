/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/adapter/adapter_refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/family_facts.h"

/* ---- experts ---- */

static const char *const *names_of(const ms_family *family)
{
    return ms_family_facts_of(family)->peft.exchanged;
}

bool ms_adapter_exchanges(const ms_family *family)
{
    return names_of(family) != NULL;
}

static bool ends_with_part(const char *name, const char *part)
{
    size_t length = strlen(name), bytes = strlen(part);
    return length >= bytes && strcmp(name + length - bytes, part) == 0 &&
           (length == bytes || name[length - bytes - 1] == '.');
}

bool ms_adapter_exchanges_name(const ms_family *family, const char *name)
{
    const char *const *names = names_of(family);
    for (size_t i = 0; names && names[i]; i++)
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
    for (size_t i = 0; names[i]; i++)
        if (adapter->targets.pattern ? is_matched(matcher, layers, names[i])
                                     : is_listed(&adapter->targets, names[i]))
            return names[i];
    return NULL;
}

ms_status ms_adapter_check_experts(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const ms_family *family, uint64_t layers, ms_error *err)
{
    const char *const *names = names_of(family);
    const char *target = names ? first_exchanged(matcher, adapter, names, layers) : NULL;
    if (!target)
        return MS_OK;
    return ms_fail(err, MS_ERR_CONFIG,
                   "adapter: %s of %s is not predicted: PEFT 0.21 adapts the stacked experts in "
                   "its place; name other targets, such as q_proj and v_proj",
                   target, family->model_type);
}

/* ---- other modules ---- */

ms_status ms_adapter_check_module(const ms_family *family, const char *name, ms_error *err)
{
    const ms_refused_module *refused = ms_family_facts_of(family)->peft.refused;
    for (; refused->name; refused++)
        if (ends_with_part(name, refused->name))
            return ms_fail(err, MS_ERR_CONFIG,
                           "adapter: %s of %s is not supported: %s; name other targets, such as "
                           "%s",
                           refused->name, family->model_type, refused->why, refused->other);
    return MS_OK;
}
