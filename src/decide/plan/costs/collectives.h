/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a step waits for other ranks: exact for any mix of options.
 *
 * A part of a step (a layer's forward, its backward, what is around them) enqueues the same work
 * whatever its neighbours do, and waits for work by its place in the queue. So parts that were
 * measured apart are played one after the other. Queues are those of run/measure/playback.h.
 */
#ifndef MS_DECIDE_PLAN_COSTS_COLLECTIVES_H
#define MS_DECIDE_PLAN_COSTS_COLLECTIVES_H

#include "decide/plan/costs/cost_model.h"

/* Reads what is around the layers from the whole model's step. NULL in costs->collectives: it works
 * with no other rank. In the arena. */
ms_status ms_collectives_begin(ms_arena *arena, const ms_profile *whole, uint64_t layers,
                               ms_cost_model *costs, ms_error *err);
/* Reads the layers 0 .. layers - 1 of the profile's model, whose `ms` loses its waiting. Nothing
 * without costs->collectives. */
ms_status ms_collectives_read(ms_arena *arena, const ms_profile *profile, uint64_t layers,
                              ms_cost_model *costs, ms_layer_cost *read, ms_error *err);
/* Milliseconds of a step, beyond those outside the layers that are sure; once that is above `most`,
 * some number above it. `options`: by layer. */
double ms_collectives_wait_ms(const ms_cost_model *costs, const uint32_t *options, double most);
/* Whether no step is faster than the one that keeps everything: no option of a layer computes less
 * between any two turns, and no loss less than the one that is not chunked. */
bool ms_collectives_keep_is_fastest(const ms_cost_model *costs);

#endif
