/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What came before the layers and goes behind the last one, unless some layer holds it for its
 * backward: a mask, position ids. Layers share it, so it is no part of their figures but for the
 * first one's.
 */
#ifndef MS_PLAN_COSTS_SHARED_ACTIVATIONS_H
#define MS_PLAN_COSTS_SHARED_ACTIVATIONS_H

#include "plan/costs/cost_model.h"

/* Fills shared_bytes of all options, by a simulation or two. `reduced`: the model that the options
 * were measured with; `kept` and `ends`: its layers and ends when every layer is kept. */
ms_status ms_shared_activations_measure(ms_arena *arena, const ms_model_config *reduced,
                                        const ms_run_config *run, const ms_layer_cost *kept,
                                        const ms_outer_cost *ends, ms_cost_model *costs,
                                        ms_error *err);

/* Options that were added behind it get what those like them have. */
void ms_shared_activations_share(const ms_run_config *run, ms_cost_model *costs);

#endif
