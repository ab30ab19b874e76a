/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/inference/generate_call.h"

#include "ops/ops.h"

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

void ms_generate_call_mask(ms_generator *g, uint64_t tokens)
{
    ms_tensor is_token = rows(g, tokens, MS_DTYPE_BOOL);
    ms_consume(&g->tape, rows(g, tokens, MS_DTYPE_I64));
    ms_consume(&g->tape, is_token);
}

ms_tensor ms_generate_call_begin(ms_generator *g, ms_generate_call *call, ms_tensor prompt)
{
    uint64_t tokens = g->model.seq.value;
    if (ms_idle(&g->tape))
        return 0;
    ms_retain(&g->tape, prompt);
    call->ids = prompt;
    call->mask = kept(g, rows(g, tokens, MS_DTYPE_I64), "attention_mask");
    ms_retain(&g->tape, call->mask); /* the caller's */
    call->special[0] = one_number(g, "first token");
    call->special[1] = one_number(g, "last token");
    call->positions = kept(g, positions_of(g, tokens), "position_ids");
    ms_retain(&g->tape, call->positions); /* of the function's arguments, as the mask */
    call->unfinished = kept(g, rows(g, 1, MS_DTYPE_I64), "unfinished sequences");
    call->input = kept(g, rows(g, tokens, MS_DTYPE_I64), "input_ids");
    g->model.position_ids = call->positions;
    return call->input;
}

/* Positions and the mask get a column. */
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
    ms_tensor one = rows(g, 1, MS_DTYPE_I64);
    ms_tensor mask = rows(g, tokens + 1, MS_DTYPE_I64);
    ms_consume(tape, one);
    call->passed_mask = call->mask;
    call->mask = kept(g, mask, "attention_mask");
    replace(g, &call->positions, positions, "position_ids");
}

/* The length and the token that ends are looked at: single bytes, which come and go. */
static void look_for_ends(ms_generator *g, ms_generate_call *call)
{
    ms_tape *tape = &g->tape;
    ms_tensor done = rows(g, 1, MS_DTYPE_BOOL), by_length = rows(g, 1, MS_DTYPE_BOOL);
    ms_tensor both = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, by_length);
    ms_consume(tape, done);
    ms_tensor is_not = rows(g, 1, MS_DTYPE_BOOL);
    ms_consume(tape, both);
    replace(g, &call->unfinished, rows(g, 1, MS_DTYPE_I64), "unfinished sequences");
    ms_consume(tape, is_not);
}

ms_tensor ms_generate_call_go_on(ms_generator *g, ms_generate_call *call, ms_tensor logits,
                                 uint64_t tokens)
{
    ms_tape *tape = &g->tape;
    if (ms_idle(tape) || !logits)
        return 0;
    const ms_shape shape = ms_info(tape, logits)->shape;
    ms_dim width = shape.dims[shape.rank - 1];
    if (tokens > 0 && call->position == 0) { /* the prompt's are of the call that ran it */
        ms_release(tape, call->input);
        call->input = 0;
    }
    lengthen(g, call, tokens);
    replace(g, &call->scores, ms_empty(tape, MS_SHAPE(g->model.batch, width), MS_DTYPE_F32),
            "scores");
    replace(g, &call->next, rows(g, 1, MS_DTYPE_I64), "next token");
    replace(g, &call->ids, rows(g, tokens + 1, MS_DTYPE_I64), "input_ids");
    look_for_ends(g, call);
    ms_release(tape, logits);
    replace(g, &call->input, rows(g, 1, MS_DTYPE_I64), "input_ids");
    replace(g, &call->position, rows(g, 1, MS_DTYPE_I64), "position_ids");
    ms_release(tape, call->passed_mask);
    g->model.position_ids = call->position;
    return call->input;
}
