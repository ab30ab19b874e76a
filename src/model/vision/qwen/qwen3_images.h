/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3VLModel.forward with images: as Qwen2-VL, and the features of inner blocks are added to
 * the image tokens behind the first layers of the text model.
 */
#ifndef MS_MODEL_VISION_QWEN_QWEN3_IMAGES_H
#define MS_MODEL_VISION_QWEN_QWEN3_IMAGES_H

#include "model/decoder/decoder.h"

/* Gives the style what a run with images has. */
void ms_qwen3_see_images(const ms_model *model, ms_decoder_style *style);

#endif
