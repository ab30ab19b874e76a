/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing experts from the best groups of experts.
 */
#ifndef MS_MODEL_DECODER_EXPERT_CHOICE_H
#define MS_MODEL_DECODER_EXPERT_CHOICE_H

#include "model/decoder/expert_sizes.h"

enum { MS_CHOICE_VALUES = 8 };

/* The best experts, by scores and bias, of the groups whose two best are best: out[0], and behind
 * it what the function that chooses has bound until it returns, from the last to the first; all
 * floating. No gradient comes here: what nodes kept is bound beside the tensors whose nodes they
 * are. */
void ms_choose_by_pairs(ms_model *model, ms_tensor scores, ms_tensor bias,
                        ms_tensor out[MS_CHOICE_VALUES]);

#endif
