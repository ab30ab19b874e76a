/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vision towers of Qwen2-VL and Qwen2.5-VL (Qwen2VisionTransformerPretrainedModel and
 * Qwen2_5_VisionTransformerPretrainedModel of transformers): blocks and a merger of neighbouring
 * patches. In Qwen2.5-VL, whose config->vision has a window_size, attention stays in windows, but
 * for a few blocks.
 */
#ifndef MS_MODEL_VISION_QWEN_QWEN2_TOWER_H
#define MS_MODEL_VISION_QWEN_QWEN2_TOWER_H

#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision; a member of ms_decoder_style. */
bool ms_qwen2_tower_new(ms_model *model, uint32_t parent);

/* Runs it on model->pixel_values. *last: the last block's states, [patches, Hv]; returns the merged
 * ones, [tokens, H]. Both float. */
ms_tensor ms_qwen2_tower_run(ms_model *model, ms_tensor pixels, ms_tensor *last);

#endif
