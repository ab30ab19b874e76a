/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model with few layers that represents one with many.
 */
#ifndef MS_DECIDE_PLAN_COSTS_REDUCED_H
#define MS_DECIDE_PLAN_COSTS_REDUCED_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/run/run_config.h"

typedef struct ms_reduced_model {
    ms_model_config model;
    const uint32_t *stands_in; /* per layer of the whole model: the layer that represents it */
} ms_reduced_model;

/* Keeps, of each kind of layer, the first two and the last two, which may be special, and one that
 * represents those in between, in the model's order. Keeps all layers if the run's adapter differs
 * by layer, or if buckets of gradients span layers. Allocated in the arena. */
ms_status ms_model_reduce(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                          ms_reduced_model *reduced, ms_error *err);

#endif
