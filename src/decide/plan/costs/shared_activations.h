/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensors made before the layers and freed after the last one, unless a layer keeps them for
 * backward: a mask, position ids. Layers share them, so they are not in their figures, except for
 * the first layer.
 */
#ifndef MS_DECIDE_PLAN_COSTS_SHARED_ACTIVATIONS_H
#define MS_DECIDE_PLAN_COSTS_SHARED_ACTIVATIONS_H

#include "decide/plan/costs/cost_model.h"

/* Fills shared_bytes of all options, with one or two simulations. `reduced`: the model that the
 * options were measured with; `kept` and `ends`: its layers and outer costs with all layers kept.
 */
ms_status ms_shared_activations_measure(ms_arena *arena, const ms_model_config *reduced,
                                        const ms_run_config *run, const ms_layer_cost *kept,
                                        const ms_outer_cost *ends, ms_cost_model *costs,
                                        ms_error *err);

/* Copies shared_bytes to options added later, from options like them. */
void ms_shared_activations_share(const ms_run_config *run, ms_cost_model *costs);

#endif
