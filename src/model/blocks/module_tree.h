/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The modules of a built model as data, by name, from which adapters (and anything else that
 * partitions a model) select.
 */
#ifndef MS_MODEL_BLOCKS_MODULE_TREE_H
#define MS_MODEL_BLOCKS_MODULE_TREE_H

#include "model/blocks/model.h"

typedef enum ms_module_kind {
    MS_MODULE_CONTAINER, /* contains modules, and has no parameters of its own to select */
    MS_MODULE_LEAF,
    MS_MODULE_ACTIVATION /* activation module of an MLP, as in transformers */
} ms_module_kind;

typedef struct ms_module_row {
    const char *name; /* full name, "model.layers.0.self_attn.q_proj" */
    ms_module_kind kind;
    uint32_t parent, end; /* rows: parent, MS_NONE at the top; end of its descendants */
    uint32_t leaf;        /* index in model->leaves; MS_NONE: no leaf */
} ms_module_row;

typedef struct ms_module_tree {
    const ms_module_row *rows;
    uint32_t count;
} ms_module_tree;

/* Makes the rows in the order of the framework's named_modules(): a module before its children.
 * Modules without parameters are omitted, except activations. The rows belong to the model's arena.
 * Fails only with MS_ERR_NOMEM. */
ms_status ms_module_tree_make(const ms_model *model, ms_module_tree *tree);

#endif
