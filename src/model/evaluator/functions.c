/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions that a text may call.
 */
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/blocks/attention/masks.h"
#include "model/blocks/cache.h"
#include "model/blocks/images.h"
#include "model/blocks/packed/quantized.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/ops.h"

#define FUNCTION(name)                                                                             \
    static void name(ms_frame *f, const ms_text_node *call, const ms_tensor *a, ms_results *r)

/* For functions of one tensor. */
#define OF_ONE(name, value)                                                                        \
    FUNCTION(name)                                                                                 \
    {                                                                                              \
        (void)call;                                                                                \
        r->items[0] = value(f->model->tape, a[0]);                                                 \
    }

static bool is_idle(const ms_frame *f, ms_tensor x)
{
    return ms_idle(f->model->tape) || !x;
}

static ms_dtype dtype_of(const ms_frame *f, ms_tensor x)
{
    return (ms_dtype)ms_info(f->model->tape, x)->dtype;
}

/* ---- positions and masks ---- */

FUNCTION(run_positions)
{
    (void)call, (void)a;
    r->items[0] = ms_position_ids(f->model);
}

/* arange(S)[None], which a stage of a pipeline makes itself. */
FUNCTION(run_arange)
{
    (void)call, (void)a;
    ms_model *m = f->model;
    r->items[0] = ms_unsqueeze(m->tape, ms_empty(m->tape, MS_SHAPE(m->seq), MS_DTYPE_I64), 0);
}

FUNCTION(run_causal_mask)
{
    (void)call;
    r->items[0] = ms_causal_mask(f->model, a[0], false);
}

FUNCTION(run_sliding_mask)
{
    (void)call;
    r->items[0] = ms_causal_mask(f->model, a[0], true);
}

FUNCTION(run_full_mask)
{
    (void)call, (void)a;
    r->items[0] = ms_full_mask(f->model);
}

/* where(mask, 0, lowest) */
FUNCTION(run_additive_mask)
{
    ms_model *m = f->model;
    (void)call, (void)a;
    r->items[0] =
        ms_additive_mask(m->tape, m->batch, m->seq, ms_cache_keys(m, 0), ms_unpacked_dtype(m));
}

/* ---- attention ---- */

FUNCTION(run_view_heads)
{
    ms_model *m = f->model;
    const ms_dim heads = ms_frame_dim(f, call->items[1]);
    const ms_dim width = call->items[2] ? ms_frame_dim(f, call->items[2]) : m->head_dim;
    r->items[0] = ms_view(m->tape, a[0], MS_SHAPE(m->batch, m->seq, heads, width));
}

FUNCTION(run_split_heads)
{
    r->items[0] = ms_as_heads(f->model, a[0], ms_frame_dim(f, call->items[1]));
}

FUNCTION(run_merge_heads)
{
    ms_model *m = f->model;
    const ms_dim head = is_idle(f, a[0]) ? m->head_dim : ms_info(m->tape, a[0])->shape.dims[3];
    ms_dim width = ms_dim_mul(&m->tape->trace->symbols, m->heads, head);
    if (call->items[1])
        width = ms_frame_dim(f, call->items[1]);
    r->items[0] = ms_reshape(m->tape, a[0], MS_SHAPE(m->batch, m->seq, width));
}

static void rotate(ms_frame *f, const ms_tensor *a, ms_results *r, ms_rotary_fn rotary)
{
    if (f->model->run->liger & MS_LIGER_ROPE)
        ms_liger_rope(f->model->tape, a[0], a[1], a[2], a[3], r->items);
    else
        rotary(f->model, a[0], a[1], a[2], a[3], r->items);
}

#define ROTATION(name, rotary)                                                                     \
    FUNCTION(name)                                                                                 \
    {                                                                                              \
        (void)call;                                                                                \
        rotate(f, a, r, rotary);                                                                   \
    }
ROTATION(run_rotate_half, ms_rotary_whole)
ROTATION(run_rotate_half_cast, ms_rotary_whole_cast)
ROTATION(run_rotate_half_wide, ms_rotary_whole_wide)
ROTATION(run_rotate_part, ms_rotary_part)
ROTATION(run_rotate_part_at_once, ms_rotary_part_at_once)
ROTATION(run_rotate_pairs, ms_rotary_pairs)
ROTATION(run_rotate_pairs_fp32, ms_rotary_pairs_fp32)
ROTATION(run_rotate_repeated_pairs_fp32, ms_rotary_repeated_pairs_fp32)

FUNCTION(run_rotate_around)
{
    (void)r;
    ms_rotary_around(f->model, &f->locals, ms_frame_local(f, call->items[0]),
                     ms_frame_local(f, call->items[1]), a[2], a[3]);
}

/* query * (1 + beta * log(1 + floor(positions / original length))), as [1, 1, S, 1] */
FUNCTION(run_scale_by_positions)
{
    ms_tape *tape = f->model->tape;
    (void)call;
    r->items[0] = 0;
    if (is_idle(f, a[0]))
        return;
    const ms_tensor length = ms_floor(tape, ms_to(tape, a[1], MS_DTYPE_F32));
    const ms_tensor log = ms_mul_scalar(tape, ms_log(tape, ms_add_scalar(tape, length)));
    const ms_tensor scale = ms_unsqueeze(tape, ms_unsqueeze(tape, ms_add_scalar(tape, log), 1), 3);
    r->items[0] = ms_mul(tape, a[0], ms_to(tape, scale, dtype_of(f, a[0])));
}

FUNCTION(run_cache_update)
{
    (void)a, (void)r;
    ms_cache_append(f->model, &f->locals, f->self->number, ms_frame_local(f, call->items[0]),
                    ms_frame_local(f, call->items[1]));
}

FUNCTION(run_attention)
{
    (void)call;
    r->items[1] = 0;
    r->items[0] =
        ms_attention_call(f->model, f->self->number, a[0], a[1], a[2], a[3], &r->items[1]);
}

/* A mask whose rows do not lie side by side is none that fused kernels take; a learned one has
 * back ends of its own. */
static ms_attention choose_backend(const ms_model *m, ms_tensor mask)
{
    const ms_tensor_info *info = ms_info(m->tape, mask);
    if (info->shape.rank > 0 && info->strides[info->shape.rank - 1] > 1)
        return MS_ATTENTION_MATH;
    return ms_needs_grad(m->tape, mask) ? ms_attention_choose_learned(m->config, m->run)
                                        : m->backends[0].masked;
}

FUNCTION(run_scaled_attention)
{
    ms_model *m = f->model;
    const ms_attention backend =
        f->self->is_of_tower ? (a[3] ? ms_tower_backends(m).masked : ms_tower_backends(m).plain)
        : a[3] && !ms_idle(m->tape) ? choose_backend(m, a[3])
                                    : m->attention;
    const double dropout = ms_frame_number(f, call->items[4], 0);
    if (a[3] || ms_frame_number(f, call->items[5], 0) > 0)
        r->items[0] = ms_sdpa(m->tape, backend, a[0], a[1], a[2], a[3], dropout);
    else
        r->items[0] = ms_sdpa_both_ways(m->tape, backend, a[0], a[1], a[2], dropout);
}

FUNCTION(run_sink_attention)
{
    (void)call;
    r->items[1] = 0;
    r->items[0] = ms_sink_attention(f->model, a[0], a[1], a[2], a[3], a[4], &r->items[1]);
}

/* The head's product, as a stage of a pipeline yields it. */
FUNCTION(run_logits)
{
    const ms_family_program *p = f->model->modules;
    r->items[0] = 0;
    if (p->head)
        r->items[0] = ms_linear_call(f->model, &p->head->linear, a[0]);
    else
        ms_frame_fail(f, call, "the class has no head");
}

/* ---- the MLP ---- */

/* The config's hidden_act, or that of another key. */
FUNCTION(run_activation)
{
    if (call->items[1])
        r->items[0] =
            ms_activate(f->model->tape, (ms_activation)ms_frame_number(f, call->items[1], 0), a[0]);
    else
        r->items[0] = ms_activation_call(f->model, a[0]);
}

FUNCTION(run_activation_of_head)
{
    (void)call;
    r->items[0] = ms_activate(f->model->tape, f->model->config->head_activation, a[0]);
}

FUNCTION(run_liger_gate)
{
    (void)call;
    r->items[0] = ms_liger_gate(f->model->tape, a[0], a[1],
                                f->model->config->activation != MS_ACTIVATION_SILU);
}

FUNCTION(run_dropout)
{
    r->items[0] = ms_dropout(f->model->tape, a[0], ms_frame_number(f, call->items[1], 0));
}

/* ---- shapes ---- */

FUNCTION(run_slice_last)
{
    r->items[0] = ms_slice_last(f->model->tape, a[0], ms_frame_dim(f, call->items[1]));
}

FUNCTION(run_to_fp32)
{
    (void)call;
    r->items[0] = ms_to(f->model->tape, a[0], MS_DTYPE_F32);
}

FUNCTION(run_to_type_of)
{
    (void)call;
    r->items[0] = is_idle(f, a[0]) || !a[1] ? 0 : ms_to(f->model->tape, a[0], dtype_of(f, a[1]));
}

/* ---- one operator each ---- */

OF_ONE(run_silu, ms_silu)
OF_ONE(run_gelu, ms_gelu)
OF_ONE(run_relu, ms_relu)
OF_ONE(run_bloom_gelu, ms_bloom_gelu)
OF_ONE(run_tanh, ms_tanh)
OF_ONE(run_sigmoid, ms_sigmoid)
OF_ONE(run_softplus, ms_softplus)
OF_ONE(run_exp, ms_exp)
OF_ONE(run_rsqrt, ms_rsqrt)
OF_ONE(run_square, ms_pow)
OF_ONE(run_contiguous, ms_contiguous)
OF_ONE(run_clone, ms_clone)
OF_ONE(run_negative, ms_neg)

enum { ANY = MS_RESULTS_WANTED };

static const ms_primitive functions[] = {
    {.name = "positions",
     .shape = MS_SHAPE_POSITIONS,
     .parameters = "",
     .types = "",
     .results = 1,
     .run = run_positions},
    {.name = "arange_positions",
     .shape = MS_SHAPE_POSITIONS,
     .parameters = "",
     .types = "",
     .results = 1,
     .run = run_arange},
    {.name = "causal_mask",
     .shape = MS_SHAPE_MASK,
     .parameters = "position_ids",
     .types = "t",
     .results = 1,
     .run = run_causal_mask},
    {.name = "sliding_mask",
     .shape = MS_SHAPE_MASK,
     .parameters = "position_ids",
     .types = "t",
     .results = 1,
     .run = run_sliding_mask},
    {.name = "view_heads",
     .shape = MS_SHAPE_VIEW_HEADS,
     .parameters = "x heads width",
     .types = "td|d",
     .results = 1,
     .run = run_view_heads},
    {.name = "split_heads",
     .shape = MS_SHAPE_SPLIT_HEADS,
     .parameters = "x heads",
     .types = "td",
     .results = 1,
     .run = run_split_heads},
    {.name = "merge_heads",
     .shape = MS_SHAPE_MERGE_HEADS,
     .parameters = "x width",
     .types = "t|d",
     .results = 1,
     .run = run_merge_heads},
    {.name = "cache_update",
     .shape = MS_SHAPE_CACHE,
     .parameters = "key value",
     .types = "ll",
     .results = 0,
     .run = run_cache_update},
    {.name = "attention",
     .shape = MS_SHAPE_ATTENTION,
     .parameters = "query key value mask",
     .types = "tttt",
     .results = 2,
     .run = run_attention},
    {.name = "full_mask",
     .shape = MS_SHAPE_POSITIONS,
     .parameters = "",
     .types = "",
     .results = 1,
     .run = run_full_mask},
    {.name = "additive_mask",
     .shape = MS_SHAPE_POSITIONS,
     .parameters = "",
     .types = "",
     .results = 1,
     .run = run_additive_mask},
    {.name = "scaled_dot_product_attention",
     .shape = MS_SHAPE_ATTENTION,
     .parameters = "query key value attn_mask dropout_p is_causal",
     .types = "tttt|nn",
     .results = 1,
     .run = run_scaled_attention},
    {.name = "sink_attention",
     .shape = MS_SHAPE_ATTENTION,
     .parameters = "query key value mask sinks",
     .types = "ttttt",
     .results = 2,
     .run = run_sink_attention},
#define ROTATES(name_, run_)                                                                       \
    {                                                                                              \
        .name = name_, .shape = MS_SHAPE_ROTATE, .parameters = "query key cos sin",                \
        .types = "tttt", .results = 2, .run = run_                                                 \
    }
    ROTATES("rotate_half", run_rotate_half),
    ROTATES("rotate_half_cast", run_rotate_half_cast),
    ROTATES("rotate_half_wide", run_rotate_half_wide),
    ROTATES("rotate_part", run_rotate_part),
    ROTATES("rotate_part_at_once", run_rotate_part_at_once),
    ROTATES("rotate_pairs", run_rotate_pairs),
    ROTATES("rotate_pairs_fp32", run_rotate_pairs_fp32),
    ROTATES("rotate_repeated_pairs_fp32", run_rotate_repeated_pairs_fp32),
    {.name = "rotate_around",
     .shape = MS_SHAPE_ROTATE,
     .parameters = "query key cos sin",
     .types = "lltt",
     .results = 0,
     .run = run_rotate_around},
    {.name = "scale_by_positions",
     .shape = MS_SHAPE_SCALE,
     .parameters = "query position_ids",
     .types = "tt",
     .results = 1,
     .run = run_scale_by_positions},
    {.name = "logits",
     .shape = MS_SHAPE_LOGITS,
     .parameters = "x",
     .types = "t",
     .results = 1,
     .run = run_logits},
    {.name = "activation",
     .parameters = "x key",
     .types = "t|n",
     .results = 1,
     .run = run_activation},
    {.name = "liger_gate",
     .shape = MS_SHAPE_GATE,
     .parameters = "gate up",
     .types = "tt",
     .results = 1,
     .run = run_liger_gate},
    {.name = "dropout", .parameters = "x p", .types = "tn", .results = 1, .run = run_dropout},
    {.name = "slice_last",
     .shape = MS_SHAPE_SLICE,
     .parameters = "x width",
     .types = "td",
     .results = 1,
     .run = run_slice_last},
    {.name = "to_fp32", .parameters = "x", .types = "t", .results = 1, .run = run_to_fp32},
    {.name = "to_type_of",
     .parameters = "x other",
     .types = "tt",
     .results = 1,
     .run = run_to_type_of},
#define OPERATES(name_, run_)                                                                      \
    {                                                                                              \
        .name = name_, .parameters = "x", .types = "t", .results = 1, .run = run_                  \
    }
    OPERATES("activation_of_head", run_activation_of_head),
    OPERATES("silu", run_silu),
    OPERATES("gelu", run_gelu),
    OPERATES("relu", run_relu),
    OPERATES("bloom_gelu", run_bloom_gelu),
    OPERATES("tanh", run_tanh),
    OPERATES("sigmoid", run_sigmoid),
    OPERATES("softplus", run_softplus),
    OPERATES("exp", run_exp),
    OPERATES("rsqrt", run_rsqrt),
    OPERATES("square", run_square),
    OPERATES("contiguous", run_contiguous),
    OPERATES("clone", run_clone),
    OPERATES("negative", run_negative),
};

const ms_primitive_list ms_function_rows = {functions, sizeof functions / sizeof *functions};
