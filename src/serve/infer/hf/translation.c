/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/translation.h"

#include "input/config/model/model_config.h"
#include "serve/infer/hf/tokens.h"

bool ms_hf_translates(const ms_model_config *config)
{
    return config->is_encoder_decoder;
}

static uint64_t prompt_of(const ms_infer_job *job)
{
    enum { SOUND = 4 }; /* what begins a text, its language, the task, and no times */
    const ms_infer_settings *s = job->settings;
    if (ms_infer_settings_has(s, "prompt"))
        return s->prompt;
    uint64_t most = (s->context + 1) / 2;
    uint64_t usual = job->config->source_positions ? SOUND : s->prompt;
    return usual < most ? usual : most;
}

uint64_t ms_hf_source(const ms_infer_job *job)
{
    return job->config->source_positions ? job->config->source_positions : prompt_of(job);
}

static ms_status refuse(const ms_infer_job *job, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    const struct {
        bool applies;
        const char *field;
    } rows[] = {
        {s->hf.loop == MS_HF_LOOP_GENERATE, "loop generate"},
        {s->hf.cache == MS_HF_CACHE_STATIC, "cache static"},
        {s->hf.cache != MS_HF_CACHE_DYNAMIC, "a quantised cache"},
        {ms_infer_settings_has(s, "gpu-layers") && s->gpu_layers <= job->config->num_layers,
         "gpu-layers"},
        {s->hf.quantize != NULL, "quantize"},
        {s->fit == MS_INFER_FIT_GPU_LAYERS, "fit gpu-layers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies)
            return ms_fail(err, MS_ERR_USAGE,
                           "%s: of %s plain weights on the device and calls of the model with a "
                           "dynamic cache are predicted",
                           rows[i].field, job->config->model_type);
    return MS_OK;
}

ms_status ms_hf_translation_tokens(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    uint64_t prompt = prompt_of(job);
    g->prompt = job->config->source_positions ? prompt : 1;
    ms_status status = ms_hf_count_tokens(job->settings, prompt, &g->tokens, err);
    return status == MS_OK ? refuse(job, err) : status;
}
