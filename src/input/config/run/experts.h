/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a run computes its experts, and why it cannot use another way.
 */
#ifndef MS_INPUT_CONFIG_RUN_EXPERTS_H
#define MS_INPUT_CONFIG_RUN_EXPERTS_H

#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* By ms_experts, as options spell them; ends with NULL. */
extern const char *const ms_experts_names[];
extern const char *const ms_routing_names[];

/* Why experts cannot run this way in this model: the rest of a sentence that begins with the name.
 * NULL when they can. */
const char *ms_experts_refusal(ms_experts experts, const ms_model_config *model,
                               const ms_run_config *run);

/* The number of tokens of expert `expert`, when `tokens` tokens are routed to `each` of `count`
 * experts. */
uint64_t ms_expert_rows(ms_routing_kind routing, uint64_t tokens, uint64_t each, uint64_t count,
                        uint64_t expert);

#endif
