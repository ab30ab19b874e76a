/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The head of TRL's trainers: log-probabilities of the labels without logits of all tokens, in
 * tiles that backward computes again. Source: trl/kernels/chunked_logprob.py and _fused_forward of
 * trl/trainer/utils.py (1.16). Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_TRL_CHUNKED_LOGPROB_H
#define MS_TORCH_OPS_TRL_CHUNKED_LOGPROB_H

#include "torch/ops/ops.h"

/* Each [N], floating; only log_probs has a gradient. */
typedef struct ms_log_probs {
    ms_tensor log_probs, entropy, is_top;
} ms_log_probs;

/* Of hidden states [N, H], a head's weight [V, H], its bias [V] (0: none) and targets [N]. */
ms_log_probs ms_chunked_log_probs(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor bias,
                                  ms_tensor targets);
/* a[mask]: the first dimensions of `a` are those of the mask, which selects `count` rows. */
ms_tensor ms_select_by_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count);

#endif
