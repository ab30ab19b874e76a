/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which back end of scaled_dot_product_attention a run uses, and why it cannot use another.
 */
#ifndef MS_CONFIG_RUN_ATTENTION_H
#define MS_CONFIG_RUN_ATTENTION_H

#include "config/model/model_config.h"
#include "config/run/run_config.h"

/* By ms_attention, as options spell them; ends with NULL. */
extern const char *const ms_attention_names[];

/* The back end that the run names, or, if that is auto, the one PyTorch selects for a causal call
 * without a mask. */
ms_attention ms_attention_choose(const ms_model_config *model, const ms_run_config *run);

/* The same for a call with a mask, which flash attention does not support. */
ms_attention ms_attention_choose_masked(const ms_model_config *model, const ms_run_config *run);

/* The same where the mask has a gradient: of the fused kernels the memory-efficient one has it. */
ms_attention ms_attention_choose_learned(const ms_model_config *model, const ms_run_config *run);

/* Why the back end cannot run this model: the rest of a sentence that begins with its name. NULL
 * when it can. */
const char *ms_attention_refusal(ms_attention backend, const ms_model_config *model,
                                 const ms_run_config *run);

#endif
