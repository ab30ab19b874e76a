/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/encoder/encoder.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/packed/quantized.h"
#include "torch/ops/ops.h"

uint32_t ms_child_scope(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

ms_learned_table ms_learned_table_new(ms_model *model, uint32_t parent, const char *name,
                                      ms_dim rows)
{
    return ms_learned_table_of(model, parent, name, rows, model->hidden);
}

ms_learned_table ms_learned_table_of(ms_model *model, uint32_t parent, const char *name,
                                     ms_dim rows, ms_dim width)
{
    ms_tensor weight = ms_embedding_new(model, parent, name, rows, width);
    return (ms_learned_table){.scope = model->tape->trace->scopes.count - 1, .weight = weight};
}

ms_tensor ms_learned_table_call(ms_model *model, const ms_learned_table *table, ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, table->scope);
    ms_tensor out = ms_embedding(model->tape, table->weight, ids);
    model->tape->scope = previous;
    return out;
}

ms_tensor *ms_attend_all(ms_model *model, ms_locals *f, uint64_t number,
                         const ms_linear_module *const q_k_v[3], ms_tensor hidden,
                         ms_tensor *weights)
{
    ms_tensor heads[3];
    for (int i = 0; i < 3; i++)
        heads[i] =
            *ms_local(f, ms_as_heads(model, ms_linear_call(model, q_k_v[i], hidden), model->heads));
    return ms_attend_merged(model, f, number, heads, model->mask, weights);
}
