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

/* A model's forward whose result has the features of its images too: `run` gives the last hidden
 * states, floating, and *features, retained, or leaves them. */
typedef ms_tensor (*ms_run_features)(ms_model *model, ms_decoder *d, ms_tensor ids,
                                     ms_tensor *features);
void ms_forward_with_features(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out,
                              ms_run_features run);

#endif
