/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A block of the towers of Qwen's models (Qwen2VLVisionBlock, Qwen2_5_VLVisionBlock,
 * Qwen3VLVisionBlock): attention and an MLP, each behind a norm.
 */
#ifndef MS_MODEL_VISION_QWEN_BLOCK_H
#define MS_MODEL_VISION_QWEN_BLOCK_H

#include "model/blocks/construct.h"
#include "model/vision/qwen/attention.h"

/* In what the blocks of the models differ. */
typedef struct ms_qwen_block_form {
    bool is_rms;                     /* norms without a bias; else layer norms */
    const char *gate, *first, *last; /* the MLP's layers by name; gate: NULL for two layers */
} ms_qwen_block_form;

typedef struct ms_qwen_block {
    ms_model *model;
    const ms_qwen_block_form *form;
    uint32_t scope, mlp_scope;
    ms_norm_module norm1, norm2;
    ms_qwen_attention attention;
    ms_linear_module gate, first, last;
    const ms_qwen_places *places; /* where its attention stays, of the running pass */
} ms_qwen_block;

/* A norm of `width` as the form's blocks and merger have. */
ms_norm_module ms_qwen_norm_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                const char *name, ms_dim width);
ms_tensor ms_qwen_norm_call(ms_model *model, const ms_qwen_block_form *form,
                            const ms_norm_module *module, ms_tensor x);

/* Creates config->vision.num_layers blocks below a module "blocks" of `parent`, in the arena; NULL
 * when out of memory. `form` and `places` stay the caller's; blocks read `places` when they run. */
ms_qwen_block *ms_qwen_blocks_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                  ms_dim hidden, const ms_qwen_places *places);
/* [patches, Hv] to the same, floating; under a checkpoint where layers are. */
ms_tensor ms_qwen_block_call(ms_qwen_block *block, ms_tensor hidden);

/* The child of a module that is a list, by its number. */
uint32_t ms_qwen_numbered(ms_model *model, uint32_t parent, uint64_t number);

#endif
