/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * x[...]: of a list one value or a part, of a tensor views, one for each subscript as in PyTorch.
 */
#include <string.h>

#include "model/evaluator/evaluate.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* A bound of a slice over `count` elements, as Python takes it; `otherwise` where there is none. */
static uint64_t bound_of(ms_frame *f, const ms_text_node *node, uint64_t count, uint64_t otherwise)
{
    if (node->kind == MS_NODE_NONE)
        return otherwise;
    const ms_value value = ms_frame_value(f, node);
    if (value.kind != MS_VALUE_NUMBER && value.kind != MS_VALUE_NONE) {
        ms_value_consume(f->model->tape, ms_frame_pool(f), value);
        ms_frame_fail(f, node, "expected a number");
        return 0;
    }
    if (value.kind == MS_VALUE_NONE)
        return otherwise;
    const double number = value.number < 0 ? value.number + (double)count : value.number;
    return number <= 0 ? 0 : number >= (double)count ? count : (uint64_t)number;
}

/* ---- lists ---- */

static ms_value part_of_list(ms_frame *f, const ms_text_node *slice, const ms_items *items)
{
    const uint64_t first = bound_of(f, slice->items[0], items->count, 0);
    const uint64_t end = bound_of(f, slice->items[1], items->count, items->count);
    ms_value out = {.kind = MS_VALUE_LIST,
                    .items = ms_items_new(ms_frame_pool(f), items->count ? items->count : 1)};
    if (slice->items[2]->kind != MS_NODE_NONE || !out.items) {
        ms_frame_fail(f, slice, "a part of a list has no steps");
        return (ms_value){0};
    }
    for (uint64_t i = first; i < end; i++)
        (void)ms_items_add(f->model->tape, ms_frame_pool(f), out.items, items->values[i], NULL);
    return out;
}

static ms_value item_of(ms_frame *f, const ms_text_node *node, const ms_items *items)
{
    const ms_value key = ms_frame_value(f, node);
    if (items->is_dict && key.kind == MS_VALUE_TEXT)
        for (uint32_t i = 0; i < items->count; i++)
            if (strcmp(items->names[i], key.text) == 0)
                return items->values[i];
    if (key.kind == MS_VALUE_NUMBER && !items->is_dict) {
        const double place = key.number < 0 ? key.number + items->count : key.number;
        if (place >= 0 && place < items->count)
            return items->values[(uint32_t)place];
    }
    ms_frame_fail(f, node, "there is no such value: there are %u", items->count);
    return (ms_value){0};
}

static ms_value of_list(ms_frame *f, const ms_text_node *node, ms_value list)
{
    ms_tape *tape = f->model->tape;
    if (node->count != 2) {
        ms_frame_fail(f, node, "a list has one subscript");
        return (ms_value){0};
    }
    ms_value_retain(tape, list);
    const ms_value out = node->items[1]->kind == MS_NODE_SLICE
                             ? part_of_list(f, node->items[1], list.items)
                             : item_of(f, node->items[1], list.items);
    ms_value_retain(tape, out);
    ms_value_release(tape, ms_frame_pool(f), list);
    return ms_value_unown(tape, out);
}

/* ---- tensors ---- */

/* The tensor as far as the subscripts were applied, and the dimension that is next. */
typedef struct taking {
    ms_frame *frame;
    ms_tensor tensor;
    uint32_t dim;
    bool is_view; /* some subscript made one */
} taking;

static ms_dim dim_at(const taking *t)
{
    return ms_info(t->frame->model->tape, t->tensor)->shape.dims[t->dim];
}

static bool is_half(ms_symbols *s, ms_dim whole, ms_dim part)
{
    return whole.value == 2 * part.value && part.symbol == ms_dim_half(s, whole).symbol;
}

/* The size that a bound is, with its symbol where nothing was cut off. */
static ms_dim length_of(taking *t, const ms_text_node *slice, uint64_t first, uint64_t end)
{
    ms_symbols *s = &t->frame->model->tape->trace->symbols;
    const ms_dim whole = dim_at(t);
    if (first == 0 && slice->items[1]->kind != MS_NODE_NONE &&
        slice->items[1]->kind != MS_NODE_NEGATIVE) {
        const ms_dim wanted = ms_frame_dim(t->frame, slice->items[1]);
        if (wanted.value == end)
            return wanted;
    }
    if (first > 0 && slice->items[1]->kind == MS_NODE_NONE &&
        slice->items[0]->kind != MS_NODE_NEGATIVE) {
        const ms_dim left_out = ms_frame_dim(t->frame, slice->items[0]);
        if (left_out.value == first)
            return is_half(s, whole, left_out) ? left_out : ms_dim_rest(s, whole, left_out);
    }
    return end - first == whole.value                               ? whole
           : whole.value % 2 == 0 && end - first == whole.value / 2 ? ms_dim_half(s, whole)
                                                                    : ms_dim_number(s, end - first);
}

static void take_slice(taking *t, const ms_text_node *slice)
{
    ms_frame *f = t->frame;
    ms_tape *tape = f->model->tape;
    const uint64_t count = dim_at(t).value;
    const uint64_t first = bound_of(f, slice->items[0], count, 0);
    const uint64_t end = bound_of(f, slice->items[1], count, count);
    const bool has_step = slice->items[2]->kind != MS_NODE_NONE;
    const double step = has_step ? ms_frame_number(f, slice->items[2], 1) : 1;
    const bool is_last = t->dim + 1 == ms_info(tape, t->tensor)->shape.rank;
    if (ms_idle(tape))
        return;
    if (has_step && !(step < 2 || step > 2) && is_last && count % 2 == 0 && first < 2 &&
        end == count) {
        t->tensor = ms_slice_every_second(tape, t->tensor);
        t->is_view = true;
    } else if (step < 1 || step > 1 || end < first) {
        ms_frame_fail(f, slice, "this leaves no elements, or has steps that are not supported");
    } else if (end - first < count || (slice->items[1]->kind != MS_NODE_NONE &&
                                       ms_info(tape, t->tensor)->dtype == MS_DTYPE_I64)) {
        /* of ids, of which all have the symbol of the bound */
        t->tensor = ms_narrow(tape, t->tensor, t->dim, length_of(t, slice, first, end));
        t->is_view = true;
    }
    t->dim++;
}

/* A tensor of whole numbers picks rows of the first dimension, in its own shape. */
static void take_rows(taking *t, const ms_text_node *node, ms_tensor rows, bool is_only)
{
    ms_tape *tape = t->frame->model->tape;
    const ms_tensor_info *info = ms_info(tape, rows);
    const uint32_t rank = info->shape.rank + ms_info(tape, t->tensor)->shape.rank - 1;
    if (info->dtype != MS_DTYPE_I64 || rank > MS_MAX_RANK || t->dim != 0 || !is_only) {
        ms_frame_fail(t->frame, node,
                      "of tensors in [...] only ids in the first place are supported");
        return;
    }
    t->tensor = ms_index_rows(tape, t->tensor, rows);
    t->is_view = true;
}

/* [-1]: a list of one place, which keeps the dimension. */
static bool is_one(ms_value value, double count)
{
    return value.kind == MS_VALUE_LIST && value.items->count == 1 &&
           value.items->values[0].kind == MS_VALUE_NUMBER &&
           value.items->values[0].number < count && value.items->values[0].number >= -count;
}

static void take(taking *t, const ms_text_node *node, bool is_only)
{
    ms_tape *tape = t->frame->model->tape;
    if (node->kind == MS_NODE_NONE) {
        if (ms_info(tape, t->tensor)->shape.rank == MS_MAX_RANK) {
            ms_frame_fail(t->frame, node, "a tensor may have at most %d dimensions", MS_MAX_RANK);
            return;
        }
        t->tensor = ms_unsqueeze(tape, t->tensor, t->dim++);
        t->is_view = true;
        return;
    }
    if (t->dim >= ms_info(tape, t->tensor)->shape.rank) {
        ms_frame_fail(t->frame, node, "the tensor has %u dimensions",
                      ms_info(tape, t->tensor)->shape.rank);
        return;
    }
    if (node->kind == MS_NODE_SLICE) {
        take_slice(t, node);
        return;
    }
    const ms_value value = ms_frame_value(t->frame, node);
    const double count = ms_idle(tape) ? 0 : (double)dim_at(t).value;
    if (ms_idle(tape))
        return;
    if (is_one(value, count)) {
        t->tensor = ms_index_one(tape, t->tensor, t->dim++);
        t->is_view = true;
    } else if (value.kind == MS_VALUE_TENSOR) {
        take_rows(t, node, value.tensor, is_only);
    } else if (value.kind == MS_VALUE_NUMBER && value.number < count && value.number >= -count) {
        t->tensor = ms_select(tape, t->tensor, t->dim);
        t->is_view = true;
    } else {
        ms_frame_fail(t->frame, node, "there is no such index in a dimension of %.0f", count);
    }
}

static ms_value of_tensor(ms_frame *f, const ms_text_node *node, ms_tensor tensor)
{
    ms_tape *tape = f->model->tape;
    taking t = {.frame = f, .tensor = tensor};
    uint32_t named = 0; /* subscripts that are of a dimension */
    for (uint32_t i = 1; i < node->count; i++)
        named += node->items[i]->kind != MS_NODE_NONE && node->items[i]->kind != MS_NODE_ELLIPSIS;
    for (uint32_t i = 1; i < node->count && !ms_idle(tape); i++) {
        const uint32_t rank = ms_info(tape, t.tensor)->shape.rank;
        if (node->items[i]->kind != MS_NODE_ELLIPSIS) {
            take(&t, node->items[i], node->count == 2);
            named -= node->items[i]->kind != MS_NODE_NONE;
        } else if (t.dim + named <= rank) {
            t.dim = rank - named;
        }
    }
    if (ms_idle(tape))
        return (ms_value){0};
    if (!t.is_view) /* an alias, as torch makes one where nothing changes */
        t.tensor = ms_slice_last(
            tape, t.tensor,
            ms_info(tape, t.tensor)->shape.dims[ms_info(tape, t.tensor)->shape.rank - 1]);
    return ms_value_of_tensor(t.tensor);
}

ms_value ms_index_value(ms_frame *f, const ms_text_node *node, ms_value base)
{
    if (ms_idle(f->model->tape))
        return (ms_value){0};
    if (base.kind == MS_VALUE_LIST)
        return of_list(f, node, base);
    if (base.kind == MS_VALUE_TENSOR && ms_info(f->model->tape, base.tensor)->shape.rank > 0)
        return of_tensor(f, node, base.tensor);
    if (base.kind == MS_VALUE_MODULE && base.part->is_list && !base.object && node->count == 2) {
        const double place = ms_frame_number(f, node->items[1], -1);
        if (place >= 0 && place < base.part->count) {
            if (base.part->parts)
                base.part = &base.part->parts[(uint32_t)place];
            else
                base.object = &base.part->objects[(uint32_t)place];
            return base;
        }
    }
    if (base.kind == MS_VALUE_MODULE && base.object && base.object->klass->is_numbered &&
        node->count == 2) {
        const double place = ms_frame_number(f, node->items[1], -1);
        if (place >= 0 && place < base.object->klass->field_count)
            return ms_part_value(&base.object->parts[(uint32_t)place]);
    }
    ms_frame_fail(f, node, "this cannot be indexed");
    return (ms_value){0};
}
