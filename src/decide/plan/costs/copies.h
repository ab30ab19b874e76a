/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a step waits for the copies of its layers: exact for any mix of options.
 *
 * What a layer sends begins as the layer computes it, one after the other on the link to the host;
 * when the layer above has run forward, the step waits for it. What it sent comes back while the
 * layer above runs backward, one after the other on the link from the host; the layer waits for
 * each copy where it first needs it. So copies share the windows of unlike neighbours, and between
 * the passes no copy is left. The clock is that of run/measure/playback.h.
 */
#ifndef MS_DECIDE_PLAN_COSTS_COPIES_H
#define MS_DECIDE_PLAN_COSTS_COPIES_H

#include "decide/plan/costs/cost_model.h"

/* Milliseconds of waiting in one of the micro-steps that differ, both passes; once that is above
 * `most`, some number above it. `options`: by layer. */
double ms_copies_wait_ms(const ms_cost_model *costs, const uint32_t *options, uint32_t m,
                         double most);
/* each[layer]: milliseconds of a step that are waited for the layer's own copies. */
void ms_copies_waits(const ms_cost_model *costs, const uint32_t *options, double *each);

/* Fills copies[m] of costs[0 .. layers - 1], layers of the profile's model. False in *exact: a
 * layer has more copies than MS_COST_MOST_COPIES, or copies that do not follow the rules above. */
ms_status ms_copies_read(ms_arena *arena, const ms_profile *profile, uint32_t m, uint64_t layers,
                         ms_layer_cost *costs, bool *exact, ms_error *err);

#endif
