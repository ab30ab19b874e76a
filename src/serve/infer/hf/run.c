/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/load/load.h"
#include "input/config/model/model_config.h"
#include "serve/infer/hf/formats.h"

/* ---- tokens ---- */

/* How a context is divided into a prompt and an answer. */

/* How many tokens are generated after a prompt: `generate`, or what the context leaves.
 * MS_ERR_USAGE where the two disagree, or nothing is left. */
static ms_status hf_count_tokens(const ms_infer_settings *s, uint64_t prompt, uint64_t *tokens,
                                 ms_error *err)
{
    *tokens = s->hf.generate;
    if (*tokens > 0 && ms_infer_settings_has(s, "context") && prompt + *tokens != s->context)
        return ms_fail(err, MS_ERR_USAGE,
                       "generate: %" PRIu64 " tokens after a prompt of %" PRIu64
                       " do not make a context of %" PRIu64 ": leave out one of the three",
                       *tokens, prompt, s->context);
    if (*tokens > 0)
        return MS_OK;
    if (prompt >= s->context)
        return ms_fail(err, MS_ERR_USAGE,
                       "context: %" PRIu64
                       " tokens leave none to generate after a prompt of %" PRIu64
                       "; give a longer context, or the number of tokens with generate",
                       s->context, prompt);
    *tokens = s->context - prompt;
    return MS_OK;
}

/* ---- translation ---- */

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

static ms_status translation_refuse(const ms_infer_job *job, ms_error *err)
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
                           "%s: for %s only plain weights on the device and model calls with a "
                           "dynamic cache are predicted",
                           rows[i].field, job->config->model_type);
    return MS_OK;
}

/* Refuses what is not predicted of such a model. Text is the prompt itself, and the decoder begins
 * with one token; behind sounds the prompt is the decoder's, and has four tokens if it is not
 * given. MS_ERR_USAGE, MS_ERR_CONFIG. */
static ms_status hf_translation_tokens(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    uint64_t prompt = prompt_of(job);
    g->prompt = job->config->source_positions ? prompt : 1;
    ms_status status = hf_count_tokens(job->settings, prompt, &g->tokens, err);
    return status == MS_OK ? translation_refuse(job, err) : status;
}

/* ---- run ---- */

enum { MOST_LAYERS = 1024 };

static ms_status refuse(const ms_infer_job *job, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    if (!job->config)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "engine hf does not read GGUF files; give a built-in model or a config.json");
    if (job->config->num_layers > MOST_LAYERS)
        return ms_fail(err, MS_ERR_LIMIT,
                       "engine: hf is predicted for up to %d layers, but the model has %" PRIu64
                       "; other engines take more",
                       (int)MOST_LAYERS, job->config->num_layers);
    if (job->device->is_cpu)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine hf is not predicted on device cpu; give a GPU, or engine llama.cpp");
    if (s->gpus > 1)
        return ms_fail(err, MS_ERR_USAGE, "engine hf is predicted on one device only: give gpus 1");
    if (s->quant)
        return ms_fail(
            err, MS_ERR_USAGE,
            "quant chooses the type of a GGUF file, which engine hf does not read; use quantize");
    if (s->dtype && strncmp(s->dtype, "fp8", 3) == 0)
        return ms_fail(err, MS_ERR_USAGE, "dtype: engine hf does not predict weights in fp8");
    if (job->config->is_fp8 && !s->dtype)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "engine hf does not predict this model's fp8 weights; choose another type with dtype");
    if (s->hf.attention && strcmp(s->hf.attention, "flash_attention_2") == 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "attention flash_attention_2: the package flash-attn is not predicted; sdpa "
                       "uses flash attention too");
    return MS_OK;
}

/* ---- layers on the host ---- */

/* As device_map="auto" has them: the first layers on the device, and the rest on the host. */
static ms_status place_layers(const ms_infer_job *job, ms_run_config *run, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    uint64_t layers = job->config->num_layers;
    if (!ms_infer_settings_has(s, "gpu-layers") || s->gpu_layers > layers)
        return MS_OK;
    if (job->config->wide_head_dim)
        return ms_fail(err, MS_ERR_CONFIG,
                       "gpu-layers: layers on the host are not predicted for models of type %s",
                       job->config->model_type);
    if (ms_is_packed(&run->quantization))
        return ms_fail(err, MS_ERR_USAGE,
                       "gpu-layers: layers on the host are not predicted for quantised weights; "
                       "give quantize none");
    run->has_host_layers = true;
    run->device_layers = s->gpu_layers;
    return MS_OK;
}

/* ---- generate() ---- */

static ms_status refuse_loop(const ms_infer_job *job, ms_error *err)
{
    const ms_model_config *c = job->config;
    const ms_hf_settings *s = &job->settings->hf;
    const struct {
        bool applies;
        const char *why;
    } rows[] = {
        {s->cache == MS_HF_CACHE_STATIC, "compiles decoding with a static cache"},
        {c->family->has_no_attention, "passes other arguments to models without attention"},
        {c->long_rotary, "drops the cache where the context passes "
                         "original_max_position_embeddings"},
    };
    for (size_t i = 0; s->loop == MS_HF_LOOP_GENERATE && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies)
            return ms_fail(err, MS_ERR_CONFIG,
                           "loop: generate() %s, which is not predicted; give loop forward",
                           rows[i].why);
    return MS_OK;
}

/* ---- packed caches ---- */

static ms_status resolve_cache(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    static const char *const names[] = {"cache-bits", "cache-group", "residual-length"};
    static const ms_cache_kind kinds[] = {[MS_HF_CACHE_DYNAMIC] = MS_CACHE_PLAIN,
                                          [MS_HF_CACHE_STATIC] = MS_CACHE_PLAIN,
                                          [MS_HF_CACHE_QUANTO] = MS_CACHE_QUANTO,
                                          [MS_HF_CACHE_FP8] = MS_CACHE_FP8};
    const ms_hf_settings *s = &job->settings->hf;
    g->has_static_cache = s->cache == MS_HF_CACHE_STATIC;
    g->packing =
        (ms_cache_packing){kinds[s->cache], s->cache_bits, s->cache_group, s->residual_length};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (s->cache != MS_HF_CACHE_QUANTO && ms_infer_settings_has(job->settings, names[i]))
            return ms_fail(err, MS_ERR_USAGE, "%s applies to cache quanto only", names[i]);
    if (g->packing.kind != MS_CACHE_PLAIN && job->settings->fit == MS_INFER_FIT_CONTEXT)
        return ms_fail(err, MS_ERR_USAGE,
                       "fit: context is not searched with a quantised cache, because every pass "
                       "would have to be simulated; batch and concurrency are");
    if (s->cache_bits == 3)
        return ms_fail(err, MS_ERR_USAGE, "cache-bits: found 3, expected 2 or 4");
    return MS_OK;
}

/* ---- encoders ---- */

bool ms_hf_reads_once(const ms_model_config *config)
{
    return config->family->is_bidirectional && !config->image_tokens;
}

/* The mask of a window is made otherwise in eager attention, which was not compared in full. */
static bool has_windows(const ms_model_config *config)
{
    for (uint64_t i = 0; i < config->num_layers; i++)
        if (ms_layer_slides(config, i))
            return true;
    return false;
}

static ms_status refuse_for_encoder(const ms_infer_job *job, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    const struct {
        bool applies;
        const char *field;
    } rows[] = {
        {s->hf.generate > 1, "generate"},
        {s->hf.loop == MS_HF_LOOP_GENERATE, "loop"},
        {s->hf.cache != MS_HF_CACHE_DYNAMIC, "cache"},
        {s->fit == MS_INFER_FIT_CONTEXT, "fit context"},
        {ms_infer_settings_has(s, "gpu-layers"), "gpu-layers"},
        {s->hf.quantize != NULL, "quantize"},
        {has_windows(job->config) && s->hf.attention && strcmp(s->hf.attention, "eager") == 0,
         "attention eager"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies)
            return ms_fail(err, MS_ERR_USAGE,
                           "%s: for %s only a forward pass over the prompt is predicted, with "
                           "plain weights on the device",
                           rows[i].field, job->config->model_type);
    return MS_OK;
}

/* The prompt alone: all of a context that is given. */
static ms_status resolve_reading(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    bool is_context = ms_infer_settings_has(s, "context") && !ms_infer_settings_has(s, "prompt");
    g->prompt = is_context || s->prompt > s->context ? s->context : s->prompt;
    g->tokens = 1;
    return refuse_for_encoder(job, err);
}

/* ---- tokens ---- */

/* Runs of layers, of which a second has about 70,000; enough for 4,096 tokens of 32 layers. */
enum { LAYERS_RUN = 1 << 17, LAYERS_TRIED = 1 << 12 };

/* Prompt and answer fill the context; each may be given. */
static ms_status resolve_tokens(const ms_infer_job *job, ms_generation *g, ms_error *err)
{
    const ms_infer_settings *s = job->settings;
    if (ms_hf_reads_once(job->config))
        return resolve_reading(job, g, err);
    g->most_layers = job->is_trial ? LAYERS_TRIED : LAYERS_RUN;
    if (ms_hf_translates(job->config))
        return hf_translation_tokens(job, g, err);
    g->is_call = s->hf.loop == MS_HF_LOOP_GENERATE;
    g->prompt = s->prompt;
    if (!ms_infer_settings_has(s, "prompt") && g->prompt > (s->context + 1) / 2)
        g->prompt = (s->context + 1) / 2;
    return hf_count_tokens(s, g->prompt, &g->tokens, err);
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

/* What the config asks for, where no option does. */
static const char *asked(const char *option, const char *of_config)
{
    return option ? option : of_config && strcmp(of_config, "eager") == 0 ? of_config : NULL;
}

static const char *attention_of(const ms_infer_job *job)
{
    const char *name = asked(job->settings->hf.attention, job->config->asked_attention);
    return name && strcmp(name, "sdpa") == 0 ? "auto" : name;
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
        status = refuse_loop(job, err);
    if (status == MS_OK)
        status = resolve_cache(job, &run->generation, err);
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
    add(&d, "attention", attention_of(job));
    add(&d, "experts", asked(hf->experts, job->config->asked_experts));
    add(&d, "torch", hf->torch);
    add(&d, "allocator", hf->allocator);
    add(&d, "addresses", hf->addresses);
    ms_model_config model = *job->config;
    status = ms_hf_quantization(job, &model.quantization, err);
    if (status == MS_OK)
        status = ms_config_load_run(job->arena, &model, d.settings, d.count, &run->run, err);
    if (status == MS_OK)
        ms_hf_set_allocator(job, &run->run);
    run->run.seq_tokens = g->prompt;
    if (ms_hf_translates(job->config))
        run->run.source_tokens = ms_hf_source(job);
    return status == MS_OK ? place_layers(job, &run->run, err) : status;
}
