/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/variation.h"

#include <string.h>

#include "input/config/model/model_config.h"

ms_variation ms_vary(const ms_job *job, ms_arena *arena)
{
    ms_variation v = {
        .model = job->model, .run = *job->run, .evaluation = job->evaluation, .arena = arena};
    v.run.keys.compares = true;
    return v;
}

ms_variation ms_vary_run(const ms_model_config *model, const ms_run_config *run, ms_arena *arena)
{
    return ms_vary(&(ms_job){.model = model, .run = run}, arena);
}

ms_job ms_variation_job(const ms_variation *v)
{
    return (ms_job){.model = v->model, .run = &v->run, .evaluation = v->evaluation};
}

ms_treatment *ms_vary_treatments(ms_variation *v)
{
    uint64_t layers = v->model->num_layers;
    ms_treatment *treatments = ms_arena_array(v->arena, ms_treatment, layers);
    if (treatments)
        memcpy(treatments, v->run.treatments.layers, layers * sizeof *treatments);
    v->run.treatments.layers = treatments;
    return treatments;
}

bool ms_vary_all_layers(ms_variation *v, const ms_treatment *treatment, uint32_t loss_chunks)
{
    ms_treatment *layers = ms_arena_array(v->arena, ms_treatment, v->model->num_layers);
    for (uint64_t i = 0; layers && i < v->model->num_layers; i++)
        layers[i] = *treatment;
    v->run.treatments = (ms_treatments){layers, loss_chunks};
    return layers != NULL;
}

bool ms_vary_layers(ms_variation *v, uint64_t count)
{
    const ms_model_config *from = v->model;
    ms_model_config *model = ms_arena_array(v->arena, ms_model_config, 1);
    uint8_t *kinds = ms_arena_array(v->arena, uint8_t, count);
    ms_treatment *treatments = ms_arena_array(v->arena, ms_treatment, count);
    if (!model || !kinds || !treatments)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t as = i % from->num_layers;
        kinds[i] = ms_layer_kind(from, as);
        treatments[i] = v->run.treatments.layers[as];
    }
    *model = *from;
    model->num_layers = count;
    model->layer_kinds = kinds;
    v->model = model;
    v->run.treatments.layers = treatments;
    return true;
}

bool ms_vary_rank(ms_variation *v, uint64_t rank)
{
    ms_adapter *adapter = ms_arena_array(v->arena, ms_adapter, 1);
    if (!adapter)
        return false;
    *adapter = *v->run.adapter;
    adapter->rank = rank;
    v->run.adapter = adapter;
    return true;
}

void ms_vary_dtype(ms_variation *v, ms_dtype dtype)
{
    if (!v->run.quantization.has_compute_dtype)
        v->run.quantization.compute_dtype = dtype;
    v->run.dtype = dtype;
}
