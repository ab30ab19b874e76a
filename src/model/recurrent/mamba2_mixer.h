/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba 2's mixer: heads with a state each, scanned over chunks of the sequence, between a short
 * convolution and a gated norm. It is transformers' own function of PyTorch, which runs where
 * mamba_ssm and causal_conv1d are not installed.
 */
#ifndef MS_MODEL_RECURRENT_MAMBA2_MIXER_H
#define MS_MODEL_RECURRENT_MAMBA2_MIXER_H

#include "model/blocks/model.h"

/* Keys of a family with such mixers; `text` is how it spells a key that differs. */
#define SCAN_STATES(text, value)                                                                   \
    {                                                                                              \
        .name = text, .kind = MS_KEY_COUNT, .offset = MEMBER(state_size), .default_value = value,  \
        .minimum = 2, .maximum = 1 << 14                                                           \
    }
#define SCAN_CHUNK(other, value)                                                                   \
    {                                                                                              \
        .name = "chunk_size", .aliases = {other}, .kind = MS_KEY_COUNT,                            \
        .offset = MEMBER(scan_chunk), .default_value = value, .minimum = 2, .maximum = 1 << 16     \
    }
#define SCAN_ACTIVATION(text)                                                                      \
    {                                                                                              \
        .name = text, .kind = MS_KEY_ACTIVATION, .offset = MEMBER(scan_activation),                \
        .default_value = MS_ACTIVATION_SILU                                                        \
    }

/* The mixer below a module "mixer", in the arena, of width scan_heads * scan_head_dim; NULL when
 * out of memory. */
void *ms_mamba2_mixer_new(ms_model *model, uint32_t parent);
/* [B, S, H] to [B, S, H] */
ms_tensor ms_mamba2_mixer_call(ms_model *model, const void *mixer, ms_tensor hidden);

#endif
