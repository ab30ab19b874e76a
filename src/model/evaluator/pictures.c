/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of Gemma's images: pooled pictures, and masks in which tokens of one image see each other.
 */
#include "model/blocks/image_masks.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

/* F.avg_pool2d(x, kernel_size), of windows side by side. */
MS_OPERATION(apply_avg_pool2d)
{
    ms_symbols *s = &f->model->tape->trace->symbols;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_shape *shape = ms_given_shape(f, a[0]);
    const uint64_t size = a[1].kind == MS_VALUE_NUMBER ? ms_size_of_value(f, a[1]).value : 0;
    if (shape->rank != 4 || size == 0 || shape->dims[2].value < size || shape->dims[3].value < size)
        return ms_frame_failed(f, call,
                               "a picture [B, C, height, width], and how wide the windows "
                               "are, are wanted here");
    const ms_dim rows = ms_dim_number(s, shape->dims[2].value / size);
    const ms_dim columns = ms_dim_number(s, shape->dims[3].value / size);
    return ms_value_of_tensor(ms_avg_pool(f->model->tape, a[0].tensor, rows, columns));
}

/* The number of each token's image, -1 for text. */
MS_OPERATION(apply_image_blocks)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_image_blocks(f->model, a[0].tensor, ms_given_true(a[1])));
}

MS_OPERATION(apply_image_mask)
{
    (void)call;
    return ms_value_of_tensor(ms_image_mask(f->model, ms_given_true(a[0])));
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("avg_pool2d", "x kernel_size", "vv", apply_avg_pool2d),
    MS_OPERATION_ROW("image_blocks", "ids or_videos", "v|v", apply_image_blocks),
    MS_OPERATION_ROW("image_mask", "sliding", "|v", apply_image_mask),
};

const ms_primitive_list ms_picture_rows = {rows, sizeof rows / sizeof *rows};
