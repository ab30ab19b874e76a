/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger kernels: which of them a run uses, and which a family supports.
 */
#ifndef MS_INPUT_CONFIG_RUN_LIGER_H
#define MS_INPUT_CONFIG_RUN_LIGER_H

#include "base/arena.h"
#include "input/config/model/model_config.h"

/* Bits of ms_run_config.liger. */
typedef enum ms_liger {
    MS_LIGER_ROPE = 1,
    MS_LIGER_RMS_NORM = 2,
    MS_LIGER_SWIGLU = 4,
    MS_LIGER_LOSS = 8, /* fused head and loss, without logits of all tokens */
    MS_LIGER_ALL = 15
} ms_liger;

/* The norms of a model that Liger distinguishes; norms of latents count as the layer's. */
typedef enum ms_liger_norm {
    MS_LIGER_NORM_OF_LAYER,
    MS_LIGER_NORM_LAST,
    MS_LIGER_NORM_OF_HEADS
} ms_liger_norm;

/* What Liger replaces in a family's model with all kernels enabled. */
typedef struct ms_liger_family {
    const char *model_type;
    uint64_t kernels;       /* bits of ms_liger */
    unsigned norms;         /* norms it replaces, 1 << ms_liger_norm */
    unsigned copying_norms; /* of these, norms whose backward allocates the input's gradient */
    uint64_t logits_share;  /* the fused loss computes logits in chunks of this many times the bytes
                               of the hidden states; 0: it reads the head's logits */
} ms_liger_family;

/* Parses "none", "all", or names joined by "+". */
ms_status ms_liger_parse(const char *text, uint64_t *kernels, ms_error *err);
/* The text for these kernels, in the arena; NULL when out of memory. */
const char *ms_liger_text(ms_arena *arena, uint64_t kernels);

/* NULL: Liger has no kernels for the family. */
const ms_liger_family *ms_liger_family_of(const ms_model_config *model);
/* Whether head and loss are fused, so that there are no logits of all tokens. */
bool ms_liger_fuses_head(uint64_t kernels, const ms_liger_family *family);

#endif
