/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix products that each layer of a run executes, for policies that count them.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_LAYER_PRODUCTS_H
#define MS_DECIDE_PLAN_TRAINERS_LAYER_PRODUCTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "decide/plan/costs/step_task.h"

/* An execution of "mm" in a layer's forward: [rows, inner] times [inner, columns]. */
typedef struct ms_layer_product {
    const char *module; /* that executes it: "q_proj" */
    uint64_t inner, columns;
} ms_layer_product;

/* Of one layer, in the order of execution; in the arena. */
typedef struct ms_layer_products {
    ms_layer_product *items;
    uint32_t count;
} ms_layer_products;

/* Simulates the step with every layer kept, and reads the products of each layer: `layers` gets as
 * many entries as the model has layers, in the arena. */
ms_status ms_layer_products_read(ms_arena *arena, const ms_step_task *task,
                                 ms_layer_products **layers, ms_error *err);

#endif
