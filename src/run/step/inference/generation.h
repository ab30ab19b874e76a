/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Generation: a prompt in one pass, then one token after the other, each from the logits of the
 * last, with a cache of keys and values.
 */
#ifndef MS_RUN_STEP_INFERENCE_GENERATION_H
#define MS_RUN_STEP_INFERENCE_GENERATION_H

#include "model/blocks/cache.h"
#include "run/step/step.h"

typedef struct ms_generation {
    uint64_t prompt;          /* tokens of each sequence, at least 1: of a decoder's, if it has an
                                 encoder, whose source the run has */
    uint64_t tokens;          /* that are made, at least 1: the first by the prompt's pass */
    bool has_static_cache;    /* with room for all of them; else it is dynamic */
    ms_cache_packing packing; /* of a dynamic cache */
    bool is_call;             /* of generate(); else the model is called for each pass */
    uint64_t
        most_layers; /* runs of layers by passes over single tokens, before some are left out */
} ms_generation;

/* Who reads the events as they are made. */
typedef struct ms_generation_reader {
    /* The trace has the events since the last call, of the build or of a whole pass, with the marks
     * of a phase around them: step 0 is the build, 1 the prompt's pass, 2 the others, micro_step
     * counting them from 1. They are forgotten afterwards, and rows of storages used again. */
    ms_status (*read)(void *context, const ms_trace *trace, ms_error *err);
    void *context;
} ms_generation_reader;

/* Not all passes of a long generation are run. With a static cache they are alike but where a
 * window is full; with a packed one all are run; with a dynamic one every so manyeth is run, and
 * the last. */
bool ms_generation_is_sampled(const ms_model_config *model, const ms_generation *generation);

/* Fills the figures of the simulation; its trace is as the reader saw it last. MS_ERR_CONFIG: the
 * family's attention takes no such cache. On failure nothing is left to free. */
ms_status ms_step_generate(const ms_model_config *model, const ms_run_config *run,
                           const ms_generation *generation, const ms_generation_reader *reader,
                           ms_simulation *simulation, ms_error *err);

#endif
