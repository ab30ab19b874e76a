/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SigLIP's vision tower: its parameters. It has no forward: who trains on text alone does not run
 * it.
 */
#ifndef MS_MODEL_VISION_SIGLIP_H
#define MS_MODEL_VISION_SIGLIP_H

#include "model/blocks/model.h"

/* Makes the parameters below `parent`, from config->vision. */
void ms_siglip_new(ms_model *model, uint32_t parent);

#endif
