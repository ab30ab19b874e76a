/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What layers without attention call beside the rows of other models: short convolutions along the
 * sequence, and what scans are made of.
 */
#include "model/evaluator/evaluate.h"
#include "model/recurrent/delta_rule.h"
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

static const ms_primitive rows[] = {
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
