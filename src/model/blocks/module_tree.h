/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The modules of a built model as data, by name: what adapters choose from, and whatever else cuts
 * a model into parts.
 */
#ifndef MS_MODEL_BLOCKS_MODULE_TREE_H
#define MS_MODEL_BLOCKS_MODULE_TREE_H

#include "model/blocks/model.h"

typedef enum ms_module_kind {
    MS_MODULE_CONTAINER, /* holds others, and no parameters of its own that can be chosen */
    MS_MODULE_LEAF,
    MS_MODULE_ACTIVATION /* beside the linear layers of an MLP, as transformers' models have it */
} ms_module_kind;

typedef struct ms_module_row {
    const char *name; /* "model.layers.0.self_attn.q_proj", whole */
    ms_module_kind kind;
    uint32_t parent, end; /* rows: MS_NONE at the top; past the last of its own modules */
    uint32_t leaf;        /* of a leaf: its place in model->leaves; else MS_NONE */
} ms_module_row;

typedef struct ms_module_tree {
    const ms_module_row *rows;
    uint32_t count;
} ms_module_tree;

/* The rows in the order of the framework's named_modules(): a module before those in it. Modules
 * without parameters are not among them, but for activations. The rows belong to the model's arena.
 * MS_ERR_NOMEM. */
ms_status ms_module_tree_make(const ms_model *model, ms_module_tree *tree);

/* The first row of that whole name, or MS_NONE. */
uint32_t ms_module_find(const ms_module_tree *tree, const char *name);

#endif
