/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts treatments to specifications.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_TREATMENT_TEXT_H
#define MS_INPUT_CONFIG_TREATMENT_TREATMENT_TEXT_H

#include "input/config/treatment/treatment.h"

/* The words of the loss's treatment in a specification: "loss=chunk:8". */
#define MS_LOSS_WORD "loss"
#define MS_CHUNK_WORD "chunk:"

/* "offload:0.5+tile:4" into the arena; NULL when out of memory. */
const char *ms_treatment_text(const ms_treatment *treatment, ms_arena *arena);

/* "0-7=checkpoint,loss=chunk:8": the specification of these treatments; "" if everything is kept.
 * In the arena; NULL when out of memory. */
const char *ms_treatments_text(const ms_treatments *treatments, uint64_t num_layers,
                               ms_arena *arena);

#endif
