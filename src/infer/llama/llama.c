/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/llama.h"

#include "infer/llama/buffers.h"
#include "infer/llama/compute.h"
#include "infer/llama/quant_mix.h"

static bool add_figures(const ms_llama_run *r, ms_infer_result *result)
{
    const ms_infer_figure figures[] = {
        {"n_ctx", r->n_ctx},
        {"n_ctx_seq", r->n_ctx_seq},
        {"n_batch", r->n_batch},
        {"n_ubatch", r->n_ubatch},
        {"n_seq_max", r->n_seq},
        {"n_layer", r->model->n_layer},
        {"layers_on_device", r->model->n_layer + 1 - r->first_device_layer}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!ms_infer_figure_add(result, figures[i].name, figures[i].value))
            return false;
    return true;
}

static bool add_levers(const ms_llama_run *r, ms_infer_result *result)
{
    enum { CELL_STEP = 256, MOST_CONTEXT = 1 << 20 };
    const ms_infer_settings *s = r->job->settings;
    uint64_t layers = r->model->n_layer + 1 - r->first_device_layer;
    const ms_infer_lever of_layers = {"gpu-layers", layers, 0, r->model->n_layer + 1, 1, false};
    const ms_infer_lever of_context = {"context",    s->context, CELL_STEP,
                                       MOST_CONTEXT, CELL_STEP,  true};
    return (!r->is_cuda || ms_vec_push(&result->levers, of_layers)) &&
           (s->llama.ctx_size || ms_vec_push(&result->levers, of_context));
}

static ms_status predict(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    result->devices = r->is_cuda ? r->devices : 0;
    ms_status status = ms_llama_weights_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_caches_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_output_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_compute_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_pool_add(r, result, err);
    if (status == MS_OK && !(add_figures(r, result) && add_levers(r, result)))
        status = ms_infer_no_memory(err);
    return status;
}

ms_status ms_llama_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err)
{
    ms_llama_model model;
    ms_llama_run run;
    ms_status status = ms_llama_model_load(job, &model, err);
    if (status != MS_OK)
        return status;
    status = ms_llama_run_resolve(job, &model, &run, err);
    if (status == MS_OK)
        status = ms_llama_flash_resolve(&run, err);
    if (status == MS_OK)
        status = predict(&run, result, err);
    ms_llama_model_free(&model);
    return status;
}

const char *ms_llama_quant_at(size_t index)
{
    return index < MS_LLAMA_MIXES ? ms_llama_mix_names[index] : NULL;
}
