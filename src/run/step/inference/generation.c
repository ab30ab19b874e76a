/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/inference/generation.h"

#include "input/config/model/model_config.h"
#include "model/blocks/host/host_modules.h"
#include "torch/ops/ops.h"
#include "run/step/figures.h"
#include "run/step/inference/generate_call.h"
#include "run/step/inference/generator.h"
#include "run/step/run.h"

typedef struct generating {
    ms_generator g;
    const ms_generation *what;
    const ms_generation_reader *reader;
    ms_generate_call call;
} generating;

/* ---- passes that are run ---- */

enum { ALIKE = 8 };

/* Of a dynamic cache every so manyeth pass is run. */
static uint64_t stride_of(const ms_model_config *model, const ms_generation *what)
{
    uint64_t most = what->most_layers / (model->num_layers ? model->num_layers : 1);
    bool is_packed = what->packing.kind != MS_CACHE_PLAIN;
    if (what->has_static_cache || most < ALIKE)
        most = ALIKE;
    return what->has_static_cache || is_packed ? 1 : (what->tokens + most - 1) / most;
}

bool ms_generation_is_sampled(const ms_model_config *model, const ms_generation *generation)
{
    return stride_of(model, generation) > 1;
}

/* The pass that is run after `last`; that of the prompt is number 0. */
static uint64_t next_dynamic(const generating *gen, uint64_t last)
{
    uint64_t next = last + stride_of(gen->g.model.config, gen->what), end = gen->what->tokens;
    return next > end - 1 && last < end - 1 ? end - 1 : next;
}

static uint64_t next_static(const generating *gen, uint64_t last)
{
    uint64_t window = gen->g.model.config->sliding_window, prompt = gen->what->prompt;
    uint64_t full = window > prompt ? window - prompt + 1 : 0; /* the first with a full window */
    if (last < ALIKE || (last >= full && last < full + ALIKE))
        return last + 1;
    return last < full ? full : gen->what->tokens;
}

static uint64_t next_pass(const generating *gen, uint64_t last)
{
    return gen->what->has_static_cache ? next_static(gen, last) : next_dynamic(gen, last);
}

/* ---- passes ---- */

/* A pass over `ids`, which the caller keeps; yields the next token's: the argmax of the logits. */
static ms_tensor run_pass(ms_generator *g, ms_tensor ids, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_symbols *s = &tape->trace->symbols;
    g->model.seq = ms_dim_number(s, tokens);
    ms_tensor logits = ms_generator_pass(g, ids);
    if (ms_idle(tape))
        return 0;
    if (!g->cache) { /* nothing follows */
        ms_release(tape, logits);
        return 0;
    }
    ms_tensor next = ms_empty(tape, MS_SHAPE(g->model.batch, ms_dim_number(s, 1)), MS_DTYPE_I64);
    ms_retain(tape, next);
    ms_name_storage(tape, next, "next token", MS_CATEGORY_INPUT);
    ms_release(tape, logits);
    return next;
}

static ms_status hand_over(generating *gen)
{
    ms_generator *g = &gen->g;
    if (g->tape.status != MS_OK)
        return g->tape.status;
    ms_status status = gen->reader->read(gen->reader->context, g->tape.trace, g->err);
    ms_tape_forget(&g->tape);
    return status;
}

/* The same passes by generate(). */
static ms_tensor run_call_pass(generating *gen, ms_tensor ids, uint64_t pass_tokens,
                               uint64_t tokens)
{
    ms_generator *g = &gen->g;
    g->model.seq = ms_dim_number(&g->tape.trace->symbols, pass_tokens);
    ms_tensor logits = ms_generator_pass(g, ids);
    return ms_generate_call_go_on(g, &gen->call, logits, tokens);
}

static ms_tensor run_call_prompt(generating *gen)
{
    ms_generator *g = &gen->g;
    uint64_t tokens = gen->what->prompt;
    g->step = 1;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, 0);
    g->model.seq = ms_dim_number(&g->tape.trace->symbols, tokens);
    ms_tensor prompt = ms_step_new_input(&g->model);
    ms_tensor ids = ms_generate_call_begin(g, &gen->call, prompt);
    ms_tensor next = run_call_pass(gen, ids, tokens, tokens);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, 0);
    return next;
}

static ms_tensor run_call_token(generating *gen, ms_tensor token, uint64_t pass)
{
    ms_generator *g = &gen->g;
    g->step = 2;
    g->model.batches_experts = true;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, (uint32_t)pass);
    ms_tensor next = run_call_pass(gen, token, 1, gen->what->prompt + pass);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, (uint32_t)pass);
    return next;
}

/* The source is run, and kept with its result; yields the tokens that the decoder begins with. */
static ms_tensor encode(ms_generator *g, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_generator_encode(g, ms_step_new_input(&g->model));
    if (ms_idle(tape))
        return 0;
    ms_tensor first = ms_empty(
        tape, MS_SHAPE(g->model.batch, ms_dim_number(&tape->trace->symbols, tokens)), MS_DTYPE_I64);
    ms_retain(tape, first);
    ms_name_storage(tape, first, "decoder_input_ids", MS_CATEGORY_INPUT);
    return first;
}

static ms_tensor run_prompt(ms_generator *g, uint64_t tokens)
{
    bool has_encoder = g->model.encode != NULL;
    g->step = 1;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, 0);
    g->model.seq = ms_dim_number(&g->tape.trace->symbols, tokens);
    ms_tensor prompt = has_encoder ? encode(g, tokens) : ms_step_new_input(&g->model);
    ms_tensor next = run_pass(g, prompt, tokens);
    if (has_encoder && prompt)
        ms_release(&g->tape, prompt);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, 0);
    return next;
}

static ms_tensor run_token(ms_generator *g, ms_tensor token, uint64_t pass)
{
    g->step = 2;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, (uint32_t)pass);
    ms_tensor next = run_pass(g, token, 1);
    if (token)
        ms_release(&g->tape, token);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, (uint32_t)pass);
    return next;
}

/* What the passes have shown. */
static ms_status check_passes(const generating *gen)
{
    const ms_generator *g = &gen->g;
    if (g->tape.status == MS_OK && !ms_host_modules_were_fetched(&g->model))
        return ms_fail(g->err, MS_ERR_CONFIG, "model type %s: layers on the host are unsupported",
                       g->model.config->model_type);
    return MS_OK;
}

static ms_status generate(generating *gen)
{
    ms_generator *g = &gen->g;
    const ms_generation *what = gen->what;
    uint64_t room = what->has_static_cache ? what->prompt + what->tokens : 0, last = 0;
    ms_figures_sum(&g->tape, g->simulation);
    ms_status status = MS_OK;
    if (ms_cache_is_known(g->model.config) || what->tokens > 1)
        status = ms_cache_new(&g->model, room, &what->packing, &g->cache, g->err);
    if (status == MS_OK)
        status = hand_over(gen);
    if (status != MS_OK)
        return status;
    ms_tensor token = what->is_call ? run_call_prompt(gen) : run_prompt(g, what->prompt);
    g->tape.trace->symbols.is_frozen = true; /* each pass has sizes of its own */
    status = check_passes(gen);
    if (status == MS_OK)
        status = hand_over(gen);
    for (uint64_t i = next_pass(gen, 0); i < what->tokens && status == MS_OK;
         i = next_pass(gen, i)) {
        ms_cache_skip(&g->model, g->cache, i - last - 1);
        token = what->is_call ? run_call_token(gen, token, i) : run_token(g, token, i);
        status = check_passes(gen);
        if (status == MS_OK)
            status = hand_over(gen);
        last = i;
    }
    return status;
}

ms_status ms_step_generate(const ms_model_config *model, const ms_run_config *run,
                           const ms_generation *generation, const ms_generation_reader *reader,
                           ms_simulation *simulation, ms_error *err)
{
    generating gen = {.what = generation, .reader = reader};
    ms_status status = ms_generator_begin(&gen.g, model, run, simulation, err);
    return ms_generator_end(&gen.g, status == MS_OK ? generate(&gen) : status);
}
