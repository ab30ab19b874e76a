/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sparse MLPs with a gated shared expert, which runs for every token.
 */
#ifndef MS_MODEL_DECODER_SHARED_EXPERT_H
#define MS_MODEL_DECODER_SHARED_EXPERT_H

#include "model/decoder/experts.h"

/* As ms_sparse_mlp, with a gated shared expert of shared_expert_size. */
void *ms_shared_mlp_new(ms_model *model, uint32_t parent);
ms_tensor ms_shared_mlp(ms_model *model, const void *block, ms_tensor hidden);

#endif
