/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels: which of them a run has, and why a model cannot have them.
 */
#ifndef MS_CONFIG_LIGER_H
#define MS_CONFIG_LIGER_H

#include "base/arena.h"
#include "config/model_config.h"

/* Bits of ms_run_config.liger. */
typedef enum ms_liger {
    MS_LIGER_ROPE = 1,
    MS_LIGER_RMS_NORM = 2,
    MS_LIGER_SWIGLU = 4,
    MS_LIGER_LOSS = 8, /* head and loss in one, without logits of all tokens */
    MS_LIGER_ALL = 15
} ms_liger;

/* "none", "all", or names joined by +. */
ms_status ms_liger_parse(const char *text, uint64_t *kernels, ms_error *err);
/* The same back, in the arena. */
const char *ms_liger_text(ms_arena *arena, uint64_t kernels);

/* Whether Liger has kernels for the family at all; and whether they are modelled. */
bool ms_liger_knows(const ms_model_config *model);
bool ms_liger_is_modelled(const ms_model_config *model);

#endif
