/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/inference.h"

#include <string.h>

#include "autograd/rerun.h"
#include "config/run/attention.h"
#include "model/blocks/cache.h"
#include "model/families.h"
#include "ops/ops.h"
#include "step/figures.h"
#include "step/run.h"
#include "trace/build.h"

const char *const ms_inference_phase_names[] = {
    [MS_INFERENCE_PREFILL] = "prefill", [MS_INFERENCE_DECODE] = "decode", NULL};

typedef struct generator {
    ms_tape tape;
    ms_model model;
    ms_cache *cache; /* NULL: the model's attention takes none */
    const ms_inference *inference;
    uint16_t step;
    ms_simulation *simulation;
    ms_error *err;
} generator;

static void mark(generator *g, bool begin, ms_phase phase, uint32_t pass)
{
    ms_step_mark(&g->tape, begin, phase, g->step, pass);
}

static void build(generator *g)
{
    ms_tape *tape = &g->tape;
    tape->repeats = 1;
    mark(g, true, MS_PHASE_BUILD, 0);
    ms_step_build_model(&g->model, g->err);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    mark(g, false, MS_PHASE_BUILD, 0);
    tape->grad_enabled = false;
    tape->is_evaluating = true;
    tape->pass = MS_PASS_FORWARD;
}

/* One pass over so many tokens; of its logits the last token's are made. */
static void run_pass(generator *g, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_model *model = &g->model;
    if (ms_idle(tape))
        return;
    model->seq = ms_dim_number(&tape->trace->symbols, tokens);
    ms_tensor ids = ms_step_new_input(model);
    const ms_model_inputs in = {.ids = ids, .cache = g->cache, .kept_logits = g->cache ? 1 : 0};
    ms_model_outputs out = {0};
    tape->has_autocast = model->run->autocast != MS_AUTOCAST_NONE;
    tape->autocast_dtype = model->run->autocast == MS_AUTOCAST_F16 ? MS_DTYPE_F16 : MS_DTYPE_BF16;
    ms_module_begin(tape, MS_NONE);
    ms_model_forward(model, &in, &out);
    ms_module_end(tape, MS_NONE);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    tape->has_autocast = false;
    const ms_tensor left[] = {out.hidden, out.logits, out.loss, out.auxiliary, ids};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i])
            ms_release(tape, left[i]);
}

static void run_marked(generator *g, uint32_t pass, uint64_t tokens)
{
    mark(g, true, MS_PHASE_FORWARD, pass);
    run_pass(g, tokens);
    mark(g, false, MS_PHASE_FORWARD, pass);
}

/* Each prompt begins with an empty cache. */
static void run_prefills(generator *g, uint64_t tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count && !ms_idle(&g->tape); i++) {
        if (g->cache)
            ms_cache_clear(&g->model, g->cache);
        run_marked(g, i, tokens);
    }
}

/* As many tokens before the passes as make their last one the sequence's last: the prompt, and a
 * token after it. */
static void begin_decoding(generator *g, uint64_t before)
{
    uint64_t prompt = before > 1 ? before - 1 : before;
    mark(g, true, MS_PHASE_FORWARD, 0);
    if (prompt > 0)
        run_pass(g, prompt);
    if (!ms_idle(&g->tape))
        ms_trace_event(&g->tape, MS_EVENT_EMPTY_CACHE, 0);
    if (prompt < before)
        run_pass(g, 1);
    mark(g, false, MS_PHASE_FORWARD, 0);
}

static void run_passes(generator *g)
{
    const ms_inference *in = g->inference;
    uint64_t tokens = g->model.seq.value;
    uint64_t before = tokens > in->passes ? tokens - in->passes : 0;
    g->step = 1;
    if (in->phase == MS_INFERENCE_PREFILL)
        run_prefills(g, tokens, 1);
    else
        begin_decoding(g, before);
    g->step = 2;
    g->tape.recording = true;
    if (in->phase == MS_INFERENCE_PREFILL)
        run_prefills(g, tokens, in->passes);
    for (uint32_t i = 0; i < in->passes && in->phase == MS_INFERENCE_DECODE; i++)
        run_marked(g, i, 1);
}

/* In the allocator's units, as each tensor is a block. */
static uint64_t cache_bytes(generator *g)
{
    enum { UNIT_BYTES = 512 };
    uint64_t bytes = 0;
    for (uint64_t i = 0; g->cache && i < g->model.config->num_layers; i++) {
        const ms_cached_layer *layer = &g->cache->layers[i];
        const ms_tensor tensors[] = {layer->keys, layer->values, layer->window};
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

static ms_status open_cache(generator *g)
{
    bool decodes = g->inference->phase == MS_INFERENCE_DECODE;
    return decodes || g->model.config->family->takes_cache
               ? ms_cache_new(&g->model, &g->cache, g->err)
               : MS_OK;
}

static ms_status infer(generator *g)
{
    build(g);
    ms_figures_count_parameters(&g->tape, g->simulation);
    g->simulation->active_param_count = g->simulation->param_count - g->model.idle_param_count;
    ms_status status = g->tape.status == MS_OK ? open_cache(g) : g->tape.status;
    if (status != MS_OK)
        return status;
    run_passes(g);
    if (g->tape.status != MS_OK)
        return g->tape.status;
    ms_figures_sum(&g->tape, g->simulation);
    g->simulation->cache_bytes = cache_bytes(g);
    return g->simulation->trace.symbols.ran_out ? MS_ERR_NOMEM : MS_OK;
}

/* What is of training alone is left out. */
static bool keep_inference(ms_run_config *run, ms_arena *arena, uint64_t layers)
{
    run->treatments.layers = ms_arena_array(arena, ms_treatment, layers);
    run->treatments.loss_chunks = 0;
    run->parameter_device = MS_PARAMETERS_ON_DEVICE;
    run->upcast = false; /* prepare_model_for_kbit_training() */
    return run->treatments.layers != NULL;
}

static ms_status run_generator(generator *g, const ms_model_config *model, ms_run_config *run,
                               ms_arena *arena)
{
    const ms_tape_options options = {.device = run->device,
                                     .torch_major = run->torch_major,
                                     .torch_minor = run->torch_minor,
                                     .has_autocast = run->autocast != MS_AUTOCAST_NONE,
                                     .routing = (uint8_t)run->routing};
    if (!ms_tape_init(&g->tape, &g->simulation->trace, options) || !ms_step_set_run(&g->tape, run))
        return ms_step_explain(&g->tape, MS_ERR_NOMEM, g->err);
    ms_model_init(&g->model, &g->tape, arena, model, run);
    g->model.attention = g->simulation->attention = ms_attention_choose(model, run);
    g->model.masked_attention = ms_attention_choose_masked(model, run);
    ms_status status = infer(g);
    return status == MS_OK || g->err->status != MS_OK ? status
                                                      : ms_step_explain(&g->tape, status, g->err);
}

ms_status ms_step_infer(const ms_model_config *model, const ms_run_config *run,
                        const ms_inference *inference, ms_simulation *simulation, ms_error *err)
{
    memset(simulation, 0, sizeof *simulation);
    generator g = {.inference = inference, .simulation = simulation, .err = err};
    ms_run_config own = *run;
    ms_arena *arena = ms_arena_create(0);
    if (!arena || !ms_trace_init(&simulation->trace)) {
        ms_arena_free(arena);
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the trace");
    }
    ms_status status = MS_OK;
    if (keep_inference(&own, arena, model->num_layers))
        status = run_generator(&g, model, &own, arena);
    else
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for the trace");
    ms_model_free(&g.model);
    ms_tape_free(&g.tape);
    ms_arena_free(arena);
    if (status != MS_OK)
        ms_simulation_free(simulation);
    return status;
}
