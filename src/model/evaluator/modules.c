/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The modules that a text may make beside its own classes.
 */
#include <string.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/host/host_modules.h"
#include "model/blocks/powered_norm.h"
#include "model/blocks/rotary_proportional.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

#define CALL(name)                                                                                 \
    static void name(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)

static uint32_t last_scope(const ms_model *model)
{
    return model->tape->trace->scopes.count - 1;
}

/* ---- linear layers ---- */

static void make_linear(const ms_making *m)
{
    m->part->linear = ms_linear_new(m->model, m->scope, m->name, ms_making_dim(m, 0),
                                    ms_making_dim(m, 1), ms_making_truth(m, 2, true));
}

CALL(call_linear)
{
    r->items[0] = ms_linear_call(f->model, &p->linear, a[0]);
}

/* x @ weight.T, and the bias added by an operator of its own. Of a view autocast keeps no cast. */
static ms_tensor times_transposed(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    if (ms_idle(tape)) {
        ms_consume(tape, x);
        return 0;
    }
    const ms_tensor out =
        ms_linear(tape, x, ms_view(tape, weight, ms_info(tape, weight)->shape), 0);
    if (!bias)
        return out;
    ms_retain(tape, out);
    const ms_tensor sum = ms_add(tape, out, bias);
    ms_release(tape, out);
    return sum;
}

CALL(call_linear_apart)
{
    r->items[0] = ms_linear_call_by(f->model, &p->linear, a[0], times_transposed);
}

/* A router whose call yields its scores too, which an adapter takes for one tensor. */
static void make_linear_router(const ms_making *m)
{
    m->part->linear =
        ms_linear_new(m->model, m->scope, m->name, ms_making_dim(m, 0), ms_making_dim(m, 1), false);
    if (m->model->leaves.count > 0)
        m->model->leaves.items[m->model->leaves.count - 1].has_two_results = true;
}

static void make_conv1d(const ms_making *m)
{
    m->part->linear =
        ms_conv1d_new(m->model, m->scope, m->name, ms_making_dim(m, 0), ms_making_dim(m, 1));
}

CALL(call_conv1d)
{
    r->items[0] = ms_conv1d_call(f->model, &p->linear, a[0]);
}

/* ---- norms ---- */

/* Norms of a model that stand beside its layers, and those of attention, are Liger's own cases. */
static ms_liger_norm place_of(const ms_making *m)
{
    return m->self->is_of_tower                    ? (ms_liger_norm)0
           : m->self->number == MS_NONE            ? MS_LIGER_NORM_LAST
           : m->self->klass->role == MS_ROLE_MIXER ? MS_LIGER_NORM_OF_HEADS
                                                   : (ms_liger_norm)0;
}

static void make_norm(const ms_making *m, bool bias)
{
    const ms_dim width = ms_making_dim(m, 0);
    ms_shape shape = MS_SHAPE(width);
    if (m->call->count > 1 && m->call->items[1])
        shape = MS_SHAPE(ms_making_dim(m, 1), width);
    m->part->norm = ms_shaped_norm_new(m->model, m->scope, m->name, shape, bias);
    m->part->norm.place = place_of(m);
}

static void make_rms_norm(const ms_making *m)
{
    make_norm(m, false);
}

static void make_layer_norm(const ms_making *m)
{
    if (!ms_making_truth(m, 2, true))
        m->part->norm.scope = ms_scope_add(m->model->tape, m->scope, m->name, MS_NONE);
    else if (ms_making_truth(m, 3, true))
        make_norm(m, true);
    else
        m->part->norm = ms_layer_norm_new(m->model, m->scope, m->name, ms_making_dim(m, 0), false);
}

CALL(call_rms_norm)
{
    r->items[0] = ms_rms_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_half_cast_rms_norm)
{
    r->items[0] = ms_half_cast_rms_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_fp32_rms_norm)
{
    r->items[0] = ms_fp32_rms_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_widened_rms_norm)
{
    r->items[0] = ms_widened_rms_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_weight_last_rms_norm)
{
    r->items[0] = ms_rms_norm_weight_last_call(f->model, &p->norm, a[0]);
}

CALL(call_centered_rms_norm)
{
    r->items[0] = ms_centered_rms_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_fp32_layer_norm)
{
    r->items[0] = ms_fp32_layer_norm_call(f->model, &p->norm, a[0]);
}

static void make_powered_rms_norm(const ms_making *m)
{
    if (ms_making_truth(m, 2, true))
        make_norm(m, false);
    else
        m->part->norm.scope = ms_scope_add(m->model->tape, m->scope, m->name, MS_NONE);
}

CALL(call_powered_rms_norm)
{
    r->items[0] = ms_powered_norm_call(f->model, &p->norm, a[0]);
}

CALL(call_layer_norm)
{
    r->items[0] = ms_layer_norm_call(f->model, &p->norm, a[0]);
}

/* ---- tables ---- */

static void make_embedding(const ms_making *m)
{
    const ms_dim rows = ms_making_dim(m, 0), width = ms_making_dim(m, 1);
    m->part->tensors[0] = ms_embedding_new(m->model, m->scope, m->name, rows, width);
    m->part->scope = last_scope(m->model);
}

/* One that is not trained, and none that adapters know. */
static void make_frozen_embedding(const ms_making *m)
{
    const ms_shape shape = MS_SHAPE(ms_making_dim(m, 0), ms_making_dim(m, 1));
    m->part->scope = ms_scope_add(m->model->tape, m->scope, m->name, MS_NONE);
    m->part->tensors[0] =
        ms_frozen_parameter_of(m->model, m->part->scope, "weight", shape, m->model->run->dtype);
}

CALL(call_embedding)
{
    const uint32_t previous = ms_scope_enter(f->model->tape, p->scope);
    r->items[0] = ms_embedding(f->model->tape, p->tensors[0], a[0]);
    if (p->tensors[1]) {
        const ms_dtype dtype = (ms_dtype)ms_info(f->model->tape, p->tensors[0])->dtype;
        r->items[0] =
            ms_mul(f->model->tape, r->items[0], ms_to(f->model->tape, p->tensors[1], dtype));
    }
    f->model->tape->scope = previous;
}

/* tensors[1]: a buffer of one element, by which the rows are multiplied. */
static void make_scaled_embedding(const ms_making *m)
{
    make_embedding(m);
    if (!ms_making_truth(m, 2, false))
        return;
    const uint32_t previous = ms_scope_enter(m->model->tape, m->part->scope);
    m->part->tensors[1] =
        ms_buffer_new(m->model, (ms_shape){0}, m->model->run->dtype, "embed_scale");
    m->model->tape->scope = previous;
}

/* weight[ids] */
CALL(call_indexed_embedding)
{
    ms_tape *tape = f->model->tape;
    ms_shape shape = ms_info(tape, a[0])->shape;
    ms_dim tokens = shape.dims[0];
    for (uint32_t i = 1; i < shape.rank; i++)
        tokens = ms_dim_mul(&tape->trace->symbols, tokens, shape.dims[i]);
    const uint32_t previous = ms_scope_enter(tape, p->scope);
    const ms_tensor rows =
        ms_index_rows(tape, p->tensors[0], ms_view(tape, a[0], MS_SHAPE(tokens)));
    tape->scope = previous;
    shape.dims[shape.rank++] = ms_info(tape, p->tensors[0])->shape.dims[1];
    r->items[0] = ms_view(tape, rows, shape);
}

CALL(call_token_embedding)
{
    r->items[0] = ms_input_embedding(f->model, p->scope, p->tensors[0], p->tensors[1], a[0]);
}

/* ---- parameters ---- */

static void make_parameter(const ms_making *m)
{
    ms_dim dims[4];
    uint32_t rank = 0;
    for (; rank < m->call->count && rank < 4 && m->call->items[rank]; rank++)
        dims[rank] = ms_making_dim(m, rank);
    m->part->tensors[0] = ms_parameter_new(m->model, m->scope, m->name, ms_shape_of(rank, dims));
}

/* What a function of the text makes as the weights are initialised, and nothing keeps. */
static void make_initialised(const ms_making *m)
{
    ms_frame f = {.model = m->model, .self = m->self};
    if (!ms_is_made_on_host(m->model))
        ms_consume(m->model->tape, ms_frame_tensor(&f, m->call->items[0]));
}

/* A number times torch.randn(...), which is made before it. */
static void make_random_parameter(const ms_making *m)
{
    ms_shape shape = MS_SHAPE(ms_making_dim(m, 0));
    if (m->call->count > 1 && m->call->items[1])
        shape = MS_SHAPE(shape.dims[0], ms_making_dim(m, 1));
    const ms_tensor random = ms_empty(m->model->tape, shape, m->model->run->dtype);
    make_parameter(m);
    ms_consume(m->model->tape, random);
}

/* A buffer of what a function of the text yields. */
static void make_register_buffer(const ms_making *m)
{
    ms_frame f = {.model = m->model, .self = m->self};
    const uint32_t previous = ms_scope_enter(m->model->tape, m->scope);
    const ms_tensor made = ms_frame_tensor(&f, m->call->items[0]);
    m->part->tensors[0] = ms_buffer_of(m->model, made, m->name);
    m->model->tape->scope = previous;
}

/* ---- rotary embeddings ---- */

/* tensors: inverse frequencies, their copy, and those of long sequences once there are some. */
static void make_rotary(const ms_making *m)
{
    ms_rotary_new(m->model, m->scope, 1, &m->part->tensors[0], &m->part->tensors[1]);
    m->part->scope = last_scope(m->model);
}

static void call_rotary_as(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r,
                           bool is_fp32)
{
    ms_model *m = f->model;
    r->items[0] = r->items[1] = 0;
    if (ms_idle(m->tape) || !a[0])
        return;
    if (m->config->long_rotary)
        ms_rotary_choose(m, p->scope, p->tensors[1], &p->tensors[2]);
    const ms_dtype dtype = is_fp32 ? MS_DTYPE_F32 : (ms_dtype)ms_info(m->tape, a[0])->dtype;
    ms_rotary_call(m, p->scope, p->tensors[0], a[1], dtype, r->items);
}

/* Of positions in three grids, which are equal for text. */
CALL(call_rotary_of_grids)
{
    ms_model *m = f->model;
    r->items[0] = r->items[1] = 0;
    if (ms_idle(m->tape) || !a[0])
        return;
    if (m->config->long_rotary)
        ms_rotary_choose(m, p->scope, p->tensors[1], &p->tensors[2]);
    ms_rotary_of_grids(m, p->scope, p->tensors[0], a[1], (ms_dtype)ms_info(m->tape, a[0])->dtype,
                       r->items);
}

CALL(call_rotary)
{
    call_rotary_as(f, p, a, r, false);
}

CALL(call_rotary_fp32)
{
    call_rotary_as(f, p, a, r, true);
}

CALL(call_rotary_complex)
{
    ms_model *m = f->model;
    r->items[0] = 0;
    if (ms_idle(m->tape) || !a[0])
        return;
    if (m->config->long_rotary)
        ms_rotary_choose(m, p->scope, p->tensors[1], &p->tensors[2]);
    r->items[0] = ms_rotary_turns(m, p->scope, p->tensors[0], a[1]);
}

/* By positions of three grids, [3, B, S], or those of the text. */
CALL(call_rotary_of_sections)
{
    r->items[0] = r->items[1] = 0;
    if (ms_idle(f->model->tape) || !a[0])
        return;
    ms_rotary_of_sections(f->model, p->scope, p->tensors[0], a[1],
                          (ms_dtype)ms_info(f->model->tape, a[0])->dtype, r->items);
}

/* Of layers with a window, and of the others: tensors[0] and [1] are the inverse frequencies of
 * both kinds, the others' first, [2] and [3] their copies, [4] those for long sequences. A kind of
 * which there is no layer has none. */
static bool has_kind(const ms_model *model, int slides)
{
    return slides ? ms_model_has_layers(model->config, MS_LAYER_SLIDES)
                  : ms_model_has_layers_but(model->config, MS_LAYER_SLIDES);
}

/* Heads of layers without a window are of another width, and turn by a share of it. */
static void make_rotary_of_wide(const ms_making *m)
{
    ms_symbols *s = &m->model->tape->trace->symbols;
    const ms_text_facts facts = {.config = m->model->config, .layer = MS_NONE};
    const ms_dim width = ms_making_dim(m, 0);
    const double share = m->call->items[1] ? ms_family_number(&facts, m->call->items[1]) : 1;
    const uint64_t turned = (uint64_t)(share * (double)width.value / 2);
    const ms_dim counts[] = {ms_dim_number(s, width.value / 2),
                             ms_dim_number(s, m->model->config->head_dim / 2)};
    const bool there[] = {has_kind(m->model, 0), has_kind(m->model, 1)};
    m->part->scope =
        ms_rotary_of_two_new(m->model, m->scope, there, counts, turned, m->part->tensors);
}

static void make_rotary_by_kind(const ms_making *m)
{
    ms_tensor made[2] = {0}, originals[2] = {0};
    ms_tensor *tensors = m->part->tensors;
    uint32_t count = 0;
    for (int i = 0; i < 2; i++)
        count += has_kind(m->model, i);
    if (m->call->items[0]) {
        make_rotary_of_wide(m);
        return;
    }
    ms_rotary_new(m->model, m->scope, count, made, originals);
    for (int i = 0, k = 0; i < 2; i++)
        if (has_kind(m->model, i)) {
            tensors[i] = made[k];
            tensors[2 + i] = originals[k++];
        }
    m->part->scope = last_scope(m->model);
}

/* cos and sin of layers with a window, then of the others, which are made first. */
static void call_rotary_by_kind_as(ms_frame *f, ms_family_part *p, const ms_tensor *a,
                                   ms_results *r, bool is_fp32)
{
    ms_model *m = f->model;
    bool is_again = false;
    for (int i = 0; i < 4; i++)
        r->items[i] = 0;
    if (ms_idle(m->tape) || !a[0])
        return;
    const ms_dtype dtype = is_fp32 ? MS_DTYPE_F32 : (ms_dtype)ms_info(m->tape, a[0])->dtype;
    for (int i = 0; i < 2; i++) {
        if (!has_kind(m, i))
            continue;
        m->tape->calls_again += is_again;
        is_again = true;
        if (m->config->long_rotary)
            ms_rotary_choose(m, p->scope, p->tensors[2 + i], &p->tensors[4]);
        ms_rotary_call(m, p->scope, p->tensors[i], a[1], dtype, &r->items[i ? 0 : 2]);
    }
}

CALL(call_rotary_by_kind)
{
    call_rotary_by_kind_as(f, p, a, r, false);
}

CALL(call_rotary_by_kind_fp32)
{
    call_rotary_by_kind_as(f, p, a, r, true);
}

/* ---- the head ---- */

static void make_head(const ms_making *m)
{
    const ms_family_part *embedding = ms_making_follow(m, 0);
    if (!embedding || !embedding->tensors[0]) { /* see check.c */
        ms_tape_fail(m->model->tape, MS_ERR_CONFIG);
        return;
    }
    m->part->linear = ms_head_named(m->model, embedding->tensors[0], m->name);
    if (ms_making_truth(m, 1, false))
        m->part->linear.bias =
            ms_parameter_new(m->model, m->part->linear.scope, "bias", MS_SHAPE(m->model->vocab));
}

/* The logits, as a stage of a pipeline yields them. */
CALL(call_head)
{
    r->items[0] = ms_linear_call(f->model, &p->linear, a[0]);
}

/* ---- rows ---- */

#define MODULE(name_, shape_, names_, types_, make_, call_, takes_)                                \
    {                                                                                              \
        .name = name_, .shape = MS_SHAPE_##shape_, .parameters = names_, .types = types_,          \
        .results = 1, .make = make_, .call = call_, .call_types = takes_                           \
    }

/* Of a rotary embedding: cos and sin, of each kind of layers. */
#define TABLES(name_, results_, make_, call_)                                                      \
    {                                                                                              \
        .name = name_, .shape = MS_SHAPE_TABLES, .parameters = "", .types = "",                    \
        .results = results_, .make = make_, .call = call_, .call_types = "tt"                      \
    }

static const ms_primitive modules[] = {
    MODULE("linear", LINEAR, "in_features out_features bias", "dd|n", make_linear, call_linear,
           "t"),
    MODULE("linear_apart", LINEAR, "in_features out_features bias", "dd|n", make_linear,
           call_linear_apart, "t"),
    MODULE("linear_router", LINEAR, "in_features out_features", "dd", make_linear_router,
           call_linear, "t"),
    MODULE("conv1d", LINEAR, "in_features out_features", "dd", make_conv1d, call_conv1d, "t"),
    MODULE("rms_norm", NORM, "width rows", "d|d", make_rms_norm, call_rms_norm, "t"),
    MODULE("rms_norm_fp32", NORM, "width rows", "d|d", make_rms_norm, call_fp32_rms_norm, "t"),
    MODULE("rms_norm_half_cast", NORM, "width rows", "d|d", make_rms_norm, call_half_cast_rms_norm,
           "t"),
    MODULE("rms_norm_widened", NORM, "width rows", "d|d", make_rms_norm, call_widened_rms_norm,
           "t"),
    MODULE("rms_norm_weight_last", NORM, "width rows", "d|d", make_rms_norm,
           call_weight_last_rms_norm, "t"),
    MODULE("rms_norm_centered", NORM, "width rows", "d|d", make_rms_norm, call_centered_rms_norm,
           "t"),
    MODULE("rms_norm_powered", NORM, "width rows elementwise_affine", "d|dn", make_powered_rms_norm,
           call_powered_rms_norm, "t"),
    MODULE("layer_norm", NORM, "width rows elementwise_affine bias", "d|dnn", make_layer_norm,
           call_layer_norm, "t"),
    MODULE("layer_norm_fp32", NORM, "width rows", "d|d", make_rms_norm, call_fp32_layer_norm, "t"),
    MODULE("embedding", ROWS, "rows width scaled", "dd|n", make_scaled_embedding, call_embedding,
           "t"),
    MODULE("frozen_embedding", ROWS, "rows width", "dd", make_frozen_embedding, call_embedding,
           "t"),
    MODULE("indexed_embedding", ROWS, "rows width", "dd", make_embedding, call_indexed_embedding,
           "t"),
    MODULE("token_embedding", ROWS, "rows width scaled", "dd|n", make_scaled_embedding,
           call_token_embedding, "t"),
    TABLES("rotary", 2, make_rotary, call_rotary),
    TABLES("rotary_fp32", 2, make_rotary, call_rotary_fp32),
    TABLES("rotary_complex", 1, make_rotary, call_rotary_complex),
    TABLES("rotary_of_grids", 2, make_rotary, call_rotary_of_grids),
    TABLES("rotary_of_sections", 2, make_rotary, call_rotary_of_sections),
    {.name = "rotary_by_kind",
     .shape = MS_SHAPE_TABLES,
     .parameters = "width share",
     .types = "|dn",
     .results = 4,
     .make = make_rotary_by_kind,
     .call = call_rotary_by_kind,
     .call_types = "tt"},
    {.name = "rotary_by_kind_fp32",
     .shape = MS_SHAPE_TABLES,
     .parameters = "width share",
     .types = "|dn",
     .results = 4,
     .make = make_rotary_by_kind,
     .call = call_rotary_by_kind_fp32,
     .call_types = "tt"},
    {.name = "parameter",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "size size2 size3 size4",
     .types = "d|ddd",
     .results = 1,
     .make = make_parameter},
    {.name = "random_parameter",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "size size2",
     .types = "d|d",
     .results = 1,
     .make = make_random_parameter},
    {.name = "register_buffer",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "tensor",
     .types = "f",
     .results = 1,
     .make = make_register_buffer},
    {.name = "initialised",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "tensor",
     .types = "f",
     .results = 1,
     .make = make_initialised},
    MODULE("head", HEAD, "embedding bias", "p|n", make_head, call_head, "t"),
};

static const ms_primitive_list module_rows = {modules, sizeof modules / sizeof *modules};

const ms_primitive *ms_primitive_at(uint32_t i)
{
    static const ms_primitive_list *const lists[] = {
        &module_rows,       &ms_mixture_rows,     &ms_head_rows,        &ms_function_rows,
        &ms_view_rows,      &ms_operation_rows,   &ms_creation_rows,    &ms_builtin_rows,
        &ms_recurrent_rows, &ms_translation_rows, &ms_convolution_rows, &ms_image_rows,
        &ms_picture_rows,
    };
    for (size_t k = 0; k < sizeof lists / sizeof *lists; i -= lists[k++]->count)
        if (i < lists[k]->count)
            return &lists[k]->rows[i];
    return NULL;
}

const ms_primitive *ms_primitive_find(const char *name, bool is_module)
{
    const ms_primitive *row;
    for (uint32_t i = 0; (row = ms_primitive_at(i)) != NULL; i++)
        if ((row->make != NULL) == is_module && strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
