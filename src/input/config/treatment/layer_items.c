/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/layer_items.h"

#include "input/config/treatment/layers.h"
#include "input/config/treatment/treatment_equal.h"

ms_status ms_layer_items_refuse(const char *layers, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "'%.40s' is given twice, with two treatments; a later item may only name some "
                   "of the layers of an earlier one",
                   layers);
}

static bool may_follow(const ms_layer_items *items, const ms_treatment *treatment, uint64_t size)
{
    bool replaces = false, has_new = false;
    for (uint64_t i = 0; i < items->count; i++) {
        if (!items->chosen[i])
            continue;
        has_new = has_new || items->sizes[i] == 0;
        if (items->sizes[i] == 0 || ms_treatment_equal(&items->out->layers[i], treatment))
            continue;
        replaces = true;
        if (items->sizes[i] <= size)
            return false;
    }
    return !replaces || !has_new;
}

ms_status ms_layer_items_treat(ms_layer_items *items, const char *layers,
                               const ms_treatment *treatment, ms_error *err)
{
    uint64_t size = 0;
    ms_status status = ms_layer_list_select(layers, items->count, items->chosen, err);
    if (status != MS_OK)
        return status;
    for (uint64_t i = 0; i < items->count; i++)
        size += items->chosen[i];
    if (!may_follow(items, treatment, size))
        return ms_layer_items_refuse(layers, err);
    for (uint64_t i = 0; i < items->count; i++) {
        if (!items->chosen[i])
            continue;
        items->out->layers[i] = *treatment;
        items->sizes[i] = size;
    }
    return MS_OK;
}
