/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LLaVA with images (LlavaModel.forward): states of CLIP's patches, projected by two layers, take
 * the place of the embeddings of image tokens.
 */
#ifndef MS_MODEL_VISION_LLAVA_IMAGES_H
#define MS_MODEL_VISION_LLAVA_IMAGES_H

#include "model/decoder/decoder.h"

/* A family's `place_image`: of any size the processor makes a picture of the tower's, each patch of
 * which is a token; so is the class token where features are "full". */
ms_status ms_llava_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err);

/* Creates the tower and the projector below `scope`; a member of ms_decoder_style. */
bool ms_llava_towers_new(ms_model *model, uint32_t scope);

/* The text model's last hidden states of ids and images, floating. *features: of the images, which
 * the model hands out with its result, retained. */
ms_tensor ms_llava_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids,
                                   ms_tensor *features);

#endif
