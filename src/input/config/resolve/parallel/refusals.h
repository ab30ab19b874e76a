/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted among several ranks, as rows: when one applies, and what the message says.
 * The first that applies counts, so their order is that of the messages.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_PARALLEL_REFUSALS_H
#define MS_INPUT_CONFIG_RESOLVE_PARALLEL_REFUSALS_H

#include "input/config/resolve/resolving.h"

typedef struct ms_rank_refusal {
    bool (*applies)(const ms_resolving *c); /* NULL: the end of the rows */
    const char *why;                        /* "with ..." or "for ..." */
} ms_rank_refusal;

/* Why the first row that applies does; NULL: none does. */
const char *ms_rank_refusal_of(const ms_resolving *c, const ms_rank_refusal *rows);

/* ---- what several techniques ask ---- */

bool ms_has_other_head(const ms_resolving *c); /* none of a causal language model */
bool ms_any_layer_slides(const ms_resolving *c);
bool ms_has_long_rotary(const ms_resolving *c); /* tables that depend on the length */
bool ms_has_other_loss(const ms_resolving *c);  /* smoothed labels, or logits of some tokens */
bool ms_uses_liger(const ms_resolving *c);
bool ms_uses_autocast(const ms_resolving *c);
bool ms_attends_eagerly(const ms_resolving *c); /* eager or math */
bool ms_asks_reentrant(const ms_resolving *c);  /* by checkpoint-kind, also without checkpoints */
bool ms_optimizes_elsewhere(const ms_resolving *c); /* with an optimizer that is not everywhere */

/* Trained parameters that no loss has a gradient for; NULL: none. */
const char *ms_idle_part(const ms_resolving *c);
bool ms_has_idle_part(const ms_resolving *c);
/* llava: layers of the tower behind the states that are projected; an adapter's weights included.
 */
bool ms_has_idle_layers(const ms_resolving *c);

/* ---- compared ---- */

/* What was compared with PyTorch's and DeepSpeed's own among which ranks; one rank has it all. */

typedef struct ms_model_config ms_model_config;

/* Reentrant checkpoints, each of which has a backward pass of its own, and evaluations between
 * steps. */
bool ms_knows_passes(const ms_model_config *model, const ms_run_config *run, bool has_adapter);

#endif
