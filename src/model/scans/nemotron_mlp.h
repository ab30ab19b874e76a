/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nemotron-H's layers without attention or scan: an MLP without a gate, or a mixture of such, whose
 * experts may read and write a narrower latent.
 */
#ifndef MS_MODEL_SCANS_NEMOTRON_MLP_H
#define MS_MODEL_SCANS_NEMOTRON_MLP_H

#include "model/blocks/model.h"

/* The layer's module "mixer", in the arena, by the layer's kind; NULL when out of memory. */
void *ms_nemotron_mlp_new(ms_model *model, uint32_t parent, uint64_t layer);
/* [B, S, H] to [B, S, H] */
ms_tensor ms_nemotron_mlp_call(ms_model *model, const void *mlp, uint64_t layer, ms_tensor hidden);

#endif
