/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions and methods that Python has.
 */
#include <math.h>

#include "model/evaluator/evaluate.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

MS_OPERATION(apply_len)
{
    if (a[0].kind == MS_VALUE_LIST)
        return ms_value_of_number(a[0].items->count);
    if (a[0].kind == MS_VALUE_MODULE && a[0].part->is_list)
        return ms_value_of_number(a[0].part->count);
    return ms_frame_failed(f, call, "expected a list");
}

MS_OPERATION(apply_int)
{
    if (a[0].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected a number");
    return a[0].is_dim ? a[0] : ms_value_of_number(trunc(a[0].number));
}

MS_OPERATION(apply_floor)
{
    if (a[0].kind == MS_VALUE_TENSOR && !ms_needs_grad(f->model->tape, a[0].tensor))
        return ms_value_of_tensor(ms_floor(f->model->tape, a[0].tensor));
    if (a[0].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected a number");
    return ms_value_of_number(floor(a[0].number));
}

MS_OPERATION(apply_log2)
{
    if (a[0].kind != MS_VALUE_NUMBER || !(a[0].number > 0))
        return ms_frame_failed(f, call, "expected a number above 0");
    return ms_value_of_number(log2(a[0].number));
}

/* torch.min(x, y), element by element, of tensors without gradients. */
static ms_value of_elements(ms_frame *f, const ms_text_node *call, const ms_items *items)
{
    ms_tape *tape = f->model->tape;
    ms_tensor both[2] = {0};
    for (uint32_t i = 0; i < items->count && items->count == 2; i++)
        both[i] = items->values[i].tensor;
    if (!both[0] || !both[1] || ms_needs_grad(tape, both[0]) || ms_needs_grad(tape, both[1]))
        return ms_frame_failed(f, call, "expected two tensors without gradients");
    if (!ms_check_broadcast(f, call, both[0], both[1]))
        return (ms_value){0};
    return ms_value_of_tensor(
        ms_elementwise_out(tape, 2, both, (ms_dtype)ms_info(tape, both[0])->dtype));
}

static ms_value extreme(ms_frame *f, const ms_text_node *call, const ms_value *a, bool most)
{
    if (a[0].kind == MS_VALUE_LIST && a[0].items->count > 0 &&
        a[0].items->values[0].kind == MS_VALUE_TENSOR)
        return of_elements(f, call, a[0].items);
    ms_value out = a[0];
    if (a[0].kind == MS_VALUE_LIST && a[0].items->count > 0)
        out = a[0].items->values[0];
    for (uint32_t i = 0; a[0].kind == MS_VALUE_LIST && i < a[0].items->count; i++) {
        const ms_value value = a[0].items->values[i];
        if (value.kind != MS_VALUE_NUMBER)
            return ms_frame_failed(f, call, "expected numbers");
        if (most ? value.number > out.number : value.number < out.number)
            out = value;
    }
    return out.kind == MS_VALUE_NUMBER ? out : ms_frame_failed(f, call, "expected numbers");
}

/* x.max(-1) of a tensor: the most of each row, and where it is. */
static ms_value largest(ms_frame *f, const ms_text_node *call, const ms_items *given)
{
    ms_tensor out[2];
    if (given->count != 2 || !ms_given_last(f, call, given->values[0], given->values[1]))
        return ms_frame_failed(f, call, "expected a tensor and its last dimension");
    ms_max_last(f->model->tape, given->values[0].tensor, false, out);
    return ms_frame_tensors(f, call, 2, out);
}

MS_OPERATION(apply_max)
{
    if (a[0].kind == MS_VALUE_LIST && a[0].items->count > 0 &&
        a[0].items->values[0].kind == MS_VALUE_TENSOR)
        return largest(f, call, a[0].items);
    return extreme(f, call, a, true);
}

MS_OPERATION(apply_min)
{
    return extreme(f, call, a, false);
}

MS_OPERATION(apply_range)
{
    const double first = a[1].kind == MS_VALUE_NUMBER ? a[0].number : 0;
    const double end = a[1].kind == MS_VALUE_NUMBER ? a[1].number : a[0].number;
    const double step = a[2].kind == MS_VALUE_NUMBER ? a[2].number : 1;
    if (a[0].kind != MS_VALUE_NUMBER || !(step >= 1))
        return ms_frame_failed(f, call, "expected whole numbers");
    ms_value out = {.kind = MS_VALUE_LIST, .items = ms_items_new(ms_frame_pool(f), 1)};
    for (double i = first; out.items && i < end; i += step)
        if (!ms_items_add(f->model->tape, ms_frame_pool(f), out.items, ms_value_of_number(i),
                          NULL)) {
            ms_value_consume(f->model->tape, ms_frame_pool(f), out);
            return ms_frame_failed(f, call, "a loop may have at most 512 rounds");
        }
    return out.items ? out : (ms_value){0};
}

/* Tuples of the i-th values of all lists. */
MS_OPERATION(apply_zip)
{
    ms_tape *tape = f->model->tape;
    ms_items_pool *pool = ms_frame_pool(f);
    ms_value out = {.kind = MS_VALUE_LIST, .items = ms_items_new(pool, 1)};
    uint32_t count = a[0].kind == MS_VALUE_LIST ? MS_ITEMS_MOST : 0;
    for (uint32_t k = 0; k < 2; k++)
        if (a[k].kind != MS_VALUE_LIST)
            return ms_frame_failed(f, call, "expected two lists");
        else if (a[k].items->count < count)
            count = a[k].items->count;
    for (uint32_t i = 0; out.items && i < count; i++) {
        ms_value pair = {.kind = MS_VALUE_LIST, .items = ms_items_new(pool, 2)};
        for (uint32_t k = 0; pair.items && k < 2; k++)
            (void)ms_items_add(tape, pool, pair.items, a[k].items->values[i], NULL);
        if (pair.items)
            (void)ms_items_add(tape, pool, out.items, pair, NULL);
    }
    return out.items ? out : (ms_value){0};
}

MS_OPERATION(apply_enumerate)
{
    ms_tape *tape = f->model->tape;
    ms_items_pool *pool = ms_frame_pool(f);
    ms_value out = {.kind = MS_VALUE_LIST, .items = ms_items_new(pool, 1)};
    if (a[0].kind != MS_VALUE_LIST)
        return ms_frame_failed(f, call, "expected a list");
    for (uint32_t i = 0; out.items && i < a[0].items->count; i++) {
        ms_value pair = {.kind = MS_VALUE_LIST, .items = ms_items_new(pool, 2)};
        if (!pair.items)
            continue;
        (void)ms_items_add(tape, pool, pair.items, ms_value_of_number(i), NULL);
        (void)ms_items_add(tape, pool, pair.items, a[0].items->values[i], NULL);
        (void)ms_items_add(tape, pool, out.items, pair, NULL);
    }
    return out.items ? out : (ms_value){0};
}

MS_OPERATION(apply_append)
{
    if (a[0].kind != MS_VALUE_LIST || a[0].items->is_dict)
        return ms_frame_failed(f, call, "expected a list");
    if (!ms_items_add(f->model->tape, ms_frame_pool(f), a[0].items, a[1], NULL))
        return ms_frame_failed(
            f, call,
            "a list may have at most 512 values, and lists within lists may not contain lists");
    return (ms_value){0};
}

static const ms_primitive builtins[] = {
    MS_OPERATION_ROW("len", "list", "v", apply_len),
    MS_OPERATION_ROW("int", "number", "v", apply_int),
    MS_OPERATION_ROW("floor", "number", "v", apply_floor),
    MS_OPERATION_ROW("log2", "number", "v", apply_log2),
    MS_OPERATION_ROW("max", "*numbers", "v", apply_max),
    MS_OPERATION_ROW("min", "*numbers", "v", apply_min),
    MS_OPERATION_ROW("range", "start end step", "v|vv", apply_range),
    MS_OPERATION_ROW("zip", "first second", "vv", apply_zip),
    MS_OPERATION_ROW("enumerate", "list", "v", apply_enumerate),
    MS_OPERATION_ROW("append", "list value", "vv", apply_append),
};

const ms_primitive_list ms_builtin_rows = {builtins, sizeof builtins / sizeof *builtins};
