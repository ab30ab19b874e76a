/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From a profile to figures of layers: what each does in the forward and the backward pass of a
 * micro-step, and what happens around them.
 */
#ifndef MS_PLAN_COSTS_LAYER_PROFILE_H
#define MS_PLAN_COSTS_LAYER_PROFILE_H

#include "plan/costs/cost_model.h"

/* What a layer does in one phase of a micro-step. */
typedef struct ms_span {
    bool is_seen;
    uint64_t begin, peak, end, late, input, sent, released, returned;
    double compute_ms, recompute_ms, exposed_ms;
} ms_span;

/* The layers and ends of one micro-step. */
typedef struct ms_pass_figures {
    ms_span *forward, *backward; /* per layer */
    ms_span loss, loss_backward; /* behind the last layer's forward, before its backward */
    ms_span after;               /* behind the backward pass */
} ms_pass_figures;

/* Of the micro-steps that differ, 0 is the first and this, the last simulated one, the other. */
uint32_t ms_last_micro_step(const ms_profile *profile);

/* How often the first micro-step runs in a step, and how often the others do. */
void ms_count_repeats(const ms_profile *profile, uint32_t repeats[MS_COST_MICRO_STEPS]);

/* `which`: one of the cost model's micro-steps that differ. Spans live in the arena. */
ms_status ms_pass_read(ms_arena *arena, const ms_profile *profile, uint32_t which, uint64_t layers,
                       ms_pass_figures *p, ms_error *err);

/* What layer `i` sent comes back while the layer above runs backward. */
uint64_t ms_pass_sent_by(const ms_pass_figures *p, uint64_t i, uint64_t layers);
void ms_pass_layer(const ms_pass_figures *p, uint64_t i, ms_layer_bytes *bytes);

/* Adds to costs[0 .. layers - 1]. */
void ms_layers_add_time(const ms_profile *profile, uint64_t layers, ms_layer_cost *costs);

/* What no treatment of a layer changes: the way to the first layer, and what follows backward. */
void ms_ends_read_outside(const ms_profile *profile, ms_outer_cost *ends);

/* What is live when the first layer begins. */
uint64_t ms_first_layer_begin(const ms_profile *profile);

int64_t ms_byte_difference(uint64_t a, uint64_t b);

#endif
