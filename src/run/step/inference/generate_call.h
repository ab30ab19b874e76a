/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What generate() of transformers 5.23 (generation/utils.py: generate, _sample) makes around the
 * passes of a greedy generation, from a prompt and its mask of ones on the device, with tokens for
 * beginning and end. A mask without padding is dropped once positions are made of it.
 */
#ifndef MS_RUN_STEP_INFERENCE_GENERATE_CALL_H
#define MS_RUN_STEP_INFERENCE_GENERATE_CALL_H

#include "run/step/inference/generator.h"

/* Tensors that the call holds; 0: none. */
typedef struct ms_generate_call {
    ms_tensor ids, positions;   /* [B, tokens]: all up to now */
    ms_tensor mask;             /* the caller's, which the call drops */
    ms_tensor input, position;  /* of the pass */
    ms_tensor scores;           /* [B, V] in fp32, of the last pass */
    ms_tensor next, unfinished; /* [B] */
    ms_tensor special[2];       /* tokens that begin and end */
} ms_generate_call;

/* Before the prompt's pass over `prompt`, which the caller keeps; sets the model's positions.
 * Yields the ids of the pass, which the call keeps. */
ms_tensor ms_generate_call_begin(ms_generator *g, ms_generate_call *call, ms_tensor prompt);
/* After a pass with `tokens` until now: takes the logits, and makes the ids of the next pass. */
ms_tensor ms_generate_call_go_on(ms_generator *g, ms_generate_call *call, ms_tensor logits,
                                 uint64_t tokens);

#endif
