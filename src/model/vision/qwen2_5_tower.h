/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vision tower of Qwen2.5-VL (Qwen2_5_VisionTransformerPretrainedModel of transformers): blocks
 * whose attention stays in windows, but for a few, and a merger of neighbouring patches.
 */
#ifndef MS_MODEL_VISION_QWEN2_5_TOWER_H
#define MS_MODEL_VISION_QWEN2_5_TOWER_H

#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision; a member of ms_decoder_style. */
bool ms_qwen2_5_tower_new(ms_model *model, uint32_t parent);

/* Runs it on model->pixel_values. *last: the last block's states, [patches, Hv]; returns the merged
 * ones, [tokens, H]. Both float. */
ms_tensor ms_qwen2_5_tower_run(ms_model *model, ms_tensor pixels, ms_tensor *last);

#endif
