/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which back end of scaled_dot_product_attention a run uses, and why it cannot use another.
 */
#ifndef MS_INPUT_CONFIG_RUN_ATTENTION_H
#define MS_INPUT_CONFIG_RUN_ATTENTION_H

#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* By ms_attention, as options spell them; ends with NULL. */
extern const char *const ms_attention_names[];

/* The back end that the run names, or, if that is auto, the one PyTorch selects for a causal call
 * without a mask. */
ms_attention ms_attention_choose(const ms_model_config *model, const ms_run_config *run);

/* The back ends of a kind of layers: of calls without a mask, and of calls with one, which flash
 * attention does not support, or with keys and values that the framework has repeated. */
typedef struct ms_backends {
    ms_attention plain, masked;
} ms_backends;

/* Those of the layers, and at [1] of those whose heads have another width (ms_layer_is_wide); where
 * no layer has, the same. */
void ms_attention_backends(const ms_model_config *model, const ms_run_config *run,
                           ms_backends backends[2]);

/* The same where the mask has a gradient: of the fused kernels the memory-efficient one has it. */
ms_attention ms_attention_choose_learned(const ms_model_config *model, const ms_run_config *run);

/* Why the back end cannot run this model: the rest of a sentence that begins with its name. NULL
 * when it can. */
const char *ms_attention_refusal(ms_attention backend, const ms_model_config *model,
                                 const ms_run_config *run);

#endif
