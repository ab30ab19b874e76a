/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes of a mixture of experts.
 */
#ifndef MS_MODEL_DECODER_EXPERT_SIZES_H
#define MS_MODEL_DECODER_EXPERT_SIZES_H

#include "model/blocks/blocks.h"

/* Experts of a layer, experts per token, and intermediate size of an expert. */
ms_dim ms_expert_count(ms_model *model);
ms_dim ms_experts_per_token(ms_model *model);
ms_dim ms_expert_width(ms_model *model);
/* hidden.view(-1, H) */
ms_tensor ms_as_tokens(ms_model *model, ms_tensor hidden);

#endif
