/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SigLIP's vision tower: parameters only. It has no forward, since text-only training does not run
 * it.
 */
#ifndef MS_MODEL_VISION_SIGLIP_H
#define MS_MODEL_VISION_SIGLIP_H

#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision. */
void ms_siglip_new(ms_model *model, uint32_t parent);

#endif
