/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What layers without attention call beside the rows of other models: short convolutions along the
 * sequence, and what scans are made of.
 */
#include "model/evaluator/evaluate.h"
#include "model/blocks/cache.h"
#include "model/recurrent/chunk_scan.h"
#include "model/recurrent/delta_rule.h"
#include "model/recurrent/selective_scan.h"
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
            return ms_frame_failed(f, call, "expected x, [B, C, S], and a weight, [C, 1, K]");
    const ms_dim *x = ms_given_shape(f, a[0])->dims, *w = ms_given_shape(f, a[1])->dims;
    const bool pads = a[3].kind == MS_VALUE_NUMBER && a[3].number > 0;
    if (w[0].value != x[1].value || w[1].value != 1 || a[4].kind != MS_VALUE_NUMBER ||
        ms_size_of_value(f, a[4]).value != x[1].value ||
        (pads && ms_size_of_value(f, a[3]).value != w[2].value - 1)) {
        (void)ms_check_fail(f, call, a[1].tensor, "expected groups=C and a padding of K - 1 or 0");
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
            return ms_check_fail(f, node, a[i], "expected [B, S, heads, width]");
    const ms_dim *query = ms_info(f->model->tape, a[0])->shape.dims;
    const ms_dim *value = ms_info(f->model->tape, a[2])->shape.dims;
    const uint64_t key[] = {batch, tokens, query[2].value, query[3].value};
    const uint64_t scale[] = {batch, tokens, value[2].value};
    if (!has_sizes(f, a[1], 4, key) || value[2].value % query[2].value != 0)
        return ms_check_fail(f, node, a[1],
                             "expected a key as the query, and a multiple of its heads");
    for (int i = 3; i < 5; i++)
        if (!has_sizes(f, a[i], 3, scale))
            return ms_check_fail(f, node, a[i], "expected a number for each head, [B, S, heads]");
    return true;
}

/* ---- states of a cache ---- */

/* What the cache has of the layer whose module asks; NULL: there is no cache, or no layer, which is
 * a failure. */
static const ms_cached_layer *cached_layer(ms_frame *f, const ms_text_node *call)
{
    if (f->self->number == MS_NONE)
        ms_frame_fail(f, call, "this is of a layer's modules");
    return f->model->cache && f->self->number != MS_NONE ? &f->model->cache->layers[f->self->number]
                                                         : NULL;
}

/* Whether the running pass is one token after others. */
MS_OPERATION(apply_has_state)
{
    (void)a;
    return ms_value_of_number(cached_layer(f, call) &&
                              ms_state_is_continued(f->model, f->self->number));
}

MS_OPERATION(apply_keeps_states)
{
    (void)call, (void)a;
    return ms_value_of_number(f->model->cache != NULL);
}

/* The last inputs of the layer's convolution, and its state; None without a cache. */
MS_OPERATION(apply_conv_state)
{
    const ms_cached_layer *layer = cached_layer(f, call);
    (void)a;
    return ms_value_of_tensor(layer ? layer->keys : 0);
}

MS_OPERATION(apply_last_state)
{
    const ms_cached_layer *layer = cached_layer(f, call);
    (void)a;
    return ms_value_of_tensor(layer ? layer->values : 0);
}

FUNCTION(run_update_conv_state)
{
    (void)call;
    r->items[0] = ms_state_inputs(f->model, f->self->number, a[0]);
}

FUNCTION(run_keep_state)
{
    (void)call, (void)r;
    ms_state_keep(f->model, f->self->number, a[0]);
}

FITS(fits_state)
{
    (void)maker, (void)a;
    (void)cached_layer(f, node);
    return !ms_idle(f->model->tape);
}

FITS(fits_inputs)
{
    const uint64_t any[] = {0, 0, 0};
    if (!has_sizes(f, a[0], 3, any))
        return ms_check_fail(f, node, a[0], "expected [B, C, S]");
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

MS_OPERATION(apply_is_training)
{
    (void)call, (void)a;
    return ms_value_of_number(!f->model->tape->is_evaluating);
}

/* weight @ step.transpose(1, 2): [B, C, S] of [C, R] and [B, S, R]. Where the weight is trained, a
 * product of the rows of all sequences, turned and copied; else one for each sequence. */
FUNCTION(run_project_step)
{
    ms_tape *tape = f->model->tape;
    const ms_tensor_info weight = *ms_info(tape, a[0]);
    const ms_dim *d = weight.shape.dims;
    (void)call;
    if (weight.requires_grad) {
        const ms_tensor rows = ms_linear(tape, a[1], a[0], 0);
        r->items[0] = ms_contiguous(tape, ms_transpose(tape, rows, 1, 2));
        return;
    }
    const ms_shape each = MS_SHAPE(f->model->batch, d[0], d[1]);
    const ms_tensor wide = ms_expand(tape, ms_unsqueeze(tape, a[0], 0), each);
    r->items[0] = ms_bmm(tape, wide, ms_transpose(tape, a[1], 1, 2));
}

FITS(fits_project_step)
{
    const uint64_t any[] = {0, 0}, batch = f->model->batch.value;
    (void)maker;
    if (!has_sizes(f, a[0], 2, any))
        return ms_check_fail(f, node, a[0], "expected a weight, [C, R]");
    const uint64_t step[] = {batch, 0, ms_info(f->model->tape, a[0])->shape.dims[1].value};
    return has_sizes(f, a[1], 3, step) ||
           ms_check_fail(f, node, a[1], "expected what the weight reads, [B, S, R]");
}

static ms_selective_inputs selective_inputs(const ms_tensor *a)
{
    return (ms_selective_inputs){.hidden = a[0],
                                 .step = a[1],
                                 .decay = a[2],
                                 .key = a[3],
                                 .query = a[4],
                                 .direct = a[5],
                                 .gate = a[6],
                                 .step_bias = a[7]};
}

/* The result, and the state behind the last token, where a cache keeps it. */
FUNCTION(run_selective_scan)
{
    const ms_selective_inputs in = selective_inputs(a);
    (void)call;
    r->items[0] = ms_selective_scan(f->model, &in, &r->items[1]);
    r->items[1] = ms_unown(f->model->tape, r->items[1]);
}

FUNCTION(run_selective_update)
{
    const ms_selective_inputs in = selective_inputs(a);
    (void)call;
    r->items[0] = ms_selective_update(f->model, &in, a[8]);
}

/* Of `tokens` tokens, 0: of one, without that dimension. */
static bool are_of_channels(ms_frame *f, const ms_text_node *node, const ms_tensor *a,
                            uint64_t tokens)
{
    const uint32_t rank = tokens ? 3 : 2;
    const uint64_t any[] = {0, 0}, batch = f->model->batch.value;
    if (!has_sizes(f, a[2], 2, any))
        return ms_check_fail(f, node, a[2], "expected decays, [C, N]");
    const ms_dim *d = ms_info(f->model->tape, a[2])->shape.dims;
    const uint64_t channels[] = {batch, d[0].value, tokens};
    const uint64_t states[] = {batch, tokens ? tokens : d[1].value, d[1].value};
    const uint64_t *const sizes[] = {channels, channels, NULL, states, states, NULL, channels};
    for (int i = 0; i < 7; i++)
        if (sizes[i] && !has_sizes(f, a[i], rank, sizes[i]))
            return ms_check_fail(f, node, a[i],
                                 "expected channels in front of tokens, and states behind them");
    for (int i = 5; i < 8; i += 2)
        if (!has_sizes(f, a[i], 1, &channels[1]))
            return ms_check_fail(f, node, a[i], "expected a number of each channel");
    return true;
}

FITS(fits_selective_scan)
{
    (void)maker;
    return are_of_channels(f, node, a, f->model->seq.value);
}

FITS(fits_selective_update)
{
    (void)maker;
    if (!are_of_channels(f, node, a, 0))
        return false;
    const ms_dim *d = ms_info(f->model->tape, a[2])->shape.dims;
    const uint64_t state[] = {f->model->batch.value, d[0].value, d[1].value};
    return has_sizes(f, a[8], 3, state) ||
           ms_check_fail(f, node, a[8], "expected a state, [B, C, N]");
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
        return ms_check_fail(f, node, a[1], "expected a step of each head");
    for (int i = 3; i < 5; i++)
        if (!has_sizes(f, a[i], first + 2, group) ||
            heads % ms_info(f->model->tape, a[i])->shape.dims[first].value != 0)
            return ms_check_fail(f, node, a[i], "expected groups that divide the heads");
    for (int i = 2; i < 7; i += i == 2 ? 3 : 1)
        if (!has_sizes(f, a[i], 1, &heads))
            return ms_check_fail(f, node, a[i], "expected a number of each head");
    return true;
}

FITS(fits_chunk_scan)
{
    const uint64_t sizes[] = {f->model->batch.value, f->model->seq.value, 0, 0};
    (void)maker;
    if (!has_sizes(f, a[0], 4, sizes))
        return ms_check_fail(f, node, a[0], "expected [B, S, heads, width]");
    if (ms_frame_number(f, node->items[7], 0) < 2) {
        ms_frame_fail(f, node, "expected chunks of two or more tokens");
        return false;
    }
    return are_of_heads(f, node, a, 2);
}

FITS(fits_chunk_update)
{
    const uint64_t sizes[] = {f->model->batch.value, 0, 0};
    (void)maker;
    if (!has_sizes(f, a[0], 3, sizes))
        return ms_check_fail(f, node, a[0], "expected [B, heads, width]");
    const ms_dim *d = ms_info(f->model->tape, a[0])->shape.dims;
    const uint64_t state[] = {d[0].value, d[1].value, d[2].value, 0};
    return has_sizes(f, a[7], 4, state)
               ? are_of_heads(f, node, a, 1)
               : ms_check_fail(f, node, a[7], "expected a state, [B, heads, width, N]");
}

#define SCANS "hidden step decay key query direct step_bias "
#define SELECTIVE "hidden step decay key query direct gate step_bias"

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
    MS_OPERATION_ROW("is_training", "", "", apply_is_training),
    {.name = "project_step",
     .fits = fits_project_step,
     .parameters = "weight step",
     .types = "tt",
     .results = 1,
     .run = run_project_step},
    {.name = "selective_scan",
     .fits = fits_selective_scan,
     .parameters = SELECTIVE,
     .types = "tttttttt",
     .results = 2,
     .run = run_selective_scan},
    {.name = "selective_update",
     .fits = fits_selective_update,
     .parameters = SELECTIVE " state",
     .types = "ttttttttt",
     .results = 1,
     .run = run_selective_update},
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
