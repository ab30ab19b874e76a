/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What passes without gradients have in common: a model that is built on a tape of its own, and a
 * pass of it over tokens, with a cache or without. The phases of training in the run (optimizer,
 * treatments, loss) play no part.
 */
#ifndef MS_RUN_STEP_INFERENCE_GENERATOR_H
#define MS_RUN_STEP_INFERENCE_GENERATOR_H

#include "model/blocks/cache.h"
#include "run/step/step.h"

typedef struct ms_generator {
    ms_arena *arena;
    ms_tape tape;
    ms_model model;
    ms_run_config run; /* what is of training alone is left out */
    ms_cache *cache;   /* NULL: passes have none */
    ms_tensor encoded; /* held: an encoder's result for the decoder's passes; 0: none */
    uint16_t step;     /* that is marked */
    ms_simulation *simulation;
    ms_error *err;
} ms_generator;

/* Builds the model: step 0 of the trace. End it with ms_generator_end, also after a failure. */
ms_status ms_generator_begin(ms_generator *g, const ms_model_config *model,
                             const ms_run_config *run, ms_simulation *simulation, ms_error *err);
/* Frees all but the simulation, that too unless `status` is MS_OK; returns the status, with a
 * sentence in the error. */
ms_status ms_generator_end(ms_generator *g, ms_status status);

/* Marks a phase of the generator's step. */
void ms_generator_mark(ms_generator *g, bool begin, ms_phase phase, uint32_t pass);

/* Runs the encoder on its input, which the caller keeps: g->encoded. */
void ms_generator_encode(ms_generator *g, ms_tensor input);

/* One pass over `ids`, [B, tokens]; with a cache the last token's logits alone are made. Yields the
 * logits, held by the caller; 0 when the tape failed, or for a model without a head. */
ms_tensor ms_generator_pass(ms_generator *g, ms_tensor ids);

#endif
