/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cut cross entropy, head and loss in kernels that make no logits, as axolotl's fork of
 * cut-cross-entropy has it (5f0c7a7, cut_cross_entropy/cce.py). Conventions are those of ops.h.
 */
#ifndef MS_OPS_CUT_CUT_CROSS_ENTROPY_H
#define MS_OPS_CUT_CUT_CROSS_ENTROPY_H

#include "ops/ops.h"

/* Numbers of the tokens that have a label: int64 [count], of labels [B, S] but for the first of
 * each sequence. */
ms_tensor ms_cut_valids(ms_tape *tape, ms_dim batch, ms_dim scored);
/* Head without bias and loss over hidden states [T, H] in 16 bits: the mean, or sum, in fp32.
 * Consumes the valids. */
ms_tensor ms_cut_cross_entropy(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor labels,
                               ms_tensor valids);

#endif
