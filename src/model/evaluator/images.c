/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of models with images: their features among the embeddings of tokens, and the part of the
 * graph that no loss reaches.
 */
#include "input/config/model/model_config.h"
#include "model/blocks/images.h"
#include "model/blocks/resample.h"
#include "model/evaluator/evaluate.h"
#include "torch/autograd/graph.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"
#include "torch/ops/split.h"

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
            return ms_frame_failed(f, call, "expected a mask and a source, both tensors");
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
        (void)ms_check_fail(f, call, a[0].tensor, "expected [pictures, tokens, width]");
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
        return ms_frame_failed(f, call, "expected two marks of graph_mark()");
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

/* ---- images of any size, patch by patch ---- */

/* The sizes of parts that are attended to apart, in the arena: of windows, or of images. */
static ms_dim *lengths_of(ms_model *model, bool of_windows, uint32_t *count)
{
    const ms_vision_config *vision = &model->config->vision;
    const ms_image_grid *grid = &model->run->images.grid;
    const ms_qwen_windows windows =
        of_windows ? ms_qwen_windows_of(vision, grid) : (ms_qwen_windows){1, 1, 1};
    const uint64_t each = windows.rows * windows.columns;
    *count = (uint32_t)(each * ms_image_count(model));
    ms_dim *lengths = ms_arena_array(model->arena, ms_dim, *count);
    for (uint64_t i = 0; lengths && i < *count; i++)
        lengths[i] = ms_dim_number(&model->tape->trace->symbols,
                                   of_windows ? ms_qwen_window_patches(vision, grid,
                                                                       i % each / windows.columns,
                                                                       i % windows.columns)
                                              : grid->rows * grid->columns);
    return lengths;
}

static ms_value list_of(ms_frame *f, const ms_text_node *call, uint32_t count,
                        const ms_tensor *tensors)
{
    const ms_value list = {.kind = MS_VALUE_LIST, .items = ms_items_room(ms_frame_pool(f), count)};
    if (!list.items)
        return ms_frame_failed(f, call, "there are too many parts");
    for (uint32_t i = 0; i < count; i++)
        (void)ms_items_add(f->model->tape, ms_frame_pool(f), list.items,
                           ms_value_of_tensor(tensors[i]), NULL);
    return list;
}

/* [1, heads, patches, width], by windows or by images. */
static ms_value split_parts(ms_frame *f, const ms_text_node *call, ms_value x, bool of_windows)
{
    ms_model *m = f->model;
    uint32_t count;
    if (!ms_given_tensor(f, call, x))
        return (ms_value){0};
    const ms_dim *lengths = lengths_of(m, of_windows, &count);
    ms_tensor *parts = ms_arena_array(m->arena, ms_tensor, count);
    uint64_t all = 0;
    if (!lengths || !parts) {
        ms_tape_fail(m->tape, MS_ERR_NOMEM);
        return (ms_value){0};
    }
    for (uint32_t i = 0; i < count; i++)
        all += lengths[i].value;
    const ms_shape *shape = ms_given_shape(f, x);
    if (shape->rank != 4 || shape->dims[2].value != all) {
        (void)ms_check_fail(f, call, x.tensor, "expected [1, heads, patches, width]");
        return (ms_value){0};
    }
    ms_split_sizes(m->tape, x.tensor, 2, count, lengths, parts);
    return list_of(f, call, count, parts);
}

MS_OPERATION(apply_split_windows)
{
    return split_parts(f, call, a[0], true);
}

MS_OPERATION(apply_split_images)
{
    return split_parts(f, call, a[0], false);
}

/* Attention in each part, as the tower's layers run it. */
MS_OPERATION(apply_attend_each)
{
    ms_tape *tape = f->model->tape;
    const uint32_t count = a[0].kind == MS_VALUE_LIST ? a[0].items->count : 0;
    for (int i = 1; i < 3; i++)
        if (count == 0 || a[i].kind != MS_VALUE_LIST || a[i].items->count != count)
            return ms_frame_failed(f, call, "expected lists of as many parts");
    ms_tensor *out = ms_arena_array(f->model->arena, ms_tensor, count);
    const ms_attention backend = ms_tower_backend(f->model);
    const ms_value list = {.kind = MS_VALUE_LIST, .items = ms_items_room(ms_frame_pool(f), count)};
    if (!out || !list.items) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return (ms_value){0};
    }
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++)
        (void)ms_items_add(tape, ms_frame_pool(f), list.items,
                           ms_value_of_tensor(ms_tower_attend(
                               tape, backend, a[0].items->values[i].tensor,
                               a[1].items->values[i].tensor, a[2].items->values[i].tensor)),
                           NULL);
    return list;
}

/* How many parts there are; `listed`: with windows that are empty. */
static ms_value count_parts(const ms_frame *f, bool of_windows, bool listed)
{
    ms_model *m = f->model;
    const ms_qwen_windows windows =
        of_windows ? ms_qwen_windows_of(&m->config->vision, &m->run->images.grid)
                   : (ms_qwen_windows){1, 1, 1};
    const uint64_t each = listed ? windows.listed : windows.rows * windows.columns;
    return ms_value_of_number((double)(each * ms_image_count(m)));
}

MS_OPERATION(apply_count_windows)
{
    (void)call;
    return count_parts(f, true, ms_given_true(a[0]));
}

MS_OPERATION(apply_count_images)
{
    (void)call, (void)a;
    return count_parts(f, false, false);
}

MS_OPERATION(apply_image_tokens)
{
    (void)call, (void)a;
    return ms_value_of_number((double)ms_image_count(f->model) *
                              (double)f->model->run->images.grid.tokens);
}

MS_OPERATION(apply_grid_places)
{
    (void)call, (void)a;
    return ms_value_of_tensor(ms_image_grid_places(f->model));
}

MS_OPERATION(apply_grid_positions)
{
    (void)call, (void)a;
    return ms_value_of_tensor(ms_qwen_positions(f->model));
}

MS_OPERATION(apply_join_images)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (ms_given_shape(f, a[0])->rank != 2) {
        (void)ms_check_fail(f, call, a[0].tensor, "expected [tokens, width]");
        return (ms_value){0};
    }
    return ms_value_of_tensor(ms_join_images(f->model, a[0].tensor));
}

MS_OPERATION(apply_image_video_masks)
{
    ms_tensor masks[2] = {0};
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    ms_locals l = ms_locals_begin(f->model->tape);
    ms_tensor *image = ms_local(&l, 0), *video = ms_local(&l, 0);
    ms_image_video_masks(f->model, &l, a[0].tensor, image, video);
    ms_return_both(&l, *image, *video, masks);
    return ms_frame_tensors(f, call, 2, masks);
}

/* An order of rows that the host knows: on the CPU a tensor, else None. */
MS_OPERATION(apply_host_order)
{
    if (a[0].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected a number");
    return ms_value_of_tensor(
        f->model->tape->on_cpu
            ? ms_empty(f->model->tape, MS_SHAPE(ms_size_of_value(f, a[0])), MS_DTYPE_I64)
            : 0);
}

/* x[order], of such an order. */
MS_OPERATION(apply_in_order)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_index_by_host(f->model->tape, a[0].tensor, a[1].tensor,
                                               ms_given_shape(f, a[0])->dims[0]));
}

MS_OPERATION(apply_inputs_require_grad)
{
    (void)call, (void)a;
    return ms_value_of_number(f->model->run->images.checkpoints ||
                              ms_inputs_require_grad(f->model));
}

/* Rows of the table of learned positions for each patch, and their weights. */
MS_OPERATION(apply_resampled_places)
{
    ms_tensor both[2] = {0};
    (void)a;
    ms_resampled_places(f->model, both);
    return ms_frame_tensors(f, call, 2, both);
}

/* x[mask], which has as many rows as there are image tokens. */
MS_OPERATION(apply_image_rows)
{
    ms_symbols *s = &f->model->tape->trace->symbols;
    if (!ms_given_tensor(f, call, a[0]) || !ms_given_tensor(f, call, a[1]))
        return (ms_value){0};
    const uint64_t count = (uint64_t)ms_image_count(f->model) * f->model->run->images.grid.tokens;
    return ms_value_of_tensor(
        ms_index_mask(f->model->tape, a[0].tensor, a[1].tensor, ms_dim_number(s, count)));
}

/* x[mask] = rows */
MS_OPERATION(apply_put_rows)
{
    for (int i = 0; i < 3; i++)
        if (a[i].kind != MS_VALUE_TENSOR)
            return ms_frame_failed(f, call, "expected a mask and rows, both tensors");
    return ms_value_of_tensor(ms_put_mask(f->model->tape, a[0].tensor, a[1].tensor, a[2].tensor));
}

MS_OPERATION(apply_clone)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_clone(f->model->tape, a[0].tensor));
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("resampled_places", "", "", apply_resampled_places),
    MS_OPERATION_ROW("image_rows", "x mask", "vv", apply_image_rows),
    MS_OPERATION_ROW("put_rows", "x mask rows", "vvv", apply_put_rows),
    MS_OPERATION_ROW("clone", "x", "v", apply_clone),
    MS_OPERATION_ROW("split_windows", "x", "v", apply_split_windows),
    MS_OPERATION_ROW("split_images", "x", "v", apply_split_images),
    MS_OPERATION_ROW("attend_each", "query key value", "vvv", apply_attend_each),
    MS_OPERATION_ROW("count_windows", "listed", "|v", apply_count_windows),
    MS_OPERATION_ROW("count_images", "", "", apply_count_images),
    MS_OPERATION_ROW("image_token_count", "", "", apply_image_tokens),
    MS_OPERATION_ROW("grid_places", "", "", apply_grid_places),
    MS_OPERATION_ROW("grid_positions", "", "", apply_grid_positions),
    MS_OPERATION_ROW("join_images", "x", "v", apply_join_images),
    MS_OPERATION_ROW("image_video_masks", "ids", "v", apply_image_video_masks),
    MS_OPERATION_ROW("host_order", "count", "v", apply_host_order),
    MS_OPERATION_ROW("in_order", "x order", "vv", apply_in_order),
    MS_OPERATION_ROW("inputs_require_grad", "", "", apply_inputs_require_grad),
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
