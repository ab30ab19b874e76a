/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulated steps that fill the cost model, side by side.
 */
#ifndef MS_PLAN_COSTS_MEASUREMENT_H
#define MS_PLAN_COSTS_MEASUREMENT_H

#include "measure/profile.h"
#include "plan/costs/option_list.h"
#include "simulate/variation.h"

/* One simulation, alone in its thread. */
typedef struct ms_measurement {
    ms_variation variation;
    ms_profile profile;
    ms_op_list *ops; /* what recomputation does, when asked for */
    ms_status status;
    ms_error err;
} ms_measurement;

/* The run with every layer under one treatment; its list of layers is in the arena. */
ms_status ms_measurement_set(ms_arena *arena, const ms_model_config *model,
                             const ms_run_config *run, const ms_treatment *treatment,
                             uint32_t loss_chunks, ms_measurement *m, ms_error *err);
/* Fills the profiles; the first failure is in *err. */
ms_status ms_measurements_run(ms_measurement *list, uint32_t count, ms_error *err);
void ms_measurements_free(ms_measurement *list, uint32_t count);

#endif
