/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/inference/generation.h"

#include "ops/ops.h"
#include "step/figures.h"
#include "step/inference/generator.h"
#include "step/run.h"

/* A pass over `ids`, which the caller keeps; yields the next token's: the argmax of the logits. */
static ms_tensor run_pass(ms_generator *g, ms_tensor ids, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_symbols *s = &tape->trace->symbols;
    g->model.seq = ms_dim_number(s, tokens);
    ms_tensor logits = ms_generator_pass(g, ids);
    if (ms_idle(tape))
        return 0;
    ms_tensor next = ms_empty(tape, MS_SHAPE(g->model.batch, ms_dim_number(s, 1)), MS_DTYPE_I64);
    ms_retain(tape, next);
    ms_name_storage(tape, next, "next token", MS_CATEGORY_INPUT);
    ms_release(tape, logits);
    return next;
}

static ms_tensor run_prompt(ms_generator *g, uint64_t tokens, ms_tensor *prompt)
{
    g->step = 1;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, 0);
    g->model.seq = ms_dim_number(&g->tape.trace->symbols, tokens);
    *prompt = ms_step_new_input(&g->model);
    ms_tensor next = run_pass(g, *prompt, tokens);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, 0);
    return next;
}

static ms_tensor run_token(ms_generator *g, ms_tensor token, uint32_t pass)
{
    ms_generator_mark(g, true, MS_PHASE_FORWARD, pass);
    ms_tensor next = run_pass(g, token, 1);
    if (token)
        ms_release(&g->tape, token);
    ms_generator_mark(g, false, MS_PHASE_FORWARD, pass);
    return next;
}

static ms_status generate(ms_generator *g, const ms_generation *what)
{
    ms_tensor prompt = 0;
    uint64_t room = what->has_static_cache ? what->prompt + what->tokens : 0;
    ms_status status = ms_cache_new(&g->model, room, &g->cache, g->err);
    if (status != MS_OK)
        return status;
    ms_tensor token = run_prompt(g, what->prompt, &prompt);
    g->step = 2;
    for (uint64_t i = 1; i < what->tokens && !ms_idle(&g->tape); i++)
        token = run_token(g, token, (uint32_t)i);
    if (g->tape.status == MS_OK)
        ms_figures_sum(&g->tape, g->simulation);
    return g->tape.status;
}

ms_status ms_step_generate(const ms_model_config *model, const ms_run_config *run,
                           const ms_generation *generation, ms_simulation *simulation,
                           ms_error *err)
{
    ms_generator g;
    ms_status status = ms_generator_begin(&g, model, run, simulation, err);
    return ms_generator_end(&g, status == MS_OK ? generate(&g, generation) : status);
}
