/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of state-space layers: an embedding, layers of a norm and a mixer, a norm and a head. The
 * mixers are transformers' own functions of PyTorch, which run where mamba_ssm and causal_conv1d
 * are not installed; their kernels are another program.
 */
#ifndef MS_MODEL_RECURRENT_MAMBA_MODEL_H
#define MS_MODEL_RECURRENT_MAMBA_MODEL_H

#include "model/blocks/blocks.h"

/* A family's mixer, built below `parent` in the arena; NULL when out of memory. */
typedef struct ms_mixer_kind {
    void *(*build)(ms_model *model, uint32_t parent);
    /* [B, S, H] to [B, S, H] */
    ms_tensor (*call)(ms_model *model, const void *mixer, ms_tensor hidden);
} ms_mixer_kind;

/* Build and forward of a family's program. */
bool ms_mamba_build(ms_model *model, const ms_mixer_kind *kind);
void ms_mamba_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);

/* x.float(), as for the logits: a family's scale_logits; 0 for 0. */
ms_tensor ms_in_fp32(ms_tape *tape, ms_tensor x);

/* x in the type of `like`, which lives until the call that it is an argument of has returned. */
ms_tensor *ms_argument_in(ms_locals *f, ms_tensor x, ms_tensor like);

#endif
