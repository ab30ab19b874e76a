/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulated steps for the cost model, in parallel threads.
 */
#ifndef MS_DECIDE_PLAN_COSTS_MEASUREMENT_H
#define MS_DECIDE_PLAN_COSTS_MEASUREMENT_H

#include "run/measure/profile.h"
#include "decide/plan/costs/option_list.h"
#include "run/simulate/variation.h"

/* One simulation, in its own thread. */
typedef struct ms_measurement {
    ms_variation variation;
    ms_profile profile;
    ms_op_list *ops; /* operators of the recomputation, if requested */
    ms_status status;
    ms_error err;
} ms_measurement;

/* Sets up the run with all layers under one treatment; the layers are in the arena. */
ms_status ms_measurement_set(ms_arena *arena, const ms_model_config *model,
                             const ms_run_config *run, const ms_treatment *treatment,
                             uint32_t loss_chunks, ms_measurement *m, ms_error *err);
/* Simulates all and fills the profiles; the first failure is in *err. */
ms_status ms_measurements_run(ms_measurement *list, uint32_t count, ms_error *err);
void ms_measurements_free(ms_measurement *list, uint32_t count);

#endif
