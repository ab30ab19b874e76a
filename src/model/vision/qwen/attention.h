/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention of Qwen's vision towers (VisionAttention of Qwen2-VL, Qwen2_5_VLVisionAttention,
 * Qwen3VLVisionAttention): one call for each image, or for each window of Qwen2.5-VL.
 */
#ifndef MS_MODEL_VISION_QWEN_ATTENTION_H
#define MS_MODEL_VISION_QWEN_ATTENTION_H

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

ms_qwen_attention ms_qwen_attention_new(ms_model *model, uint32_t parent, ms_dim hidden);
/* Lists the windows, or the images, of a batch of model->run->images; false: out of memory. */
bool ms_qwen_windows_list(ms_model *model, ms_qwen_parts *parts);
bool ms_qwen_images_list(ms_model *model, ms_qwen_parts *parts);
/* Releases `kept`, the last first. */
void ms_qwen_parts_drop(ms_tape *tape, const ms_qwen_parts *parts);
/* [patches, Hv] to the same. */
ms_tensor ms_qwen_attend(ms_model *model, const ms_qwen_attention *module,
                         const ms_qwen_places *places, ms_tensor x);

#endif
