/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger kernels: which of them a run uses, and which a family supports.
 */
#ifndef MS_INPUT_CONFIG_RUN_LIGER_H
#define MS_INPUT_CONFIG_RUN_LIGER_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/liger_facts.h"

typedef struct ms_model_config ms_model_config;

/* Parses "none", "all", or names joined by "+". */
ms_status ms_liger_parse(const char *text, uint64_t *kernels, ms_error *err);
/* The text for these kernels, in the arena; NULL when out of memory. */
const char *ms_liger_text(ms_arena *arena, uint64_t kernels);

/* NULL: Liger has no kernels for the family. */
const ms_liger_family *ms_liger_family_of(const ms_model_config *model);
/* Whether head and loss are fused, so that there are no logits of all tokens. */
bool ms_liger_fuses_head(uint64_t kernels, const ms_liger_family *family);

#endif
