/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/inference/generate_call.h"

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

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

ms_tensor ms_generate_call_begin(ms_generator *g, ms_generate_call *call, ms_tensor prompt)
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

ms_tensor ms_generate_call_go_on(ms_generator *g, ms_generate_call *call, ms_tensor logits,
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
