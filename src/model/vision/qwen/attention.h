/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention of Qwen's vision towers (VisionAttention of Qwen2-VL, Qwen2_5_VLVisionAttention,
 * Qwen3VLVisionAttention): one call for each image, or for each window of Qwen2.5-VL.
 */
#ifndef MS_MODEL_VISION_QWEN_ATTENTION_H
#define MS_MODEL_VISION_QWEN_ATTENTION_H

#include "model/blocks/construct.h"
#include "model/blocks/model.h"

typedef struct ms_qwen_attention {
    uint32_t scope;
    ms_linear_module qkv, proj;
} ms_qwen_attention;

/* Parts of all patches of the batch that are attended to apart, in the arena. */
typedef struct ms_qwen_parts {
    uint32_t count;
    uint64_t listed;     /* parts in the tower's list, with empty ones */
    ms_dim *lengths;     /* in patches */
    ms_tensor *kept;     /* a result of each, retained, while they are made; else 0 */
    ms_tensor *split[3]; /* queries, keys and values of each */
} ms_qwen_parts;

/* What attention needs beside the hidden states: locals of the tower. */
typedef struct ms_qwen_places {
    const ms_qwen_parts *parts;
    ms_tensor cos, sin, ends; /* ends: where parts end, int32 [parts + 1] */
} ms_qwen_places;

/* Lists the images of a batch of model->run->images; false: out of memory. */
bool ms_qwen_images_list(ms_model *model, ms_qwen_parts *parts);
/* Releases `kept`, the last first. */
void ms_qwen_parts_drop(ms_tape *tape, const ms_qwen_parts *parts);

/* ---- block ---- */

/* A block of the towers of Qwen's models (Qwen2VLVisionBlock, Qwen2_5_VLVisionBlock,
 * Qwen3VLVisionBlock): attention and an MLP, each behind a norm. */

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
