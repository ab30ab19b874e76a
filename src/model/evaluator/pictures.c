/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of Gemma's images: pooled pictures, and masks in which tokens of one image see each other.
 */
#include "model/blocks/attention/masks.h"
#include "model/blocks/image_masks.h"
#include "model/blocks/patch_rows.h"
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
        return ms_frame_failed(
            f, call, "expected a picture [B, C, height, width], and how wide the windows are");
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

/* ---- patches with padding ---- */

MS_OPERATION(apply_patch_places)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->image_places);
}

MS_OPERATION(apply_patch_padding)
{
    (void)call, (void)a;
    return ms_value_of_tensor(ms_patch_padding(f->model));
}

MS_OPERATION(apply_patch_mask)
{
    (void)call, (void)a;
    return ms_value_of_tensor(ms_patch_mask(f->model));
}

MS_OPERATION(apply_patch_squares)
{
    ms_tensor out[3];
    (void)a;
    ms_patch_squares(f->model, out);
    return ms_frame_tensors(f, call, 3, out);
}

MS_OPERATION(apply_pooled_tokens)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (ms_given_shape(f, a[0])->rank != 3)
        return ms_frame_failed(f, call, "expected shares [images, patches, tokens]");
    return ms_value_of_tensor(ms_pooled_tokens(f->model, a[0].tensor));
}

MS_OPERATION(apply_count_patches)
{
    (void)call, (void)a;
    ms_count_patches(f->model);
    return (ms_value){0};
}

MS_OPERATION(apply_count_elements)
{
    if (ms_given_tensor(f, call, a[0]))
        ms_count_image_elements(f->model, a[0].tensor);
    return (ms_value){0};
}

/* torch.where(condition, row, x), whose result nothing reads. */
MS_OPERATION(apply_unread_where)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected a condition and a tensor");
    if (ms_needs_grad(tape, a[1].tensor))
        ms_save_in_passing(tape, a[0].tensor);
    const ms_tensor_info x = *ms_info(tape, a[1].tensor);
    return ms_value_of_tensor(ms_empty(tape, x.shape, (ms_dtype)x.dtype));
}

/* Whether positions begin anew within a sequence, which is read. */
MS_OPERATION(apply_look_for_documents)
{
    if (ms_given_tensor(f, call, a[0]))
        ms_look_for_packed_sequences(f->model, a[0].tensor);
    return (ms_value){0};
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("patch_places", "", "", apply_patch_places),
    MS_OPERATION_ROW("patch_padding", "", "", apply_patch_padding),
    MS_OPERATION_ROW("patch_mask", "", "", apply_patch_mask),
    MS_OPERATION_ROW("patch_squares", "", "", apply_patch_squares),
    MS_OPERATION_ROW("pooled_tokens", "shares", "v", apply_pooled_tokens),
    MS_OPERATION_ROW("count_patches", "", "", apply_count_patches),
    MS_OPERATION_ROW("count_image_elements", "x", "v", apply_count_elements),
    MS_OPERATION_ROW("unread_where", "condition x", "vv", apply_unread_where),
    MS_OPERATION_ROW("look_for_documents", "position_ids", "v", apply_look_for_documents),
    MS_OPERATION_ROW("avg_pool2d", "x kernel_size", "vv", apply_avg_pool2d),
    MS_OPERATION_ROW("image_blocks", "ids or_videos", "v|v", apply_image_blocks),
    MS_OPERATION_ROW("image_mask", "sliding", "|v", apply_image_mask),
};

const ms_primitive_list ms_picture_rows = {rows, sizeof rows / sizeof *rows};
