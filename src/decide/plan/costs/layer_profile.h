/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Extracts figures of layers from a profile: forward and backward of each layer in a micro-step,
 * and the spans around them.
 */
#ifndef MS_DECIDE_PLAN_COSTS_LAYER_PROFILE_H
#define MS_DECIDE_PLAN_COSTS_LAYER_PROFILE_H

#include "decide/plan/costs/cost_model.h"

/* A layer in one phase of a micro-step. */
typedef struct ms_span {
    bool is_seen;
    uint64_t begin, peak, end, late, input, sent, released, returned;
    double compute_ms, recompute_ms, exposed_ms;
} ms_span;

/* The layers of one micro-step, and the spans outside them. */
typedef struct ms_pass_figures {
    ms_span *forward, *backward; /* per layer */
    ms_span loss, loss_backward; /* after the last layer's forward, before its backward */
    ms_span after;               /* after the backward pass */
} ms_pass_figures;

/* The last simulated micro-step; of the micro-steps that differ, 0 is the first and this is the
 * second. */
uint32_t ms_last_micro_step(const ms_profile *profile);

/* How often the first micro-step runs in a step, and how often the others do. */
void ms_count_repeats(const ms_profile *profile, uint32_t repeats[MS_COST_MICRO_STEPS]);

/* `which`: index among the micro-steps that differ. Spans are in the arena. */
ms_status ms_pass_read(ms_arena *arena, const ms_profile *profile, uint32_t which, uint64_t layers,
                       ms_pass_figures *p, ms_error *err);

/* Bytes that layer `i` offloaded, which are fetched during the backward of the layer above. */
uint64_t ms_pass_sent_by(const ms_pass_figures *p, uint64_t i, uint64_t layers);
void ms_pass_layer(const ms_pass_figures *p, uint64_t i, ms_layer_bytes *bytes);

/* Adds to costs[0 .. layers - 1]. */
void ms_layers_add_time(const ms_profile *profile, uint64_t layers, ms_layer_cost *costs);

/* Reads costs that no treatment of layers changes: before the first layer, and after backward; with
 * or without waiting. */
void ms_ends_read_outside(const ms_profile *profile, bool with_waits, ms_outer_cost *ends);

/* Live bytes when the first layer begins. */
uint64_t ms_first_layer_begin(const ms_profile *profile);

int64_t ms_byte_difference(uint64_t a, uint64_t b);

#endif
