/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Generation: a prompt in one pass, then one token after the other, each from the logits of the
 * last, with a cache of keys and values.
 */
#ifndef MS_STEP_INFERENCE_GENERATION_H
#define MS_STEP_INFERENCE_GENERATION_H

#include "step/step.h"

typedef struct ms_generation {
    uint64_t prompt;       /* tokens of each sequence, at least 1 */
    uint64_t tokens;       /* that are made, at least 1: the first by the prompt's pass */
    bool has_static_cache; /* with room for all of them; else it is dynamic */
} ms_generation;

/* A trace of build, step 1, which is the prompt's pass, and step 2, the other passes: phases
 * "forward", micro_step counting them from 0. MS_ERR_CONFIG: the family's attention takes no cache.
 * On failure nothing is left to free. */
ms_status ms_step_generate(const ms_model_config *model, const ms_run_config *run,
                           const ms_generation *generation, ms_simulation *simulation,
                           ms_error *err);

#endif
