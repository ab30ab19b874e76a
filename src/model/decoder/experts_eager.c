/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eager experts, one after the other, as in the modelling files: each gathers its tokens and adds
 * its output to the result. The run's routing determines the number of tokens of each.
 */
#include "model/decoder/experts_eager.h"

#include "input/config/run/experts.h"
#include "model/decoder/experts.h"

#include "input/config/model/model_config.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"

/* The loop's locals. */
typedef struct loop {
    ms_tensor *hidden, *weights, *result, *slots, *tokens, *state, *gate, *up, *current;
    ms_shape chosen; /* a row of the mask: [K, N] */
} loop;

/* expert_mask and expert_hit; the sums and comparisons in between come and go. */
static void find_hits(ms_tape *tape, ms_locals *f, ms_tensor experts, ms_dim count, uint64_t hits)
{
    ms_symbols *s = &tape->trace->symbols;
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_dim classes = ms_dim_add(s, count, ms_dim_number(s, 1));
    ms_local(f, ms_one_hot(tape, experts, classes));
    ms_tensor counts = ms_empty(tape, MS_SHAPE(classes), MS_DTYPE_I64);
    ms_tensor positive = ms_compare(tape, counts, 0);
    const ms_shape shape = MS_SHAPE(classes);
    ms_local(f, ms_nonzero(tape, &shape, true, ms_dim_number(s, hits)));
    ms_consume(tape, positive);
    tape->grad_enabled = grad_enabled;
}

/* expert_idx == num_experts: a tensor of one answer. */
static void compare_with_count(ms_tape *tape)
{
    ms_tensor number = tape->on_cpu ? ms_empty_bytes(tape, 8, MS_DTYPE_I64) : 0;
    ms_tensor answer = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, number);
    ms_consume(tape, answer);
}

/* where(): the slots and tokens of an expert. */
static void find_tokens(ms_model *model, ms_locals *f, const loop *l, ms_dim rows)
{
    ms_tape *tape = model->tape;
    ms_tensor found = ms_nonzero(tape, &l->chosen, false, rows);
    if (ms_idle(tape))
        return;
    const uint64_t one = 1;
    ms_tensor slots = ms_alias(tape, found, MS_SHAPE(rows), &one);
    ms_tensor tokens = ms_alias(tape, found, MS_SHAPE(rows), &one);
    ms_retain(tape, tokens);
    ms_consume(tape, found);
    ms_assign(f, l->slots, slots);
    ms_assign(f, l->tokens, tokens);
    ms_release(tape, tokens);
}

static ms_tensor linear_of(ms_tape *tape, ms_tensor x, ms_tensor stack)
{
    ms_tensor weight = ms_select(tape, stack, 0);
    if (!weight)
        return 0;
    ms_retain(tape, weight); /* an argument */
    ms_tensor out = ms_linear(tape, x, weight, 0);
    ms_release(tape, weight);
    return out;
}

static void run_gated(ms_model *model, const ms_experts_module *m, ms_locals *f, const loop *l)
{
    ms_tape *tape = model->tape;
    ms_tensor halves[2];
    ms_split(tape, linear_of(tape, *l->state, m->gate_up), 1, m->inner, 2, halves);
    ms_retain(tape, halves[1]);
    ms_assign(f, l->gate, halves[0]);
    ms_assign(f, l->up, ms_unown(tape, halves[1]));
    ms_assign(f, l->current, ms_mul(tape, ms_activation_call(model, *l->gate), *l->up));
}

static void run_ungated(ms_model *model, const ms_experts_module *m, ms_locals *f, const loop *l)
{
    ms_assign(f, l->current, linear_of(model->tape, *l->state, m->gate_up));
    ms_assign(f, l->current, ms_activation_call(model, *l->current));
}

static void run_expert(ms_model *model, const ms_experts_module *m, ms_locals *f, const loop *l,
                       ms_dim rows)
{
    ms_tape *tape = model->tape;
    if (!m->form.ungated)
        compare_with_count(tape);
    find_tokens(model, f, l, rows);
    ms_assign(f, l->state, ms_index_rows(tape, *l->hidden, *l->tokens));
    if (m->form.ungated)
        run_ungated(model, m, f, l);
    else
        run_gated(model, m, f, l);
    ms_assign(f, l->current, linear_of(tape, *l->current, m->down));
    if (ms_idle(tape))
        return;
    ms_tensor weights =
        ms_index_pairs(tape, ms_unsqueeze(tape, *l->weights, 2), *l->tokens, *l->slots);
    ms_assign(f, l->current, ms_mul(tape, *l->current, weights));
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *l->result)->dtype;
    ms_assign(f, l->result,
              ms_index_add_into(tape, *l->result, *l->tokens, ms_to(tape, *l->current, dtype)));
}

static uint64_t count_hits(const ms_model *model, uint64_t tokens, uint64_t each, uint64_t count)
{
    uint64_t hits = 0;
    for (uint64_t i = 0; i < count; i++)
        hits += ms_expert_rows(model->run->routing, tokens, each, count, i) > 0;
    return hits;
}

ms_tensor ms_experts_eager(ms_model *model, const ms_experts_module *m, ms_tensor x,
                           const ms_routing *r)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim tokens = ms_info(tape, x)->shape.dims[0];
    ms_dim each = ms_info(tape, r->experts)->shape.dims[1];
    const uint64_t count = m->count.value;
    ms_locals f = ms_locals_begin(tape);
    loop l = {.chosen = MS_SHAPE(each, tokens)};
    l.hidden = ms_argument(&f, x);
    l.weights = ms_local(&f, r->weights);
    const ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const ms_tensor typed = m->form.ungated ? r->weights : x; /* what the result's type is of */
    l.result = ms_local(&f, ms_empty_like(tape, x, (ms_dtype)ms_info(tape, typed)->dtype));
    find_hits(tape, &f, r->experts, m->count, count_hits(model, tokens.value, each.value, count));
    ms_tensor **const locals[] = {&l.slots, &l.tokens, &l.state, &l.gate, &l.up, &l.current};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        *locals[i] = ms_local(&f, 0);
    for (uint64_t i = 0; i < count && !ms_idle(tape); i++) {
        uint64_t rows = ms_expert_rows(model->run->routing, tokens.value, each.value, count, i);
        if (rows > 0)
            run_expert(model, m, &f, &l, ms_dim_number(&tape->trace->symbols, rows));
    }
    if (m->form.ungated && !ms_idle(tape)) { /* final_hidden_states.to(hidden_states.dtype) */
        ms_tensor cast = ms_to(tape, *l.result, dtype);
        ms_retain(tape, cast);
        ms_locals_end(&f, NULL);
        return ms_unown(tape, cast);
    }
    return ms_locals_end(&f, l.result);
}
