/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of models with images: their features among the embeddings of tokens, and the part of the
 * graph that no loss reaches.
 */
#include "input/config/model/model_config.h"
#include "model/blocks/images.h"
#include "model/evaluator/evaluate.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"

MS_OPERATION(apply_pixel_values)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->pixel_values);
}

/* Which ids are image tokens, [B, S, 1]; their number is compared with that of the features. */
MS_OPERATION(apply_image_mask)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_image_token_mask(f->model, a[0].tensor));
}

MS_OPERATION(apply_masked_scatter)
{
    for (int i = 0; i < 3; i++)
        if (a[i].kind != MS_VALUE_TENSOR)
            return ms_frame_failed(f, call, "a mask and a source, both tensors, are wanted here");
    if (!ms_check_broadcast(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    return ms_value_of_tensor(
        ms_masked_scatter(f->model->tape, a[0].tensor, a[1].tensor, a[2].tensor));
}

/* [pictures, tokens, width], one after another: [pictures * tokens, width] */
MS_OPERATION(apply_join_pictures)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (ms_given_shape(f, a[0])->rank != 3 ||
        ms_given_shape(f, a[0])->dims[0].value != ms_image_count(f->model)) {
        (void)ms_check_fail(f, call, a[0].tensor, "[pictures, tokens, width] is wanted");
        return (ms_value){0};
    }
    return ms_value_of_tensor(ms_join_pictures(f->model, a[0].tensor));
}

/* What the forward pass has recorded so far. */
MS_OPERATION(apply_graph_mark)
{
    (void)call, (void)a;
    return ms_value_of_number(f->model->tape->nodes.count);
}

/* What was recorded between two marks, and its results that nothing else was made of, are let go
 * of. */
MS_OPERATION(apply_forget_graph)
{
    if (a[0].kind != MS_VALUE_NUMBER || a[1].kind != MS_VALUE_NUMBER || a[0].number < 0 ||
        a[1].number > f->model->tape->nodes.count)
        return ms_frame_failed(f, call, "two marks of graph_mark() are wanted here");
    ms_graph_forget(f->model->tape, (uint32_t)a[0].number, (uint32_t)a[1].number);
    return (ms_value){0};
}

MS_OPERATION(apply_tower_activation)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(
        ms_activate(f->model->tape, f->model->config->vision.activation, a[0].tensor));
}

MS_OPERATION(apply_projector_activation)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(
        ms_activate(f->model->tape, f->model->config->vision.projector_activation, a[0].tensor));
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("tower_activation", "x", "v", apply_tower_activation),
    MS_OPERATION_ROW("projector_activation", "x", "v", apply_projector_activation),
    MS_OPERATION_ROW("pixel_values", "", "", apply_pixel_values),
    MS_OPERATION_ROW("image_token_mask", "ids", "v", apply_image_mask),
    MS_OPERATION_ROW("masked_scatter", "x mask source", "vvv", apply_masked_scatter),
    MS_OPERATION_ROW("join_pictures", "x", "v", apply_join_pictures),
    MS_OPERATION_ROW("graph_mark", "", "", apply_graph_mark),
    MS_OPERATION_ROW("forget_graph", "first end", "vv", apply_forget_graph),
};

const ms_primitive_list ms_image_rows = {rows, sizeof rows / sizeof *rows};
