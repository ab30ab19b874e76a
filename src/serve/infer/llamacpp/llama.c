/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/llama.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "serve/infer/llama/buffers.h"
#include "serve/infer/llama/compute.h"
#include "serve/infer/llama/quant_mix.h"
#include "base/text/nearest.h"

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

static bool has_learned_positions(const ms_llama_model *m)
{
    return m->arch == MS_LLAMA_GPT2;
}

/* llama.cpp loads, and warns of a "possible training context overflow". */
static bool add_overflow_note(const ms_llama_run *r, ms_infer_result *result)
{
    const ms_llama_model *m = r->model;
    bool is_learned = has_learned_positions(m);
    if (m->positions == 0 || r->n_ctx_seq <= m->positions)
        return true;
    const char *note =
        ms_arena_printf(r->job->arena,
                        is_learned ? "context: the model has learned %" PRIu64
                                     " positions: llama.cpp loads it with a warning, but has no "
                                     "embeddings for tokens beyond them"
                                   : "context: the model was trained with %" PRIu64
                                     " tokens: llama.cpp loads it with a warning, and "
                                     "llama-server's slots take no more than that",
                        m->positions);
    return note && ms_vec_push(&result->notes, note);
}

static bool add_levers(const ms_llama_run *r, ms_infer_result *result)
{
    enum { CELL_STEP = 256, MOST_CONTEXT = 1 << 20 };
    const ms_infer_settings *s = r->job->settings;
    uint64_t layers = r->model->n_layer + 1 - r->first_device_layer;
    const ms_infer_lever of_layers = {"gpu-layers", layers, 0, r->model->n_layer + 1, 1, false, 0};
    bool is_limited = has_learned_positions(r->model) && r->model->positions >= CELL_STEP;
    uint64_t most = is_limited ? r->model->positions : MOST_CONTEXT;
    const ms_infer_lever of_context = {.field = "context",
                                       .value = s->context < most ? s->context : most,
                                       .least = CELL_STEP,
                                       .most = most,
                                       .step = CELL_STEP,
                                       .goes_on = !is_limited,
                                       .useful = r->model->positions};
    return (!r->is_cuda || ms_vec_push(&result->levers, of_layers)) &&
           (s->llama.ctx_size || ms_vec_push(&result->levers, of_context));
}

/* Whether what was added so far decides that it does not fit. */
static bool is_too_large(const ms_llama_run *r, const ms_infer_result *result)
{
    const ms_infer_job *job = r->job;
    int first = r->is_cuda ? 0 : MS_INFER_HOST, end = r->is_cuda ? (int)r->devices : 0;
    for (int device = first; device < end && job->only_fits && job->budget_bytes > 0; device++)
        if (ms_infer_total(result, device, MS_INFER_LOAD).expected > job->budget_bytes)
            return true;
    return false;
}

/* For titles, where it is not what `quant` says. */
static bool name_weights(const ms_llama_run *r, ms_infer_result *result)
{
    const ms_infer_job *job = r->job;
    const char *quant = job->settings->quant;
    if (!job->config || job->config->quantization.kind != MS_QUANTIZE_MXFP4)
        return true;
    if (!quant || ms_name_equal(quant, "mxfp4"))
        result->weights_type = "mxfp4";
    else
        result->weights_type = ms_arena_printf(job->arena, "%s with experts in mxfp4", quant);
    return result->weights_type != NULL;
}

static ms_status predict(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    result->devices = r->is_cuda ? r->devices : 0;
    result->context = r->job->settings->llama.ctx_size ? r->n_ctx_seq : 0;
    ms_status status = ms_llama_weights_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_caches_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_output_add(r, result, err);
    if (status == MS_OK && is_too_large(r, result))
        return MS_OK;
    if (status == MS_OK)
        status = ms_llama_compute_add(r, result, err);
    if (status == MS_OK && is_too_large(r, result))
        return MS_OK;
    if (status == MS_OK)
        status = ms_llama_pool_add(r, result, err);
    if (status == MS_OK && !(add_figures(r, result) && add_levers(r, result) &&
                             add_overflow_note(r, result) && name_weights(r, result)))
        status = ms_infer_no_memory(err);
    return status;
}

ms_infer_takes ms_llama_takes(const ms_model_config *config)
{
    const ms_family_facts *facts = ms_family_facts_of(config->family);
    if (!facts->llama_cpp)
        return MS_INFER_TAKES_NONE;
    /* Factors of longrope are not made from a config.json. */
    return facts->needs_gguf || config->long_rotary ? MS_INFER_TAKES_GGUF : MS_INFER_TAKES_CONFIG;
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
