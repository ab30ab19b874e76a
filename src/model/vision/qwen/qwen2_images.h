/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2VLModel.forward and Qwen2_5_VLModel.forward with images: their features take the place of
 * the embeddings of image tokens, and positions have three grids.
 */
#ifndef MS_MODEL_VISION_QWEN_QWEN2_IMAGES_H
#define MS_MODEL_VISION_QWEN_QWEN2_IMAGES_H

#include "model/decoder/decoder.h"

/* The text model's last hidden states, floating. */
ms_tensor ms_qwen2_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids);

#endif
