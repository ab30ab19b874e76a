/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Experts, and one more, behind a gate, that sees every token.
 */
#ifndef MS_MODEL_DECODER_SHARED_EXPERT_H
#define MS_MODEL_DECODER_SHARED_EXPERT_H

#include "model/decoder/experts.h"

/* The same with one more expert, of shared_expert_size, behind a gate (shared_expert.c). */
void *ms_shared_mlp_new(ms_model *model, uint32_t parent);
ms_tensor ms_shared_mlp(ms_model *model, const void *block, ms_tensor hidden);

#endif
