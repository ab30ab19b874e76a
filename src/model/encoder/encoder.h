/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of encoders with learned positions: tables of embeddings, the head that predicts words,
 * and its loss.
 */
#ifndef MS_MODEL_ENCODER_ENCODER_H
#define MS_MODEL_ENCODER_ENCODER_H

#include "model/blocks/blocks.h"

typedef struct ms_learned_table {
    uint32_t scope;
    ms_tensor weight;
} ms_learned_table;

uint32_t ms_child_scope(ms_model *model, uint32_t parent, const char *name);

/* A table of `rows` embeddings, and what it yields for ids. */
ms_learned_table ms_learned_table_new(ms_model *model, uint32_t parent, const char *name,
                                      ms_dim rows);
/* The same of another width than the model's. */
ms_learned_table ms_learned_table_of(ms_model *model, uint32_t parent, const char *name,
                                     ms_dim rows, ms_dim width);
ms_tensor ms_learned_table_call(ms_model *model, const ms_learned_table *table, ms_tensor ids);

/* Attention of every token to all, by three linear layers for queries, keys and values: [B, S, H],
 * a local of `f`. The probabilities are retained until the caller releases them. */
ms_tensor *ms_attend_all(ms_model *model, ms_locals *f, uint64_t number,
                         const ms_linear_module *const q_k_v[3], ms_tensor hidden,
                         ms_tensor *weights);

#endif
