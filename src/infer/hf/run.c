/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/hf/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/load/load_run.h"

static ms_status refuse(const ms_infer_job *job, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    if (!job->config)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine hf: a GGUF file is not predicted; give a built-in model or a "
                       "config.json");
    if (job->device->is_cpu)
        return ms_fail(err, MS_ERR_CONFIG, "engine hf: device cpu is not predicted");
    if (s->gpus > 1)
        return ms_fail(err, MS_ERR_USAGE, "engine hf: several devices are not predicted: gpus 1");
    if (s->quant)
        return ms_fail(err, MS_ERR_USAGE,
                       "quant is of GGUF files, which engine hf does not run: see dtype");
    if (s->dtype && strncmp(s->dtype, "fp8", 3) == 0)
        return ms_fail(err, MS_ERR_USAGE, "dtype: engine hf does not predict weights in fp8");
    if (job->config->is_fp8 && !s->dtype)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the model's weights are in fp8, which engine hf does not predict; choose "
                       "another type with dtype");
    if (ms_is_packed(&job->config->quantization))
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine hf: quantised weights are not predicted, and this config has a "
                       "quantization_config");
    if (s->hf.attention && strcmp(s->hf.attention, "flash_attention_2") == 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "attention flash_attention_2: what the package flash-attn allocates is not "
                       "predicted; sdpa uses flash attention too");
    return MS_OK;
}

/* ---- tokens ---- */

/* Runs of layers, of which a second has about 70,000; enough for 4,096 tokens of 32 layers. */
enum { LAYERS_RUN = 1 << 17, LAYERS_TRIED = 1 << 12 };

/* Prompt and answer fill the context; each may be given. */
static ms_status resolve_tokens(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    bool has_context = ms_infer_settings_has(s, "context");
    uint64_t context = s->context;
    g->has_static_cache = s->hf.cache == MS_HF_CACHE_STATIC;
    g->most_layers = job->is_trial ? LAYERS_TRIED : LAYERS_RUN;
    g->prompt = s->prompt;
    if (!ms_infer_settings_has(s, "prompt") && g->prompt > (context + 1) / 2)
        g->prompt = (context + 1) / 2;
    g->tokens = s->hf.generate;
    if (g->tokens > 0 && has_context && g->prompt + g->tokens != context)
        return ms_fail(err, MS_ERR_USAGE,
                       "generate: %" PRIu64 " tokens after a prompt of %" PRIu64
                       " are not a context of %" PRIu64 ": leave out one of them",
                       g->tokens, g->prompt, context);
    if (g->tokens > 0)
        return MS_OK;
    if (g->prompt >= context)
        return ms_fail(err, MS_ERR_USAGE,
                       "context: %" PRIu64 " tokens leave none to generate after a prompt of "
                       "%" PRIu64,
                       context, g->prompt);
    g->tokens = context - g->prompt;
    return MS_OK;
}

/* ---- the run ---- */

typedef struct draft {
    ms_run_setting settings[12];
    size_t count;
} draft;

static void add(draft *d, const char *field, const char *value)
{
    if (value)
        d->settings[d->count++] = (ms_run_setting){field, value};
}

static const char *number(ms_arena *arena, uint64_t value)
{
    return ms_arena_printf(arena, "%" PRIu64, value);
}

static const char *attention_of(const ms_hf_settings *s)
{
    return s->attention && strcmp(s->attention, "sdpa") == 0 ? "auto" : s->attention;
}

/* from_pretrained() takes the config's type, as it does by itself since transformers 5. */
static const char *dtype_of(const ms_infer_job *job)
{
    const ms_model_config *c = job->config;
    return job->settings->dtype ? job->settings->dtype
           : c->has_dtype       ? ms_dtype_info_of(c->dtype)->short_name
                                : NULL;
}

ms_status ms_hf_run_resolve(const ms_infer_job *job, ms_hf_run *run, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    const ms_hf_settings *hf = &s->hf;
    ms_status status = refuse(job, err);
    if (status == MS_OK)
        status = resolve_tokens(job, &run->generation, err);
    if (status != MS_OK)
        return status;
    draft d = {.count = 0};
    const char *batch = number(job->arena, s->concurrency);
    const ms_generation *g = &run->generation;
    uint64_t seen = g->prompt + g->tokens - 1; /* the last token is not run */
    const char *seq = number(job->arena, seen > 1 ? seen : 2);
    if (!batch || !seq)
        return ms_infer_no_memory(err);
    add(&d, "device", s->device);
    add(&d, "batch", batch);
    add(&d, "seq", seq);
    add(&d, "dtype", dtype_of(job));
    add(&d, "attention", attention_of(hf));
    add(&d, "experts", hf->experts);
    add(&d, "torch", hf->torch);
    add(&d, "allocator", hf->allocator);
    status = ms_config_load_run(job->arena, job->config, d.settings, d.count, &run->run, err);
    run->run.seq_tokens = g->prompt;
    return status;
}
