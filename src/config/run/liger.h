/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels: which of them a run has, and why a model cannot have them.
 */
#ifndef MS_CONFIG_RUN_LIGER_H
#define MS_CONFIG_RUN_LIGER_H

#include "base/arena.h"
#include "config/model/model_config.h"

/* Bits of ms_run_config.liger. */
typedef enum ms_liger {
    MS_LIGER_ROPE = 1,
    MS_LIGER_RMS_NORM = 2,
    MS_LIGER_SWIGLU = 4,
    MS_LIGER_LOSS = 8, /* head and loss in one, without logits of all tokens */
    MS_LIGER_ALL = 15
} ms_liger;

/* The norms of a model that Liger distinguishes; those of the latent count as a layer's. */
typedef enum ms_liger_norm {
    MS_LIGER_NORM_OF_LAYER,
    MS_LIGER_NORM_LAST,
    MS_LIGER_NORM_OF_HEADS
} ms_liger_norm;

/* What Liger replaces in a family's model when it is asked for all it can. */
typedef struct ms_liger_family {
    const char *model_type;
    uint64_t kernels;       /* bits of ms_liger */
    unsigned norms;         /* which it replaces, 1 << ms_liger_norm */
    unsigned copying_norms; /* of these, whose backward makes a tensor for the gradient */
    uint64_t logits_share; /* the loss's kernel makes logits in pieces of so many times the bytes of
                              all hidden states; 0: it reads those that the head made */
} ms_liger_family;

/* "none", "all", or names joined by +. */
ms_status ms_liger_parse(const char *text, uint64_t *kernels, ms_error *err);
/* The same back, in the arena. */
const char *ms_liger_text(ms_arena *arena, uint64_t kernels);

/* NULL: it has no kernels for the family. */
const ms_liger_family *ms_liger_family_of(const ms_model_config *model);
/* Whether the head is part of the loss's kernel, so that there are no logits of all tokens. */
bool ms_liger_fuses_head(uint64_t kernels, const ms_liger_family *family);

#endif
