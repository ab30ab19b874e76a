/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/inference/generation.h"

#include "input/config/model/model_config.h"
#include "model/blocks/host/host_modules.h"
#include "run/step/figures.h"
#include "run/step/inference/generator.h"
#include "run/step/run.h"
#include "torch/ops/ops.h"

/* ---- generate call ---- */

/* What generate() of transformers 5.23 (generation/utils.py: generate, _sample) makes around the
 * passes of a greedy generation, from a prompt and its mask of ones on the device, with tokens for
 * beginning and end. A mask without padding is dropped once positions are made of it. */

/* Tensors that the call holds; 0: none. */
typedef struct ms_generate_call {
    ms_tensor ids, positions;   /* [B, tokens]: all up to now */
    ms_tensor mask;             /* the caller's, which the call drops */
    ms_tensor input, position;  /* of the pass */
    ms_tensor scores;           /* [B, V] in fp32, of the last pass */
    ms_tensor next, unfinished; /* [B] */
    ms_tensor special[2];       /* tokens that begin and end */
} ms_generate_call;

static ms_tensor rows(ms_generator *g, uint64_t columns, ms_dtype dtype)
{
    ms_dim width = ms_dim_number(&g->tape.trace->symbols, columns);
    return ms_empty(&g->tape, MS_SHAPE(g->model.batch, width), dtype);
}

static ms_tensor kept(ms_generator *g, ms_tensor tensor, const char *name)
{
    ms_retain(&g->tape, tensor);
    if (tensor)
        ms_name_storage(&g->tape, tensor, name, MS_CATEGORY_INPUT);
    return tensor;
}

/* The new one takes the place of the old, which goes. */
static void replace(ms_generator *g, ms_tensor *old, ms_tensor tensor, const char *name)
{
    kept(g, tensor, name);
    if (*old)
        ms_release(&g->tape, *old);
    *old = tensor;
}

static ms_tensor one_number(ms_generator *g, const char *name)
{
    return kept(g, ms_empty_bytes(&g->tape, sizeof(int64_t), MS_DTYPE_I64), name);
}

static bool takes_positions(const ms_generator *g)
{
    return !g->model.config->family->takes_no_positions;
}

/* mask.cumsum(-1) - 1, and 1 where there is no token. */
static ms_tensor positions_of(ms_generator *g, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_tensor sum = rows(g, tokens, MS_DTYPE_I64);
    ms_tensor less = rows(g, tokens, MS_DTYPE_I64);
    ms_consume(tape, sum);
    ms_tensor is_none = rows(g, tokens, MS_DTYPE_BOOL);
    ms_tensor positions = rows(g, tokens, MS_DTYPE_I64);
    ms_consume(tape, is_none);
    ms_consume(tape, less);
    return positions;
}

/* (mask == 1).all() */
static void look_for_padding(ms_generator *g, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_tensor is_token = rows(g, tokens, MS_DTYPE_BOOL);
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, is_token);
    ms_consume(tape, all);
}

/* Before the prompt's pass over `prompt`, which the caller keeps; sets the model's positions.
 * Yields the ids of the pass, which the call keeps. */
static ms_tensor generate_call_begin(ms_generator *g, ms_generate_call *call, ms_tensor prompt)
{
    uint64_t tokens = g->model.seq.value;
    if (ms_idle(&g->tape))
        return 0;
    ms_retain(&g->tape, prompt);
    call->ids = prompt;
    call->mask = kept(g, rows(g, tokens, MS_DTYPE_I64), "attention_mask");
    call->special[0] = one_number(g, "first token");
    call->special[1] = one_number(g, "last token");
    if (takes_positions(g)) {
        call->positions = kept(g, positions_of(g, tokens), "position_ids");
        ms_retain(&g->tape, call->positions); /* of the function's arguments */
    }
    look_for_padding(g, tokens);
    call->unfinished = kept(g, rows(g, 1, MS_DTYPE_I64), "unfinished sequences");
    call->input = kept(g, rows(g, tokens, MS_DTYPE_I64), "input_ids");
    g->model.position_ids = call->positions;
    return call->input;
}

/* Positions get a column. */
static void lengthen(ms_generator *g, ms_generate_call *call, uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    ms_tensor range = ms_empty_bytes(tape, sizeof(int64_t), MS_DTYPE_I64);
    ms_tensor sum = rows(g, 1, MS_DTYPE_I64);
    ms_consume(tape, range);
    ms_tensor next = rows(g, 1, MS_DTYPE_I64);
    ms_consume(tape, sum);
    ms_tensor positions = rows(g, tokens + 1, MS_DTYPE_I64);
    ms_consume(tape, next);
    replace(g, &call->positions, positions, "position_ids");
}

/* The argmax of the scores, and another token in sequences that have ended. */
static void choose_next(ms_generator *g, ms_generate_call *call)
{
    ms_tape *tape = &g->tape;
    replace(g, &call->next, rows(g, 1, MS_DTYPE_I64), "next token");
    ms_tensor going = rows(g, 1, MS_DTYPE_I64), has_ended = rows(g, 1, MS_DTYPE_I64);
    ms_tensor padding = rows(g, 1, MS_DTYPE_I64);
    ms_consume(tape, has_ended);
    ms_tensor next = rows(g, 1, MS_DTYPE_I64);
    ms_consume(tape, going);
    ms_consume(tape, padding);
    replace(g, &call->next, next, "next token");
}

/* torch.isin(next, ends) */
static ms_tensor is_in(ms_generator *g)
{
    ms_tape *tape = &g->tape;
    ms_tensor none = rows(g, 1, MS_DTYPE_BOOL), is_equal = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, rows(g, 1, MS_DTYPE_BOOL));
    ms_consume(tape, is_equal);
    ms_tensor out = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, none);
    return out;
}

/* By the length and the token that ends. */
static void look_for_ends(ms_generator *g, ms_generate_call *call)
{
    ms_tape *tape = &g->tape;
    ms_tensor done = rows(g, 1, MS_DTYPE_BOOL), by_length = rows(g, 1, MS_DTYPE_BOOL);
    ms_tensor either = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, by_length);
    ms_consume(tape, done);
    ms_tensor by_token = is_in(g);
    ms_tensor any = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, by_token);
    ms_consume(tape, either);
    ms_tensor is_not = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, any);
    ms_tensor unfinished = rows(g, 1, MS_DTYPE_I64);
    ms_consume(tape, is_not);
    replace(g, &call->unfinished, unfinished, "unfinished sequences");
    ms_tensor most = ms_empty_bytes(tape, sizeof(int64_t), MS_DTYPE_I64);
    ms_consume(tape, ms_empty_bytes(tape, 1, MS_DTYPE_BOOL));
    ms_consume(tape, most);
}

/* After a pass with `tokens` until now: takes the logits, and makes the ids of the next pass. */
static ms_tensor generate_call_go_on(ms_generator *g, ms_generate_call *call, ms_tensor logits,
                                     uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    if (ms_idle(tape) || !logits)
        return 0;
    const ms_shape shape = ms_info(tape, logits)->shape;
    ms_dim width = shape.dims[shape.rank - 1];
    if (tokens > 0 && call->scores == 0) { /* the prompt's are of the call that ran it */
        ms_release(tape, call->input);
        call->input = 0;
    }
    if (takes_positions(g))
        lengthen(g, call, tokens);
    replace(g, &call->scores, ms_empty(tape, MS_SHAPE(g->model.batch, width), MS_DTYPE_F32),
            "scores");
    choose_next(g, call);
    replace(g, &call->ids, rows(g, tokens + 1, MS_DTYPE_I64), "input_ids");
    look_for_ends(g, call);
    ms_release(tape, logits);
    replace(g, &call->input, rows(g, 1, MS_DTYPE_I64), "input_ids");
    if (takes_positions(g))
        replace(g, &call->position, rows(g, 1, MS_DTYPE_I64), "position_ids");
    g->model.position_ids = call->position;
    return call->input;
}

/* ---- generation ---- */

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
    return generate_call_go_on(g, &gen->call, logits, tokens);
}

static ms_tensor run_call_prompt(generating *gen)
{
    ms_generator *g = &gen->g;
    uint64_t tokens = gen->what->prompt;
    g->step = 1;
    ms_generator_mark(g, true, MS_PHASE_FORWARD, 0);
    g->model.seq = ms_dim_number(&g->tape.trace->symbols, tokens);
    ms_tensor prompt = ms_step_new_input(&g->model);
    ms_tensor ids = generate_call_begin(g, &gen->call, prompt);
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
