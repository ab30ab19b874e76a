/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SigLIP's vision tower (SiglipVisionModel of transformers).
 */
#ifndef MS_MODEL_VISION_SIGLIP_H
#define MS_MODEL_VISION_SIGLIP_H

#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision, and sets model->tower. False when out
 * of memory. */
bool ms_siglip_new(ms_model *model, uint32_t parent);

/* The last hidden states of pictures, [pictures, patches, Hv], floating. A pooling head has
 * parameters only. */
ms_tensor ms_siglip_run(ms_model *model, ms_tensor pixels);

#endif
