/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3 with images (Gemma3Model.forward): SigLIP's patches, pooled and projected, take the place
 * of the embeddings of image tokens, which see all of their image.
 */
#ifndef MS_MODEL_VISION_GEMMA3_IMAGES_H
#define MS_MODEL_VISION_GEMMA3_IMAGES_H

#include "model/decoder/decoder.h"

/* A family's `place_image`: of any size the processor makes a picture of the tower's, and the model
 * tokens by pooling square windows of patches. */
ms_status ms_gemma3_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err);

/* Creates the tower and the projector below `scope`; a member of ms_decoder_style. */
bool ms_gemma3_towers_new(ms_model *model, uint32_t scope);

/* The text model's last hidden states, floating, of embeddings and the decoder's masks. */
ms_tensor ms_gemma3_run_text(ms_model *model, ms_decoder *d, ms_tensor embeds);

/* The same of ids and images. *features: of the images, which the model hands out with its result,
 * retained. */
ms_tensor ms_gemma3_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids,
                                    ms_tensor *features);

#endif
