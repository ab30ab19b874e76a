/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inference: passes without gradients, with a cache of keys and values where the model's attention
 * takes one. The phases of training in the run (optimizer, treatments, loss) play no part.
 */
#ifndef MS_RUN_STEP_INFERENCE_INFERENCE_H
#define MS_RUN_STEP_INFERENCE_INFERENCE_H

#include "run/step/step.h"

typedef enum ms_inference_phase {
    MS_INFERENCE_PREFILL, /* all tokens of the sequence at once, into an empty cache */
    MS_INFERENCE_DECODE,  /* one token; the cache has those before it */
    MS_INFERENCE_PHASES
} ms_inference_phase;
extern const char *const ms_inference_phase_names[]; /* "prefill", "decode"; ends with NULL */

typedef struct ms_inference {
    ms_inference_phase phase;
    uint32_t passes; /* in a row, which are measured; at least 1. Decoding, the last one is of the
                        sequence's last token */
} ms_inference;

/* A trace of build, step 1, which brings the allocator and the cache there, and step 2: the passes
 * as phases "forward", micro_step counting them, with operators. Decoding in step 1 runs the prompt
 * and then empties the allocator's cache, so that what is reserved is what decoding needs.
 * MS_ERR_CONFIG: decoding without a cache. On failure nothing is left to free. */
ms_status ms_step_infer(const ms_model_config *model, const ms_run_config *run,
                        const ms_inference *inference, ms_simulation *simulation, ms_error *err);

#endif
