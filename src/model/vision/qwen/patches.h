/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the towers of Qwen's models have in common: the patches of images of any size, where they
 * are, and where their tokens are in the text.
 */
#ifndef MS_MODEL_VISION_QWEN_PATCHES_H
#define MS_MODEL_VISION_QWEN_PATCHES_H

#include "model/blocks/images.h"
#include "model/vision/qwen/attention.h"

/* The convolution whose kernel is one patch, and so a linear layer of it. */
typedef struct ms_qwen_projection {
    uint32_t scope;
    ms_tensor weight, bias; /* bias: 0 for none */
} ms_qwen_projection;

/* The frequencies by which heads turn: half of a head by rows, half by columns. */
typedef struct ms_qwen_rotary {
    uint32_t scope;
    ms_tensor inv_freq; /* fp32 */
} ms_qwen_rotary;

/* Their parameters and buffers below `parent`, from config->vision. */
ms_qwen_projection ms_qwen_projection_new(ms_model *model, uint32_t parent, ms_dim hidden,
                                          bool has_bias);
ms_qwen_rotary ms_qwen_rotary_new(ms_model *model, uint32_t parent);

/* cos and sin, fp32 [patches, width of a head], floating. */
void ms_qwen_tables(ms_model *model, const ms_qwen_rotary *rotary, ms_tensor positions,
                    ms_tensor out[2]);
/* The projection of patches in rows, [patches, Hv], floating. */
ms_tensor ms_qwen_project(ms_model *model, const ms_qwen_projection *module, ms_tensor pixels);
/* Where parts end, int32 [count], floating. */
ms_tensor ms_qwen_ends(ms_tape *tape, uint64_t count);

#endif
