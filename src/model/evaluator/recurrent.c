/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What layers without attention call beside the rows of other models: short convolutions along the
 * sequence, and what scans are made of.
 */
#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

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

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("conv1d", "x weight bias padding groups", "vvvvv", apply_conv1d),
};

const ms_primitive_list ms_recurrent_rows = {rows, sizeof rows / sizeof *rows};
