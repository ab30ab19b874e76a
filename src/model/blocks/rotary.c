/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Positions and the rotary embedding.
 */
#include "model/blocks/rotary.h"

#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

ms_tensor ms_position_ids(ms_model *model)
{
    ms_tape *tape = model->tape;
    if (model->position_ids)
        return model->position_ids;
    ms_tensor range = ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64);
    return ms_unsqueeze(tape, ms_add_scalar(tape, range), 0);
}

void ms_rotary_choose(ms_model *model, uint32_t scope, ms_tensor original, ms_tensor *long_inv_freq)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *length = ms_local(&f, ms_add_scalar(tape, ms_empty_bytes(tape, 8, MS_DTYPE_I64)));
    if (!*long_inv_freq) {
        *long_inv_freq =
            ms_inverse_frequencies(model, ms_dim_half(&tape->trace->symbols, model->rotary_dim));
        ms_retain(tape, *long_inv_freq);
        ms_name_storage(tape, *long_inv_freq, "long_inv_freq", MS_CATEGORY_BUFFER);
    }
    ms_tensor is_long = ms_compare(tape, *length, 0);
    ms_tensor as_long = ms_to(tape, original, MS_DTYPE_F32);
    ms_local(&f, ms_empty_like(tape, *long_inv_freq, MS_DTYPE_F32)); /* copied into the buffer */
    ms_consume(tape, as_long);
    ms_consume(tape, is_long);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
}

void ms_rotary_enter(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                     ms_rotary_module *rotary)
{
    ms_tape *tape = model->tape;
    rotary->outer_grad = tape->grad_enabled;
    rotary->outer_scope = ms_scope_enter(tape, scope);
    tape->grad_enabled = false;
    rotary->frame = ms_locals_begin(tape);
    ms_tensor positions = ms_to(tape, ms_unsqueeze(tape, position_ids, 2), MS_DTYPE_F32);
    ms_tensor frequencies = ms_to(tape, inv_freq, MS_DTYPE_F32);
    rotary->angles = ms_local(&rotary->frame, ms_mul(tape, positions, frequencies));
}

void ms_rotary_leave(ms_model *model, const ms_rotary_module *rotary)
{
    model->tape->grad_enabled = rotary->outer_grad;
    model->tape->scope = rotary->outer_scope;
}

void ms_rotary_call(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                    ms_dtype dtype, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_rotary_module rotary;
    ms_rotary_enter(model, scope, inv_freq, position_ids, &rotary);
    ms_locals *f = &rotary.frame;
    ms_tensor *emb = ms_local(f, ms_cat2(tape, *rotary.angles, *rotary.angles, 2));
    ms_tensor *cos = ms_local(f, ms_mul_scalar(tape, ms_cos(tape, *emb)));
    ms_tensor *sin = ms_local(f, ms_mul_scalar(tape, ms_sin(tape, *emb)));
    out[0] = ms_to(tape, *cos, dtype);
    out[1] = ms_to(tape, *sin, dtype);
    ms_retain(tape, out[0]);
    ms_retain(tape, out[1]);
    ms_locals_end(f, NULL);
    ms_unown(tape, out[0]);
    ms_unown(tape, out[1]);
    ms_rotary_leave(model, &rotary);
}

ms_tensor ms_rotary_turns(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                          ms_tensor position_ids)
{
    ms_rotary_module rotary;
    ms_rotary_enter(model, scope, inv_freq, position_ids, &rotary);
    ms_locals *f = &rotary.frame;
    ms_tensor *turns = ms_local(f, ms_polar(model->tape, *rotary.angles));
    ms_assign(f, turns, ms_mul_scalar(model->tape, *turns));
    ms_tensor out = ms_locals_end(f, turns);
    ms_rotary_leave(model, &rotary);
    return out;
}

/* Of three grids, the first with parts of the others: frequencies twice. */
static ms_tensor recomposed(ms_tape *tape, ms_tensor grids)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, grids);
    ms_tensor *first = ms_local(&f, ms_select(tape, *input, 0));
    ms_tensor out = ms_cat2(tape, *first, *first, 2);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* Of three grids, sections of each in turn, joined: frequencies twice. */
static ms_tensor joined(ms_tape *tape, ms_tensor grids)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, grids);
    ms_tensor *first = ms_local(&f, ms_select(tape, *input, 0));
    ms_tensor lower = ms_slice_half(tape, *first, false);
    ms_tensor upper = ms_slice_half(tape, *first, true);
    ms_tensor *whole = ms_local(&f, ms_cat2(tape, lower, upper, 2)); /* however many sections */
    ms_tensor out = ms_cat2(tape, *whole, *whole, 2);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

typedef ms_tensor (*recompose_fn)(ms_tape *tape, ms_tensor grids);

static void tables_of_grids(ms_model *model, recompose_fn recompose, uint32_t scope,
                            ms_tensor inv_freq, ms_tensor position_ids, ms_dtype dtype,
                            ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    uint32_t previous = ms_scope_enter(tape, scope);
    tape->grad_enabled = false;
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor grids = ms_expand(tape, position_ids, MS_SHAPE(three, model->batch, model->seq));
    ms_tensor positions = ms_to(tape, ms_unsqueeze(tape, grids, 3), MS_DTYPE_F32);
    ms_tensor frequencies = ms_to(tape, inv_freq, MS_DTYPE_F32);
    ms_tensor *angles = ms_local(&f, ms_mul(tape, positions, frequencies));
    ms_tensor *cos = ms_local(&f, ms_mul_scalar(tape, ms_cos(tape, *angles)));
    ms_tensor *sin = ms_local(&f, ms_mul_scalar(tape, ms_sin(tape, *angles)));
    ms_assign(&f, sin, recompose(tape, *sin));
    ms_assign(&f, cos, recompose(tape, *cos));
    out[0] = ms_to(tape, *cos, dtype);
    out[1] = ms_to(tape, *sin, dtype);
    ms_retain(tape, out[0]);
    ms_retain(tape, out[1]);
    ms_locals_end(&f, NULL);
    ms_unown(tape, out[0]);
    ms_unown(tape, out[1]);
    tape->grad_enabled = grad_enabled;
    tape->scope = previous;
}

void ms_rotary_of_grids(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                        ms_dtype dtype, ms_tensor out[2])
{
    tables_of_grids(model, recomposed, scope, inv_freq, position_ids, dtype, out);
}

void ms_rotary_of_sections(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                           ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2])
{
    tables_of_grids(model, joined, scope, inv_freq, position_ids, dtype, out);
}

static ms_tensor rotate_half(ms_tape *tape, ms_tensor x)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *lower = ms_local(&f, ms_slice_half(tape, x, false));
    ms_tensor *upper = ms_local(&f, ms_slice_half(tape, x, true));
    ms_tensor *rotated = ms_local(&f, ms_cat2(tape, ms_neg(tape, *upper), *lower, 3));
    return ms_locals_end(&f, rotated);
}

/* x[..., 0::2] and x[..., 1::2] change places, one negated. */
static ms_tensor rotate_pairs(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_shape shape = ms_info(tape, x)->shape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *even = ms_local(&f, ms_slice_every_second(tape, x));
    ms_tensor *odd = ms_local(&f, ms_slice_every_second(tape, x));
    ms_tensor stacked = ms_stack_last(tape, ms_neg(tape, *odd), *even);
    ms_tensor *rotated = ms_local(&f, ms_view(tape, stacked, shape));
    return ms_locals_end(&f, rotated);
}

typedef ms_tensor (*rotate_fn)(ms_tape *tape, ms_tensor x);

/* x * cos + rotate(x) * sin; `x` is the caller's local. */
static ms_tensor turn(ms_tape *tape, rotate_fn rotate, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    ms_tensor plain = ms_mul(tape, x, cos);
    ms_tensor turned = ms_mul(tape, rotate(tape, x), sin);
    return ms_add(tape, plain, turned);
}

void ms_return_both(ms_locals *f, ms_tensor first, ms_tensor second, ms_tensor out[2])
{
    out[0] = f->tape->stopped ? 0 : first;
    out[1] = f->tape->stopped ? 0 : second;
    ms_retain(f->tape, out[0]);
    ms_retain(f->tape, out[1]);
    ms_locals_end(f, NULL);
    ms_unown(f->tape, out[0]);
    ms_unown(f->tape, out[1]);
}

void ms_rotary_whole(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn(tape, rotate_half, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, rotate_half, k, *c, *s));
    ms_return_both(&f, *q_embed, *k_embed, out);
}

void ms_rotary_whole_cast(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !q || !k) {
        out[0] = out[1] = 0;
        return;
    }
    ms_dtype q_dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_dtype k_dtype = (ms_dtype)ms_info(tape, k)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn(tape, rotate_half, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, rotate_half, k, *c, *s));
    ms_tensor cast_q = ms_to(tape, *q_embed, q_dtype);
    ms_return_both(&f, cast_q, ms_to(tape, *k_embed, k_dtype), out);
}

/* x.float() * cos + rotate_half(x.float()) * sin; `x` is the caller's local. */
static ms_tensor turn_widened(ms_tape *tape, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    ms_tensor plain = ms_mul(tape, ms_to(tape, x, MS_DTYPE_F32), cos);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *wide = ms_local(&f, ms_to(tape, x, MS_DTYPE_F32));
    ms_tensor *rotated = ms_local(&f, rotate_half(tape, *wide));
    ms_tensor turned = ms_locals_end(&f, rotated);
    return ms_add(tape, plain, ms_mul(tape, turned, sin));
}

void ms_rotary_whole_wide(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !q || !k)
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn_widened(tape, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn_widened(tape, k, *c, *s));
    ms_tensor cast_q = ms_to(tape, *q_embed, dtype);
    ms_return_both(&f, cast_q, ms_to(tape, *k_embed, dtype), out);
}

/* x.float() * cos + rotate(x).float() * sin; `x` is the caller's local. */
static ms_tensor turn_in_fp32(ms_tape *tape, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    ms_tensor plain = ms_mul(tape, ms_to(tape, x, MS_DTYPE_F32), cos);
    ms_tensor rotated = ms_to(tape, rotate_pairs(tape, x), MS_DTYPE_F32);
    return ms_add(tape, plain, ms_mul(tape, rotated, sin));
}

/* table[..., : R / 2].repeat_interleave(2, dim=-1), of a table [1 or B, 1, S, R] */
static ms_tensor repeat_interleave(ms_model *model, ms_tensor table)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !table)
        return 0;
    ms_tensor half = ms_slice_half(tape, table, false);
    ms_shape shape = ms_info(tape, table)->shape;
    shape.dims[shape.rank - 1] = model->rotary_dim;
    ms_tensor repeated = ms_empty(tape, shape, ms_info(tape, half)->dtype);
    ms_consume(tape, half);
    return repeated;
}

void ms_rotary_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !q || !k) {
        out[0] = out[1] = 0;
        return;
    }
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *query = ms_local(&f, ms_to(tape, q, MS_DTYPE_F32));
    ms_tensor *key = ms_local(&f, ms_to(tape, k, MS_DTYPE_F32));
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn(tape, rotate_pairs, *query, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, rotate_pairs, *key, *c, *s));
    ms_tensor cast_q = ms_to(tape, *q_embed, dtype);
    ms_return_both(&f, cast_q, ms_to(tape, *k_embed, dtype), out);
}

void ms_rotary_repeated_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                                   ms_tensor sin, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !q || !k) {
        out[0] = out[1] = 0;
        return;
    }
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_assign(&f, c, repeat_interleave(model, *c));
    ms_assign(&f, s, repeat_interleave(model, *s));
    ms_tensor *q_embed = ms_local(&f, turn_in_fp32(tape, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn_in_fp32(tape, k, *c, *s));
    ms_tensor cast_q = ms_to(tape, *q_embed, dtype);
    ms_return_both(&f, cast_q, ms_to(tape, *k_embed, dtype), out);
}

/* ---- the first R elements of each head; the others pass ---- */

typedef enum joining { JOIN_AT_ONCE, JOIN_AT_THE_END } joining;

static void turn_parts(ms_model *model, rotate_fn rotate, joining join, ms_locals *f,
                       const ms_tensor q_k[2], const ms_tensor cos_sin[2], ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_dim turned = model->rotary_dim;
    ms_dim passing = ms_dim_rest(&tape->trace->symbols, model->head_dim, turned);
    ms_tensor *turning[2], *pass[2], *embed[2];
    for (int i = 0; i < 2; i++) {
        turning[i] = ms_local(f, ms_slice_last(tape, q_k[i], turned));
        pass[i] = ms_local(f, ms_slice_last(tape, q_k[i], passing));
    }
    for (int i = 0; i < 2; i++) {
        embed[i] = ms_local(f, turn(tape, rotate, *turning[i], cos_sin[0], cos_sin[1]));
        if (join == JOIN_AT_ONCE)
            ms_assign(f, embed[i], ms_cat2(tape, *embed[i], *pass[i], 3));
    }
    for (int i = 0; i < 2 && join == JOIN_AT_THE_END; i++)
        ms_assign(f, embed[i], ms_cat2(tape, *embed[i], *pass[i], 3));
    ms_return_both(f, *embed[0], *embed[1], out);
}

static void turn_halves(ms_model *model, joining join, const ms_tensor q_k[2], ms_tensor cos,
                        ms_tensor sin, ms_tensor out[2])
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(model->tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(model->tape, sin, 1));
    turn_parts(model, rotate_half, join, &f, q_k, (ms_tensor[]){*c, *s}, out);
}

void ms_rotary_part(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                    ms_tensor out[2])
{
    turn_halves(model, JOIN_AT_THE_END, (ms_tensor[]){q, k}, cos, sin, out);
}

void ms_rotary_part_at_once(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                            ms_tensor out[2])
{
    turn_halves(model, JOIN_AT_ONCE, (ms_tensor[]){q, k}, cos, sin, out);
}

void ms_rotary_pairs(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2])
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *c = ms_local(&f, repeat_interleave(model, ms_unsqueeze(model->tape, cos, 1)));
    ms_tensor *s = ms_local(&f, repeat_interleave(model, ms_unsqueeze(model->tape, sin, 1)));
    turn_parts(model, rotate_pairs, JOIN_AT_THE_END, &f, (ms_tensor[]){q, k}, (ms_tensor[]){*c, *s},
               out);
}

void ms_rotary_around(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                      ms_tensor cos, ms_tensor sin)
{
    ms_tape *tape = model->tape;
    ms_dim turned = model->rotary_dim;
    ms_dim passing = ms_dim_rest(&tape->trace->symbols, model->head_dim, turned);
    ms_tensor *q_turning = ms_local(f, ms_slice_last(tape, *query, turned));
    ms_tensor *q_pass = ms_local(f, ms_slice_last(tape, *query, passing));
    ms_tensor *k_turning = ms_local(f, ms_slice_last(tape, *key, turned));
    ms_tensor *k_pass = ms_local(f, ms_slice_last(tape, *key, passing));
    ms_tensor out[2];
    ms_rotary_whole(model, *q_turning, *k_turning, cos, sin, out);
    ms_assign(f, q_turning, out[0]);
    ms_assign(f, k_turning, out[1]);
    ms_assign(f, query, ms_cat2(tape, *q_turning, *q_pass, 3));
    ms_assign(f, key, ms_cat2(tape, *k_turning, *k_pass, 3));
}
