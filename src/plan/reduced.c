/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/reduced.h"

enum { FEW = 5, FEW_AT_EACH_END = 2 };

static uint64_t few(uint64_t count)
{
    return count < FEW ? count : FEW;
}

ms_model_config ms_model_reduce(const ms_model_config *model)
{
    ms_model_config reduced = *model;
    uint64_t full = model->sliding_layers_from < model->num_layers ? model->sliding_layers_from
                                                                   : model->num_layers;
    reduced.num_layers = few(full) + few(model->num_layers - full);
    reduced.sliding_layers_from = full < model->num_layers ? few(full) : reduced.num_layers;
    return reduced;
}

/* The layer of the reduced model that stands for layer `at` of a kind that has `count`. */
static uint64_t representative(uint64_t at, uint64_t count)
{
    if (count <= FEW || at < FEW_AT_EACH_END)
        return at;
    return count - at <= FEW_AT_EACH_END ? FEW - (count - at) : FEW_AT_EACH_END;
}

uint64_t ms_model_reduced_layer(const ms_model_config *model, uint64_t layer)
{
    uint64_t full = model->sliding_layers_from < model->num_layers ? model->sliding_layers_from
                                                                   : model->num_layers;
    if (layer < full)
        return representative(layer, full);
    return few(full) + representative(layer - full, model->num_layers - full);
}
