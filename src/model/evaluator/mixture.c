/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What texts of mixtures of experts call beside the rows of other models: the experts of a layer,
 * and what a router is made of.
 */

#include "model/blocks/host/host_modules.h"
#include "input/config/model/model_config.h"
#include "model/blocks/rotary_halves.h"
#include "model/decoder/expert_choice.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

#define FUNCTION(name)                                                                             \
    static void name(ms_frame *f, const ms_text_node *call, const ms_tensor *a, ms_results *r)

static bool is_idle(const ms_frame *f, ms_tensor x)
{
    return ms_idle(f->model->tape) || !x;
}

/* ---- shapes of what the block gets and yields ---- */

/* x.view(-1, H); the module remembers the shape of x. */
FUNCTION(run_as_tokens)
{
    (void)call;
    if (!is_idle(f, a[0]))
        f->self->shape = ms_info(f->model->tape, a[0])->shape;
    r->items[0] = ms_as_tokens(f->model, a[0]);
}

FUNCTION(run_as_sequences)
{
    ms_tape *tape = f->model->tape;
    ms_shape shape = f->self->shape;
    (void)call;
    r->items[0] = 0;
    if (is_idle(f, a[0]))
        return;
    shape.dims[2] = ms_info(tape, a[0])->shape.dims[1];
    r->items[0] = ms_reshape(tape, a[0], shape);
}

/* ---- routers ---- */

FUNCTION(run_choose_by_pairs)
{
    (void)call;
    ms_choose_by_pairs(f->model, a[0], a[1], r->items);
}

FUNCTION(run_router_logits)
{
    (void)call, (void)r;
    ms_router_logits_keep(f->model, a[0]);
}

/* What a node of the graph keeps to which no gradient comes, and which goes with its result. */
FUNCTION(run_saved_in_passing)
{
    (void)call, (void)r;
    ms_save_in_passing(f->model->tape, a[0]);
}

/* ---- rotary embeddings with tables of half a head ---- */

FUNCTION(run_rotate_halves)
{
    (void)call;
    if (f->model->run->liger & MS_LIGER_ROPE)
        ms_liger_rope(f->model->tape, a[0], a[1], a[2], a[3], r->items);
    else
        ms_rotary_halves(f->model, a[0], a[1], a[2], a[3], r->items);
}

/* tensors: inverse frequencies, their copy, and those of long sequences once there are some. */
static void make_rotary_halves(const ms_making *m)
{
    ms_rotary_new(m->model, m->scope, 1, &m->part->tensors[0], &m->part->tensors[1]);
    m->part->scope = m->model->tape->trace->scopes.count - 1;
}

static void call_rotary_halves(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    ms_model *m = f->model;
    r->items[0] = r->items[1] = 0;
    if (is_idle(f, a[0]))
        return;
    if (m->config->long_rotary)
        ms_rotary_choose(m, p->scope, p->tensors[1], &p->tensors[2]);
    ms_rotary_half_tables(m, p->scope, p->tensors[0], a[1], (ms_dtype)ms_info(m->tape, a[0])->dtype,
                          r->items);
}

/* ---- buffers and further parameters ---- */

static void make_buffer(const ms_making *m)
{
    const ms_dtype dtype = ms_making_truth(m, 1, false) ? MS_DTYPE_F32 : m->model->run->dtype;
    const ms_shape shape = m->call->items[0] ? MS_SHAPE(ms_making_dim(m, 0)) : (ms_shape){0};
    const uint32_t previous = m->model->tape->scope;
    if (ms_making_truth(m, 2, false)) /* else reports count it as no layer's */
        ms_scope_enter(m->model->tape, m->scope);
    m->part->tensors[0] = ms_buffer_new(m->model, shape, dtype, m->name);
    m->model->tape->scope = previous;
}

static void make_parameter_fp32(const ms_making *m)
{
    const ms_shape shape = MS_SHAPE(ms_making_dim(m, 0), ms_making_dim(m, 1));
    m->part->tensors[0] =
        ms_making_truth(m, 2, true)
            ? ms_parameter_of(m->model, m->scope, m->name, shape, MS_DTYPE_F32)
            : ms_frozen_parameter_of(m->model, m->scope, m->name, shape, MS_DTYPE_F32);
}

/* ---- experts ---- */

/* gate and up alternate; (up + 1) * gate * sigmoid(gate * alpha), both clamped. */
static ms_tensor clamped_gate(ms_model *model, ms_tensor gate_up)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, gate_up);
    ms_tensor *gate = ms_local(&f, ms_slice_every_second(tape, *input));
    ms_tensor *up = ms_local(&f, ms_slice_every_second(tape, *input));
    ms_assign(&f, gate, ms_clamp(tape, *gate, 1));
    ms_assign(&f, up, ms_clamp(tape, *up, 2));
    ms_tensor *glu =
        ms_local(&f, ms_mul(tape, *gate, ms_sigmoid(tape, ms_mul_scalar(tape, *gate))));
    ms_tensor *out = ms_local(&f, ms_mul(tape, ms_add_scalar(tape, *up), *glu));
    return ms_locals_end(&f, out);
}

static void make_stacks(const ms_making *m, bool transposed)
{
    ms_experts_module *experts = ms_arena_array(m->model->arena, ms_experts_module, 1);
    m->part->own = experts;
    if (!experts) {
        ms_tape_fail(m->model->tape, MS_ERR_NOMEM);
        return;
    }
    *experts =
        ms_experts_new(m->model, m->scope,
                       (ms_experts_form){.name = m->name,
                                         .bias = ms_making_truth(m, 3, false),
                                         .transposed = transposed,
                                         .ungated = ms_making_truth(m, 6, false),
                                         .gate = ms_making_truth(m, 5, false) ? clamped_gate : NULL,
                                         .count = ms_making_dim(m, 0),
                                         .width = ms_making_dim(m, 1),
                                         .inner = ms_making_dim(m, 2)});
}

static void make_experts(const ms_making *m)
{
    make_stacks(m, ms_making_truth(m, 4, false));
}

static void make_batched_experts(const ms_making *m)
{
    make_stacks(m, true);
}

/* Rows of all experts, [E * N, H], those of each one after the other, through them. */
static void call_batched_experts(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    ms_model *model = f->model;
    ms_tape *tape = model->tape;
    const ms_experts_module *m = p->own;
    const ms_shape rows = ms_info(tape, a[0])->shape;
    const ms_dim each = ms_dim_number(&tape->trace->symbols, rows.dims[0].value / m->count.value);
    const uint32_t previous = ms_scope_enter(tape, m->scope);
    const ms_fetched fetched = ms_host_fetch_pair(model, m->gate_up, m->down);
    ms_tensor halves[2];
    ms_locals locals = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&locals, a[0]);
    ms_assign(&locals, hidden, ms_view(tape, *hidden, MS_SHAPE(m->count, each, m->width)));
    ms_tensor *gate_up = ms_local(&locals, ms_bmm(tape, *hidden, m->gate_up));
    ms_split(tape, *gate_up, 2, m->inner, 2, halves);
    ms_tensor *gate = ms_local(&locals, halves[0]), *up = ms_local(&locals, halves[1]);
    ms_tensor gated = ms_mul(tape, *up, ms_activation_call(model, *gate));
    ms_tensor *next = ms_local(&locals, ms_bmm(tape, gated, m->down));
    ms_assign(&locals, next, ms_idle(tape) ? 0 : ms_view(tape, *next, rows));
    r->items[0] = ms_locals_end(&locals, next);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
}

static void call_experts(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    r->items[0] =
        ms_experts_call(f->model, p->own, a[0], &(ms_routing){.experts = a[1], .weights = a[2]});
}

/* ---- shapes ---- */

#define FITS(name)                                                                                 \
    static bool name(ms_frame *f, const ms_text_node *node, const ms_text_node *maker,             \
                     const ms_tensor *a)

static uint64_t last(ms_frame *f, ms_tensor tensor)
{
    const ms_shape *shape = &ms_info(f->model->tape, tensor)->shape;
    return shape->rank ? shape->dims[shape->rank - 1].value : 0;
}

static uint32_t rank(ms_frame *f, ms_tensor tensor)
{
    return tensor ? ms_info(f->model->tape, tensor)->shape.rank : 0;
}

FITS(fits_tokens)
{
    (void)maker;
    return rank(f, a[0]) == 2 || rank(f, a[0]) == 3 ||
           ms_check_fail(f, node, a[0], "expected [B, S, width]");
}

FITS(fits_sequences)
{
    const ms_shape *shape = &f->self->shape;
    (void)maker;
    if (shape->rank != 3)
        return ms_check_fail(f, node, a[0], "as_tokens() of the same module must be called first");
    return (rank(f, a[0]) == 2 && ms_info(f->model->tape, a[0])->shape.dims[0].value ==
                                      shape->dims[0].value * shape->dims[1].value) ||
           ms_check_fail(f, node, a[0], "expected as many tokens as as_tokens() got");
}

FITS(fits_pairs)
{
    const ms_model_config *c = f->model->config;
    const uint64_t each = c->expert_groups ? c->num_experts / c->expert_groups : 0;
    (void)maker;
    if (rank(f, a[0]) != 2 || last(f, a[0]) != c->num_experts)
        return ms_check_fail(f, node, a[0],
                             "expected a score of each expert, [B * S, num_experts]");
    if (each < 2 || c->num_experts % c->expert_groups != 0 || c->chosen_groups == 0 ||
        c->chosen_groups > c->expert_groups || c->experts_per_token > each * c->chosen_groups)
        ms_frame_fail(
            f, node,
            "expected n_group groups of two or more experts, of which topk_group have enough");
    return !ms_idle(f->model->tape);
}

FITS(fits_batches)
{
    const uint64_t count = ms_frame_dim(f, maker->items[0]).value;
    return (rank(f, a[0]) == 2 && last(f, a[0]) == ms_frame_dim(f, maker->items[1]).value &&
            ms_info(f->model->tape, a[0])->shape.dims[0].value % count == 0) ||
           ms_check_fail(f, node, a[0], "expected rows for each expert, [count * N, width]");
}

FITS(fits_experts)
{
    if (rank(f, a[0]) != 2 || last(f, a[0]) != ms_frame_dim(f, maker->items[1]).value)
        return ms_check_fail(f, node, a[0], "expected what experts read, [B * S, width]");
    if (f->model->config->experts_per_token > ms_frame_dim(f, maker->items[0]).value) {
        ms_frame_fail(f, node, "there are fewer experts than num_experts_per_tok says");
        return false;
    }
    for (int i = 1; i < 3; i++)
        if (rank(f, a[i]) != 2 || ms_info(f->model->tape, a[i])->shape.dims[0].value !=
                                      ms_info(f->model->tape, a[0])->shape.dims[0].value)
            return ms_check_fail(f, node, a[i], "expected each token's experts, [B * S, K]");
    return true;
}

/* ---- rows ---- */

static const ms_primitive rows[] = {
    {.name = "as_tokens",
     .fits = fits_tokens,
     .parameters = "x",
     .types = "t",
     .results = 1,
     .run = run_as_tokens},
    {.name = "as_sequences",
     .fits = fits_sequences,
     .parameters = "x",
     .types = "t",
     .results = 1,
     .run = run_as_sequences},
    {.name = "rotate_halves",
     .shape = MS_SHAPE_ROTATE,
     .parameters = "query key cos sin",
     .types = "tttt",
     .results = 2,
     .run = run_rotate_halves},
    {.name = "rotary_halves",
     .shape = MS_SHAPE_TABLES,
     .parameters = "",
     .types = "",
     .results = 2,
     .make = make_rotary_halves,
     .call = call_rotary_halves,
     .call_types = "tt"},
    {.name = "choose_by_pairs",
     .fits = fits_pairs,
     .parameters = "scores bias",
     .types = "tt",
     .results = MS_CHOICE_VALUES,
     .run = run_choose_by_pairs},
    {.name = "saved_in_passing", .parameters = "x", .types = "t", .run = run_saved_in_passing},
    {.name = "router_logits", .parameters = "x", .types = "t", .run = run_router_logits},
    {.name = "buffer",
     .parameters = "size fp32 of_layer",
     .types = "|dnn",
     .results = 1,
     .make = make_buffer},
    {.name = "parameter_fp32",
     .parameters = "size size2 trained",
     .types = "dd|n",
     .results = 1,
     .make = make_parameter_fp32},
    {.name = "batched_experts",
     .fits = fits_batches,
     .parameters = "count width inner",
     .types = "ddd",
     .results = 1,
     .make = make_batched_experts,
     .call = call_batched_experts,
     .call_types = "t"},
    {.name = "experts",
     .fits = fits_experts,
     .parameters = "count width inner bias transposed clamped ungated",
     .types = "ddd|nnnn",
     .results = 1,
     .make = make_experts,
     .call = call_experts,
     .call_types = "ttt"},
};

const ms_primitive_list ms_mixture_rows = {rows, sizeof rows / sizeof *rows};
