/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured by treating only the last layer: live bytes when backward begins are compared with the
 * sum of the layers' figures.
 */
#include "decide/plan/costs/shared_activations.h"

#include "decide/plan/costs/measurement.h"
#include "decide/plan/costs/layer_profile.h"
#include "input/config/model/model_config.h"

enum { MOST_HOLDERS = 3 };

/* Options hold the same if they are of a kind, so one stands for them: MS_NONE where nothing is
 * held. */
static uint32_t holder_of(const ms_cost_model *costs, const ms_treatment *t)
{
    bool on_cpu =
        t->input == MS_INPUT_SAVED_ON_CPU; /* takes a mask along, where it is positional */
    if ((t->kind == MS_TREAT_CHECKPOINT || t->kind == MS_TREAT_SELECTIVE) && !on_cpu)
        return MS_OPTION_CHECKPOINT;
    for (uint32_t o = 0;
         (on_cpu || t->parts[MS_PART_TILE_ATTENTION] > 0) && o < costs->option_count; o++) {
        const ms_treatment *other = &costs->options[o].treatment;
        if (on_cpu && other->input == MS_INPUT_SAVED_ON_CPU)
            return o;
        if (!on_cpu && other->kind == MS_TREAT_KEEP && other->parts[MS_PART_TILE_ATTENTION] > 0)
            return o;
    }
    return MS_NONE;
}

void ms_shared_activations_share(const ms_run_config *run, ms_cost_model *costs)
{
    bool is_reentrant = run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    for (uint32_t o = 0; o < costs->option_count; o++) {
        ms_cost_option *option = &costs->options[o];
        uint32_t holder = holder_of(costs, &option->treatment);
        option->shared_bytes = holder == MS_NONE ? 0 : costs->options[holder].shared_bytes;
        option->holds_to_end = is_reentrant && holder == MS_OPTION_CHECKPOINT;
    }
}

static ms_status read_held(ms_arena *arena, const ms_measurement *m, int64_t kept_level,
                           uint32_t last, ms_cost_option *option, ms_error *err)
{
    uint64_t layers = m->variation.model->num_layers;
    ms_pass_figures p;
    ms_status status = ms_pass_read(arena, &m->profile, 0, layers, &p, err);
    if (status == MS_OK)
        option->shared_bytes = (int64_t)p.backward[layers - 1].begin - kept_level -
                               option->fixed_bytes - ms_layer_saved(&option->layers[last], 0);
    return status;
}

/* What is live when backward begins, but for what the last layer saved. */
static int64_t level_without_last(const ms_layer_cost *kept, const ms_outer_cost *ends,
                                  uint64_t layers)
{
    int64_t level = ends->before_backward[0];
    for (uint64_t i = 0; i + 1 < layers; i++)
        level += ms_layer_saved(&kept[i], 0);
    return level;
}

ms_status ms_shared_activations_measure(ms_arena *arena, const ms_model_config *reduced,
                                        const ms_run_config *run, const ms_layer_cost *kept,
                                        const ms_outer_cost *ends, ms_cost_model *costs,
                                        ms_error *err)
{
    static const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    ms_measurement m[MOST_HOLDERS] = {0};
    uint32_t holders[MOST_HOLDERS], count = 0;
    ms_status status = MS_OK;
    for (uint32_t o = 0; o < costs->option_count && count < MOST_HOLDERS && status == MS_OK; o++) {
        if (holder_of(costs, &costs->options[o].treatment) != o)
            continue;
        status = ms_measurement_set(arena, reduced, run, &keep, 0, &m[count], err);
        if (status == MS_OK)
            m[count].variation.run.treatments.layers[reduced->num_layers - 1] =
                costs->options[o].treatment;
        holders[count++] = o;
    }
    if (status == MS_OK)
        status = ms_measurements_run(m, count, err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        status = read_held(arena, &m[i], level_without_last(kept, ends, reduced->num_layers),
                           costs->layer_count - 1, &costs->options[holders[i]], err);
    costs->simulations += count;
    ms_measurements_free(m, count);
    if (status == MS_OK)
        ms_shared_activations_share(run, costs);
    return status;
}
