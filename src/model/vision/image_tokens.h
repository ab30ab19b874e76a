/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tokens of a sequence that stand for images.
 */
#ifndef MS_MODEL_VISION_IMAGE_TOKENS_H
#define MS_MODEL_VISION_IMAGE_TOKENS_H

#include "model/blocks/images.h"
#include "model/decoder/decoder.h"

/* Which ids are image tokens, [B, S, 1], and which are of videos, [B, S], for locals of `f`. */
void ms_image_video_masks(ms_model *model, ms_locals *f, ms_tensor ids, ms_tensor *image,
                          ms_tensor *video);

#endif
