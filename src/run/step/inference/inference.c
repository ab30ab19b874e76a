/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/inference/inference.h"

#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "torch/ops/ops.h"
#include "run/step/figures.h"
#include "run/step/inference/generator.h"
#include "run/step/run.h"
#include "core/trace/build.h"

const char *const ms_inference_phase_names[] = {
    [MS_INFERENCE_PREFILL] = "prefill", [MS_INFERENCE_DECODE] = "decode", NULL};

/* The generator, and what is asked of it. */
typedef struct passes {
    ms_generator g;
    const ms_inference *inference;
} passes;

/* One pass over so many tokens. */
static void run_pass(ms_generator *g, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    if (ms_idle(tape))
        return;
    g->model.seq = ms_dim_number(&tape->trace->symbols, tokens);
    ms_tensor ids = ms_step_new_input(&g->model);
    ms_tensor logits = ms_generator_pass(g, ids);
    if (logits)
        ms_release(tape, logits);
    ms_release(tape, ids);
}

static void run_marked(ms_generator *g, uint32_t pass, uint64_t tokens)
{
    ms_generator_mark(g, true, MS_PHASE_FORWARD, pass);
    run_pass(g, tokens);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, pass);
}

/* Each prompt begins with an empty cache. */
static void run_prefills(ms_generator *g, uint64_t tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count && !ms_idle(&g->tape); i++) {
        if (g->cache)
            ms_cache_clear(&g->model, g->cache);
        run_marked(g, i, tokens);
    }
}

/* As many tokens before the passes as make their last one the sequence's last: the prompt, and a
 * token after it. */
static void begin_decoding(ms_generator *g, uint64_t before)
{
    uint64_t prompt = before > 1 ? before - 1 : before;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, 0);
    if (prompt > 0)
        run_pass(g, prompt);
    if (!ms_idle(&g->tape))
        ms_trace_event(&g->tape, MS_EVENT_EMPTY_CACHE, 0);
    if (prompt < before)
        run_pass(g, 1);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, 0);
}

static void run_passes(passes *p)
{
    ms_generator *g = &p->g;
    const ms_inference *in = p->inference;
    uint64_t tokens = g->model.seq.value;
    uint64_t before = tokens > in->passes ? tokens - in->passes : 0;
    g->step = 1;
    if (in->phase == MS_INFERENCE_PREFILL)
        run_prefills(g, tokens, 1);
    else
        begin_decoding(g, before);
    g->step = 2;
    g->tape.recording = g->tape.keeps_operands = true;
    if (in->phase == MS_INFERENCE_PREFILL)
        run_prefills(g, tokens, in->passes);
    for (uint32_t i = 0; i < in->passes && in->phase == MS_INFERENCE_DECODE; i++)
        run_marked(g, i, 1);
}

/* In the allocator's units, as each tensor is a block. */
static uint64_t cache_bytes(ms_generator *g)
{
    enum { UNIT_BYTES = 512 };
    uint64_t bytes = 0;
    for (uint64_t i = 0; g->cache && i < g->model.config->num_layers; i++) {
        const ms_cached_layer *layer = &g->cache->layers[i];
        const ms_tensor tensors[] = {layer->keys, layer->values, layer->number};
        for (size_t k = 0; k < sizeof tensors / sizeof tensors[0]; k++) {
            if (!tensors[k])
                continue;
            uint32_t storage = ms_info(&g->tape, tensors[k])->storage;
            uint64_t own = g->tape.trace->storages.items[storage].bytes;
            bytes += (own + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
        }
    }
    return bytes;
}

static ms_status open_cache(passes *p)
{
    ms_generator *g = &p->g;
    bool decodes = p->inference->phase == MS_INFERENCE_DECODE;
    if (decodes && g->model.config->is_encoder_decoder)
        return ms_fail(g->err, MS_ERR_CONFIG,
                       "model type %s: only memscope infer with engine hf predicts decoding",
                       g->model.config->family->model_type);
    return decodes || g->model.config->family->takes_cache
               ? ms_cache_new(&g->model, 0, NULL, &g->cache, g->err)
               : MS_OK;
}

static ms_status infer(passes *p)
{
    ms_generator *g = &p->g;
    ms_status status = open_cache(p);
    if (status != MS_OK)
        return status;
    run_passes(p);
    if (g->tape.status == MS_OK) {
        ms_figures_sum(&g->tape, g->simulation);
        g->simulation->cache_bytes = cache_bytes(g);
    }
    return g->tape.status;
}

ms_status ms_step_infer(const ms_model_config *model, const ms_run_config *run,
                        const ms_inference *inference, ms_simulation *simulation, ms_error *err)
{
    passes p = {.inference = inference};
    ms_status status = ms_generator_begin(&p.g, model, run, simulation, err);
    return ms_generator_end(&p.g, status == MS_OK ? infer(&p) : status);
}
