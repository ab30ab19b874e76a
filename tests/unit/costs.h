/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cost models of models that are cut to a few layers.
 */
#ifndef UNIT_COSTS_H
#define UNIT_COSTS_H

#include "decide/plan/costs/measure.h"
#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

/* Of a run from at most `room` settings, which end where a field is NULL. */
static inline void measure_costs(ms_arena *arena, const ms_run_setting *settings, size_t room,
                                 uint32_t layers, uint32_t techniques, ms_cost_model *costs)
{
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run(arena, settings, room, &model, &run);
    model.num_layers = layers;
    if (ms_cost_model_measure(arena, &model, &run, techniques, costs, &err) != MS_OK)
        fail_msg("%s", err.text);
}

#endif
