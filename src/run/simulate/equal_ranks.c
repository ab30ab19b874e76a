/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/equal_ranks.h"

#include "input/config/run/pipeline.h"
#include "input/config/treatment/treatment_equal.h"

static bool are_equal_layers(const ms_model_config *model, const ms_run_config *run, uint64_t a,
                             uint64_t b)
{
    const ms_treatment *layers = run->treatments.layers;
    return (!model->layer_kinds || model->layer_kinds[a] == model->layer_kinds[b]) &&
           ms_treatment_equal(&layers[a], &layers[b]);
}

static bool are_equal_stages(const ms_model_config *model, const ms_run_config *run,
                             const ms_pipeline_stage *a, const ms_pipeline_stage *b)
{
    if (a->is_first != b->is_first || a->is_last != b->is_last ||
        a->end - a->first != b->end - b->first)
        return false;
    for (uint64_t i = 0; i < a->end - a->first; i++)
        if (!are_equal_layers(model, run, a->first + i, b->first + i))
            return false;
    return true;
}

bool ms_ranks_are_equal(const ms_model_config *model, const ms_run_config *run, uint64_t a,
                        uint64_t b)
{
    const ms_layout *layout = &run->parallel.layout;
    const ms_pipeline_layout *pipeline = &layout->pipeline;
    if (!ms_layout_has_stages(layout) || !ms_pipeline_traits_of(pipeline->kind)->is_same)
        return false;
    uint64_t of_stage = layout->shards * layout->tensor, first = a / of_stage,
             second = b / of_stage;
    if (a % of_stage != b % of_stage)
        return false;
    for (uint64_t i = 0; i < pipeline->stages; i++) {
        const ms_pipeline_stage x = ms_pipeline_stage_of(pipeline, first, i, model->num_layers),
                                y = ms_pipeline_stage_of(pipeline, second, i, model->num_layers);
        if (!are_equal_stages(model, run, &x, &y))
            return false;
    }
    return true;
}
