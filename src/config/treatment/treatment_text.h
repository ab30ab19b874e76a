/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments as a specification that gives them again.
 */
#ifndef MS_CONFIG_TREATMENT_TREATMENT_TEXT_H
#define MS_CONFIG_TREATMENT_TREATMENT_TEXT_H

#include "config/treatment/treatment.h"

/* How the specification begins that treats the loss, and what goes before the chunks. */
#define MS_LOSS_WORD "loss"
#define MS_CHUNK_WORD "chunk:"

/* "offload:0.5+tile:4" into the arena; NULL when out of memory. */
const char *ms_treatment_text(const ms_treatment *treatment, ms_arena *arena);

/* "0-7=checkpoint,loss=chunk:8": a specification that gives these treatments again, "" when all is
 * kept. In the arena; NULL when out of memory. */
const char *ms_treatments_text(const ms_treatments *treatments, uint64_t num_layers,
                               ms_arena *arena);

#endif
