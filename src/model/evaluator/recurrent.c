/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What layers without attention call beside the rows of other models: short convolutions along the
 * sequence, and what scans are made of.
 */
#include "model/evaluator/evaluate.h"
#include "model/blocks/cache.h"
#include "model/recurrent/chunk_scan.h"
#include "model/recurrent/delta_rule.h"
#include "model/recurrent/state_cache.h"
#include "torch/ops/ops.h"

#define FUNCTION(name)                                                                             \
    static void name(ms_frame *f, const ms_text_node *call, const ms_tensor *a, ms_results *r)
#define FITS(name)                                                                                 \
    static bool name(ms_frame *f, const ms_text_node *node, const ms_text_node *maker,             \
                     const ms_tensor *a)

/* Whether a tensor has these sizes; 0: any. */
static bool has_sizes(ms_frame *f, ms_tensor tensor, uint32_t rank, const uint64_t *sizes)
{
    const ms_shape *shape = tensor ? &ms_info(f->model->tape, tensor)->shape : NULL;
    bool has_them = shape && shape->rank == rank;
    for (uint32_t i = 0; i < rank && has_them; i++)
        has_them = sizes[i] == 0 || shape->dims[i].value == sizes[i];
    return has_them;
}

/* ---- convolutions ---- */

/* F.conv1d() with a filter for each channel: of [B, C, S] with weight [C, 1, K], padded by K - 1
 * elements or by none. */
MS_OPERATION(apply_conv1d)
{
    ms_tape *tape = f->model->tape;
    for (int i = 0; i < 2; i++)
        if (a[i].kind != MS_VALUE_TENSOR || ms_given_shape(f, a[i])->rank != 3)
            return ms_frame_failed(f, call,
                                   "x, [B, C, S], and a weight, [C, 1, K], are wanted here");
    const ms_dim *x = ms_given_shape(f, a[0])->dims, *w = ms_given_shape(f, a[1])->dims;
    const bool pads = a[3].kind == MS_VALUE_NUMBER && a[3].number > 0;
    if (w[0].value != x[1].value || w[1].value != 1 || a[4].kind != MS_VALUE_NUMBER ||
        ms_size_of_value(f, a[4]).value != x[1].value ||
        (pads && ms_size_of_value(f, a[3]).value != w[2].value - 1)) {
        (void)ms_check_fail(f, call, a[1].tensor,
                            "groups=C and a padding of K - 1 or 0 are wanted");
        return (ms_value){0};
    }
    return ms_value_of_tensor(
        pads || w[2].value == 1 ? ms_depthwise(tape, a[0].tensor, a[1].tensor, a[2].tensor)
                                : ms_depthwise_inside(tape, a[0].tensor, a[1].tensor, a[2].tensor));
}

/* ---- norms ---- */

/* The weight of a norm, whose class says what it does. */
static void make_norm_weight(const ms_making *m)
{
    m->part->tensors[0] = ms_norm_weight_new(m->model, m->scope, m->name, ms_making_dim(m, 0));
}

/* ---- the gated delta rule ---- */

FUNCTION(run_gated_delta_rule)
{
    (void)call;
    r->items[0] = ms_delta_rule(f->model, &(ms_delta_inputs){a[0], a[1], a[2], a[3], a[4]});
}

FITS(fits_delta_rule)
{
    const uint64_t batch = f->model->batch.value, tokens = f->model->seq.value;
    const uint64_t any[] = {batch, tokens, 0, 0};
    (void)maker;
    for (int i = 0; i < 3; i++)
        if (!has_sizes(f, a[i], 4, any))
            return ms_check_fail(f, node, a[i], "[B, S, heads, width] is wanted");
    const ms_dim *query = ms_info(f->model->tape, a[0])->shape.dims;
    const ms_dim *value = ms_info(f->model->tape, a[2])->shape.dims;
    const uint64_t key[] = {batch, tokens, query[2].value, query[3].value};
    const uint64_t scale[] = {batch, tokens, value[2].value};
    if (!has_sizes(f, a[1], 4, key) || value[2].value % query[2].value != 0)
        return ms_check_fail(f, node, a[1],
                             "a key as the query, and a multiple of its heads, are wanted");
    for (int i = 3; i < 5; i++)
        if (!has_sizes(f, a[i], 3, scale))
            return ms_check_fail(f, node, a[i], "a number for each head, [B, S, heads], is wanted");
    return true;
}

/* ---- states of a cache ---- */

/* Whether the running pass is one token after others. */
MS_OPERATION(apply_has_state)
{
    (void)call, (void)a;
    return ms_value_of_number(ms_state_is_continued(f->model, f->self->number));
}

MS_OPERATION(apply_keeps_states)
{
    (void)call, (void)a;
    return ms_value_of_number(f->model->cache != NULL);
}

/* The last inputs of the layer's convolution, and its state; None without a cache. */
MS_OPERATION(apply_conv_state)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->cache ? f->model->cache->layers[f->self->number].keys : 0);
}

MS_OPERATION(apply_last_state)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->cache ? f->model->cache->layers[f->self->number].values
                                              : 0);
}

FUNCTION(run_update_conv_state)
{
    (void)call;
    r->items[0] = ms_state_inputs(f->model, f->self->number, a[0]);
}

FUNCTION(run_keep_state)
{
    (void)call, (void)r;
    ms_state_hold(f->model, f->self->number, a[0]);
}

/* These are of a layer. */
FITS(fits_state)
{
    (void)maker, (void)a;
    if (f->self->number != MS_NONE)
        return true;
    ms_frame_fail(f, node, "this is of a layer's modules");
    return false;
}

FITS(fits_inputs)
{
    const uint64_t any[] = {0, 0, 0};
    if (!has_sizes(f, a[0], 3, any))
        return ms_check_fail(f, node, a[0], "[B, C, S] is wanted");
    return fits_state(f, node, maker, a);
}

/* ---- scans ---- */

/* The state behind the last token, where a cache keeps it, and the result. */
FUNCTION(run_chunk_scan)
{
    const ms_scan_inputs in = {a[0], a[1], a[2], a[3], a[4], a[5], a[6]};
    const uint64_t chunk = (uint64_t)ms_frame_number(f, call->items[7], 0);
    r->items[1] = ms_chunk_scan(f->model, &in, chunk, &r->items[0]);
    r->items[0] = ms_unown(f->model->tape, r->items[0]);
}

FUNCTION(run_chunk_update)
{
    const ms_scan_inputs in = {a[0], a[1], a[2], a[3], a[4], a[5], a[6]};
    (void)call;
    r->items[0] = ms_chunk_update(f->model, &in, a[7]);
}

/* Whether step, decay, key, query and both parameters are those of `hidden`, where `first` sizes
 * are of the batch. */
static bool are_of_heads(ms_frame *f, const ms_text_node *node, const ms_tensor *a, uint32_t first)
{
    const ms_shape *shape = &ms_info(f->model->tape, a[0])->shape;
    const uint64_t heads = shape->dims[first].value;
    uint64_t step[3] = {shape->dims[0].value}, group[4] = {shape->dims[0].value};
    step[1] = group[1] = first == 2 ? shape->dims[1].value : 0;
    step[first] = heads;
    group[first] = group[first + 1] = 0;
    if (!has_sizes(f, a[1], first + 1, step))
        return ms_check_fail(f, node, a[1], "a step of each head is wanted");
    for (int i = 3; i < 5; i++)
        if (!has_sizes(f, a[i], first + 2, group) ||
            heads % ms_info(f->model->tape, a[i])->shape.dims[first].value != 0)
            return ms_check_fail(f, node, a[i], "groups that divide the heads are wanted");
    for (int i = 2; i < 7; i += i == 2 ? 3 : 1)
        if (!has_sizes(f, a[i], 1, &heads))
            return ms_check_fail(f, node, a[i], "a number of each head is wanted");
    return true;
}

FITS(fits_chunk_scan)
{
    const uint64_t sizes[] = {f->model->batch.value, f->model->seq.value, 0, 0};
    (void)maker;
    if (!has_sizes(f, a[0], 4, sizes))
        return ms_check_fail(f, node, a[0], "[B, S, heads, width] is wanted");
    if (ms_frame_number(f, node->items[7], 0) < 2) {
        ms_frame_fail(f, node, "chunks of two or more tokens are wanted here");
        return false;
    }
    return are_of_heads(f, node, a, 2);
}

FITS(fits_chunk_update)
{
    const uint64_t sizes[] = {f->model->batch.value, 0, 0};
    (void)maker;
    if (!has_sizes(f, a[0], 3, sizes))
        return ms_check_fail(f, node, a[0], "[B, heads, width] is wanted");
    const ms_dim *d = ms_info(f->model->tape, a[0])->shape.dims;
    const uint64_t state[] = {d[0].value, d[1].value, d[2].value, 0};
    return has_sizes(f, a[7], 4, state)
               ? are_of_heads(f, node, a, 1)
               : ms_check_fail(f, node, a[7], "a state, [B, heads, width, N], is wanted");
}

#define SCANS "hidden step decay key query direct step_bias "

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("has_state", "", "", apply_has_state),
    MS_OPERATION_ROW("keeps_states", "", "", apply_keeps_states),
    MS_OPERATION_ROW("conv_state", "", "", apply_conv_state),
    MS_OPERATION_ROW("last_state", "", "", apply_last_state),
    {.name = "update_conv_state",
     .fits = fits_inputs,
     .parameters = "x",
     .types = "t",
     .results = 1,
     .run = run_update_conv_state},
    {.name = "keep_state",
     .fits = fits_state,
     .parameters = "state",
     .types = "t",
     .run = run_keep_state},
    {.name = "chunk_scan",
     .fits = fits_chunk_scan,
     .parameters = SCANS "chunk",
     .types = "tttttttn",
     .results = 2,
     .run = run_chunk_scan},
    {.name = "chunk_update",
     .fits = fits_chunk_update,
     .parameters = SCANS "state",
     .types = "tttttttt",
     .results = 1,
     .run = run_chunk_update},
    {.name = "norm_weight",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "width",
     .types = "d",
     .results = 1,
     .make = make_norm_weight},
    {.name = "gated_delta_rule",
     .fits = fits_delta_rule,
     .parameters = "query key value decay beta",
     .types = "ttttt",
     .results = 1,
     .run = run_gated_delta_rule},
    MS_OPERATION_ROW("conv1d", "x weight bias padding groups", "vvvvv", apply_conv1d),
};

const ms_primitive_list ms_recurrent_rows = {rows, sizeof rows / sizeof *rows};
