/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels, and what they replace in a family's model.
 */
#ifndef MS_INPUT_CONFIG_MODEL_LIGER_FACTS_H
#define MS_INPUT_CONFIG_MODEL_LIGER_FACTS_H

#include <stdint.h>

/* Bits of ms_run_config.liger. */
typedef enum ms_liger {
    MS_LIGER_ROPE = 1,
    MS_LIGER_RMS_NORM = 2,
    MS_LIGER_SWIGLU = 4,
    MS_LIGER_LOSS = 8, /* fused head and loss, without logits of all tokens */
    MS_LIGER_ALL = 15
} ms_liger;

/* The norms of a model that Liger distinguishes; norms of latents count as those of heads. */
typedef enum ms_liger_norm {
    MS_LIGER_NORM_OF_LAYER,
    MS_LIGER_NORM_LAST,
    MS_LIGER_NORM_OF_HEADS
} ms_liger_norm;

enum {
    MS_LIGER_IS_LAYER = 1 << MS_LIGER_NORM_OF_LAYER,
    MS_LIGER_IS_LAST = 1 << MS_LIGER_NORM_LAST,
    MS_LIGER_IS_HEADS = 1 << MS_LIGER_NORM_OF_HEADS
};

/* What liger-kernel 0.8 replaces in a family's model with all kernels enabled, as its code does it
 * to a model that is already there, which is Trainer's way. */
typedef struct ms_liger_family {
    uint64_t kernels;       /* bits of ms_liger; 0: it does not patch the family */
    unsigned norms;         /* norms it replaces, 1 << ms_liger_norm */
    unsigned copying_norms; /* of these, norms whose backward allocates the input's gradient */
    uint64_t logits_share;  /* the fused loss computes logits in chunks of this many times the bytes
                               of the hidden states; 0: it reads the head's logits */
} ms_liger_family;

#endif
