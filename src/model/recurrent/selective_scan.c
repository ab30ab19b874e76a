/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/selective_scan.h"

#include "base/vec.h"
#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"
#include "torch/ops/split.h"

static ms_tensor in_fp32(ms_tape *tape, ms_tensor x)
{
    return ms_idle(tape) || !x ? 0 : ms_to(tape, x, MS_DTYPE_F32);
}

/* The function's locals, in its order. */
typedef struct scan {
    ms_tensor *hidden, *step, *direct, *decays, *keys, *inputs, *out, *state;
    ms_vec(ms_tensor) outputs; /* one for each token, retained */
} scan;

/* What every token multiplies its state by, and what it adds: both [B, inner, S, N]. */
static void discretise(ms_model *model, ms_locals *f, const ms_selective_inputs *in, scan *s)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *s->step)->dtype;
    ms_tensor bias = ms_unsqueeze(tape, ms_to(tape, in->step_bias, dtype), 1);
    ms_assign(f, s->step, ms_add(tape, *s->step, bias));
    ms_assign(f, s->step, ms_softplus(tape, *s->step));
    ms_tensor rate = ms_unsqueeze(tape, ms_unsqueeze(tape, in->decay, 0), 2);
    ms_tensor product = ms_mul(tape, rate, ms_unsqueeze(tape, *s->step, 3));
    ms_assign(f, s->decays, ms_exp(tape, product));
    ms_tensor key = in_fp32(tape, ms_unsqueeze(tape, in->key, 1));
    ms_assign(f, s->keys, ms_mul(tape, ms_unsqueeze(tape, *s->step, 3), key));
    ms_tensor hidden = in_fp32(tape, ms_unsqueeze(tape, *s->hidden, 3));
    ms_assign(f, s->inputs, ms_mul(tape, *s->keys, hidden));
}

/* state = decays[:, :, i] * state + inputs[:, :, i], and what it yields. */
static void step(ms_model *model, ms_locals *f, const ms_selective_inputs *in, scan *s,
                 ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    ms_tensor carried = ms_mul(tape, ms_select(tape, *s->decays, 2), *s->state);
    ms_assign(f, s->state, ms_add(tape, carried, ms_select(tape, *s->inputs, 2)));
    ms_tensor state = ms_idle(tape) ? 0 : ms_to(tape, *s->state, dtype);
    ms_tensor query = ms_unsqueeze(tape, ms_select(tape, in->query, 1), 2);
    ms_assign(f, s->out, ms_bmm(tape, state, query));
    ms_tensor piece = ms_select(tape, *s->out, 2);
    ms_retain(tape, piece);
    if (!ms_vec_push(&s->outputs, piece)) {
        ms_release(tape, piece);
        ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static void run_tokens(ms_model *model, ms_locals *f, const ms_selective_inputs *in, scan *s)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_tensor_info hidden = *ms_info(tape, *s->hidden);
    const ms_dim *d = hidden.shape.dims;
    ms_dim states = ms_info(tape, in->decay)->shape.dims[1];
    ms_dtype dtype = (ms_dtype)hidden.dtype;
    ms_assign(f, s->state, ms_empty(tape, MS_SHAPE(d[0], d[1], states), dtype));
    for (uint64_t i = 0; i < model->seq.value && !ms_idle(tape); i++)
        step(model, f, in, s, dtype);
    if (!ms_idle(tape))
        ms_assign(f, s->out, ms_stack_list(tape, s->outputs.items, s->outputs.count, 2));
}

/* A list is dropped from its end. */
static void drop_outputs(ms_tape *tape, scan *s)
{
    while (s->outputs.count)
        ms_release(tape, s->outputs.items[--s->outputs.count]);
    ms_vec_free(&s->outputs);
}

ms_tensor ms_selective_scan(ms_model *model, const ms_selective_inputs *in, ms_tensor *state)
{
    ms_tape *tape = model->tape;
    scan s = {0};
    ms_locals f = ms_locals_begin(tape);
    s.hidden = ms_local(&f, in->hidden);
    s.step = ms_local(&f, in->step);
    s.direct = ms_local(&f, in->direct);
    s.decays = ms_local(&f, 0);
    s.keys = ms_local(&f, 0);
    s.inputs = ms_local(&f, 0);
    s.out = ms_local(&f, 0);
    s.state = ms_local(&f, 0);
    discretise(model, &f, in, &s);
    run_tokens(model, &f, in, &s);
    ms_tensor wide = ms_unsqueeze(tape, ms_unsqueeze(tape, *s.direct, 0), 2);
    ms_tensor product = ms_idle(tape) ? 0 : ms_mul(tape, *s.hidden, wide);
    ms_assign(&f, s.out, ms_idle(tape) ? 0 : ms_add(tape, *s.out, product));
    ms_tensor open = ms_idle(tape) ? 0 : ms_silu(tape, in->gate);
    ms_assign(&f, s.out, ms_idle(tape) ? 0 : ms_mul(tape, *s.out, open));
    ms_tensor out = *s.out;
    ms_retain(tape, out);
    *state = ms_idle(tape) || !model->cache ? 0 : *s.state;
    ms_retain(tape, *state);
    ms_locals_end(&f, NULL);
    drop_outputs(tape, &s);
    return ms_unown(tape, out);
}

/* ---- one token after others ---- */

/* x[..., 0].float()[..., None] or its like: in fp32, alive until the product is there. */
static ms_tensor *wide_local(ms_locals *f, ms_tensor x)
{
    return ms_local(f, in_fp32(f->tape, x));
}

/* a.float()[..., None] * b.float(), both operands let go of */
static ms_tensor wide_product(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *left = wide_local(&f, a), *right = wide_local(&f, b);
    ms_tensor out = ms_idle(tape) ? 0 : ms_mul(tape, ms_unsqueeze(tape, *left, 2), *right);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

ms_tensor ms_selective_update(ms_model *model, const ms_selective_inputs *in, ms_tensor state)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_dtype dtype = (ms_dtype)ms_info(tape, in->hidden)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, in->hidden), *step = ms_local(&f, in->step);
    ms_assign(&f, step, ms_add(tape, *step, ms_to(tape, in->step_bias, dtype)));
    ms_assign(&f, step, ms_softplus(tape, *step));
    ms_tensor *decays = ms_local(&f, ms_exp(tape, wide_product(tape, *step, in->decay)));
    ms_tensor *keys = ms_local(&f, wide_product(tape, *step, ms_unsqueeze(tape, in->key, 1)));
    ms_tensor *inputs =
        ms_local(&f, ms_mul(tape, *keys, ms_unsqueeze(tape, in_fp32(tape, *hidden), 2)));
    ms_tensor *next = ms_local(&f, ms_add(tape, ms_mul(tape, state, *decays), *inputs));
    ms_tensor narrow = ms_to(tape, *next, dtype);
    ms_tensor *out =
        ms_local(&f, ms_select(tape, ms_bmm(tape, narrow, ms_unsqueeze(tape, in->query, 2)), 2));
    ms_assign(&f, out, ms_add(tape, *out, ms_mul(tape, *hidden, in->direct)));
    ms_assign(&f, out, ms_mul(tape, *out, ms_silu(tape, in->gate)));
    ms_tensor result = ms_to(tape, *out, dtype);
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}
