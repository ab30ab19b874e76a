/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Expressions.
 */
#include "model/evaluator/evaluate.h"

#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"
#include "torch/ops/parts.h"

static bool is_same(ms_value a, ms_value b)
{
    if (a.kind != b.kind)
        return false;
    switch ((int)a.kind) {
    case MS_VALUE_NONE:
        return true;
    case MS_VALUE_NUMBER:
    case MS_VALUE_TYPE:
        return !(a.number < b.number || a.number > b.number);
    case MS_VALUE_TEXT:
        return strcmp(a.text, b.text) == 0;
    case MS_VALUE_TENSOR:
        return a.tensor == b.tensor;
    case MS_VALUE_LIST:
        if (a.items == b.items || a.items->count != b.items->count)
            return a.items == b.items;
        for (uint32_t i = 0; i < a.items->count; i++)
            if (!is_same(a.items->values[i], b.items->values[i]))
                return false;
        return true;
    default:
        return a.part == b.part && a.object == b.object;
    }
}

/* Whether a list has a value, or a dict a name. */
static bool is_in(ms_value value, ms_value list)
{
    if (list.kind != MS_VALUE_LIST)
        return false;
    for (uint32_t i = 0; i < list.items->count; i++)
        if (list.items->is_dict
                ? value.kind == MS_VALUE_TEXT && strcmp(list.items->names[i], value.text) == 0
                : is_same(value, list.items->values[i]))
            return true;
    return false;
}

/* ---- operators ---- */

static bool is_literal(const ms_symbols *symbols, ms_dim dim)
{
    return symbols->table.items[dim.symbol].kind == MS_SYMBOL_NUMBER;
}

static ms_value of_sizes(ms_frame *f, const ms_text_node *node, ms_value a, ms_value b)
{
    ms_symbols *s = &f->model->tape->trace->symbols;
    const ms_dim x = ms_size_of_value(f, a), y = ms_size_of_value(f, b);
    switch ((int)node->kind) {
    case MS_NODE_ADD:
        return ms_value_of_dim(is_literal(s, x) && is_literal(s, y)
                                   ? ms_dim_number(s, x.value + y.value)
                                   : ms_dim_add(s, x, y));
    case MS_NODE_SUBTRACT:
        return ms_value_of_dim(ms_dim_rest(s, x, y));
    case MS_NODE_MULTIPLY:
        return ms_value_of_dim(ms_dim_mul(s, x, y));
    default:
        return ms_value_of_dim(y.value == 2 && x.value % 2 == 0
                                   ? ms_dim_half(s, x)
                                   : ms_dim_number(s, x.value / y.value));
    }
}

static bool is_whole(ms_value value)
{
    return value.number >= 0 && value.number < 1e15 && !(floor(value.number) < value.number);
}

static ms_value operate_numbers(ms_frame *f, const ms_text_node *node, ms_value a, ms_value b)
{
    const bool divides = node->kind == MS_NODE_DIVIDE || node->kind == MS_NODE_DIVIDE_WHOLE ||
                         node->kind == MS_NODE_REMAINDER;
    if (divides && !(b.number < 0 || b.number > 0)) {
        ms_frame_fail(f, node, "this divides by 0");
        return ms_value_of_number(0);
    }
    const bool are_sizes = (a.is_dim || b.is_dim) && is_whole(a) && is_whole(b);
    const bool has_symbol = node->kind == MS_NODE_ADD || node->kind == MS_NODE_MULTIPLY ||
                            node->kind == MS_NODE_DIVIDE_WHOLE ||
                            (node->kind == MS_NODE_SUBTRACT && a.number >= b.number);
    if (are_sizes && has_symbol)
        return of_sizes(f, node, a, b);
    return ms_value_of_number(ms_numbers_operate(node->kind, a.number, b.number));
}

/* A tensor with a number, in this order or the other. */
static ms_tensor with_number(ms_frame *f, const ms_text_node *node, ms_tensor a, bool number_first)
{
    ms_tape *tape = f->model->tape;
    const bool in_place = node->index == 1;
    switch ((int)node->kind) {
    case MS_NODE_MULTIPLY:
        return in_place ? ms_mul_scalar_(tape, a) : ms_mul_scalar(tape, a);
    case MS_NODE_ADD:
    case MS_NODE_SUBTRACT:
        if (in_place)
            break;
        return ms_add_scalar(tape, a);
    case MS_NODE_DIVIDE:
        if (number_first)
            break;
        return in_place ? ms_div_scalar_(tape, a) : ms_div_scalar(tape, a);
    case MS_NODE_DIVIDE_WHOLE:
        if (number_first)
            break;
        return ms_floor_divide(tape, a);
    case MS_NODE_POWER:
        if (number_first)
            break;
        return ms_pow(tape, a);
    case MS_NODE_EQUAL:
    case MS_NODE_UNEQUAL:
    case MS_NODE_LESS:
    case MS_NODE_AT_MOST:
    case MS_NODE_GREATER:
    case MS_NODE_AT_LEAST:
        return ms_compare(tape, a, 0);
    default:
        break;
    }
    ms_frame_fail(f, node, "this operator is not known of a tensor and a number");
    return 0;
}

static ms_tensor matrix_product(ms_frame *f, const ms_text_node *node, ms_tensor a, ms_tensor b)
{
    if (ms_check_product(f, node, a, b))
        return ms_matmul(f->model->tape, a, b);
    return 0;
}

/* Of the same type, or whole numbers. */
static bool is_divisor(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    const uint32_t type = ms_info(tape, b)->dtype;
    return type == ms_info(tape, a)->dtype || type == MS_DTYPE_I64;
}

static ms_tensor of_tensors(ms_frame *f, const ms_text_node *node, ms_tensor a, ms_tensor b)
{
    ms_tape *tape = f->model->tape;
    const bool in_place = node->index == 1;
    if (node->kind == MS_NODE_PRODUCT)
        return matrix_product(f, node, a, b);
    if (!ms_check_broadcast(f, node, a, b))
        return 0;
    if (in_place && !ms_check_covers(f, a, b)) {
        ms_frame_fail(f, node, "an operator in place must keep the tensor's shape");
        return 0;
    }
    switch ((int)node->kind) {
    case MS_NODE_ADD:
        return in_place ? ms_add_to_view(tape, a, b) : ms_add(tape, a, b);
    case MS_NODE_SUBTRACT:
        if (in_place)
            break;
        return ms_sub(tape, a, b);
    case MS_NODE_MULTIPLY:
        if (in_place && ms_needs_grad(tape, b))
            break;
        if (ms_info(tape, a)->dtype == MS_DTYPE_C64 && ms_info(tape, b)->dtype == MS_DTYPE_C64 &&
            !in_place && !ms_needs_grad(tape, b))
            return ms_mul_complex(tape, a, b);
        return in_place ? ms_mul_(tape, a, b) : ms_mul(tape, a, b);
    case MS_NODE_DIVIDE:
        if (in_place)
            return ms_div_into(tape, a, b);
        if (!ms_check_covers(f, a, b) || !is_divisor(tape, a, b))
            break;
        return ms_div(tape, a, b);
    case MS_NODE_EQUAL:
    case MS_NODE_UNEQUAL:
    case MS_NODE_LESS:
    case MS_NODE_AT_MOST:
    case MS_NODE_GREATER:
    case MS_NODE_AT_LEAST:
        return ms_compare(tape, a, b);
    default:
        break;
    }
    ms_frame_fail(f, node, "this operator is not known of these tensors");
    return 0;
}

/* (1, 2) + (3,) */
static ms_value join(ms_frame *f, const ms_text_node *node, ms_value a, ms_value b)
{
    ms_tape *tape = f->model->tape;
    ms_value out = {.kind = MS_VALUE_LIST,
                    .items = ms_items_new(ms_frame_pool(f), a.items->count + b.items->count)};
    const ms_value sides[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; out.items && i < sides[k].items->count; i++)
            (void)ms_items_add(tape, ms_frame_pool(f), out.items, sides[k].items->values[i], NULL);
        ms_value_consume(tape, ms_frame_pool(f), sides[k]);
    }
    if (!out.items)
        ms_frame_fail(f, node, "a list may have at most %d values", MS_ITEMS_MOST);
    return out.items ? out : (ms_value){0};
}

static ms_value operate(ms_frame *f, const ms_text_node *node)
{
    ms_value a = ms_frame_value(f, node->items[0]), b = ms_frame_value(f, node->items[1]);
    const bool first_is_tensor = a.kind == MS_VALUE_TENSOR;
    if (ms_idle(f->model->tape))
        return (ms_value){0};
    if (first_is_tensor && b.kind == MS_VALUE_TENSOR)
        return ms_value_of_tensor(of_tensors(f, node, a.tensor, b.tensor));
    if (first_is_tensor && b.kind == MS_VALUE_NUMBER)
        return ms_value_of_tensor(with_number(f, node, a.tensor, false));
    if (a.kind == MS_VALUE_NUMBER && b.kind == MS_VALUE_TENSOR)
        return ms_value_of_tensor(with_number(f, node, b.tensor, true));
    const bool compares = node->kind == MS_NODE_EQUAL || node->kind == MS_NODE_UNEQUAL;
    if (compares || node->kind == MS_NODE_IN || node->kind == MS_NODE_NOT_IN) {
        const bool is_true = compares ? is_same(a, b) : is_in(a, b);
        ms_value_consume(f->model->tape, ms_frame_pool(f), a);
        ms_value_consume(f->model->tape, ms_frame_pool(f), b);
        return ms_value_of_number(is_true ==
                                  (node->kind == MS_NODE_EQUAL || node->kind == MS_NODE_IN));
    }
    if (a.kind == MS_VALUE_NUMBER && b.kind == MS_VALUE_NUMBER && node->kind != MS_NODE_PRODUCT)
        return operate_numbers(f, node, a, b);
    if (a.kind == MS_VALUE_LIST && b.kind == MS_VALUE_LIST && node->kind == MS_NODE_ADD)
        return join(f, node, a, b);
    ms_frame_fail(f, node, "this operator does not take these operands");
    return (ms_value){0};
}

static ms_value negative(ms_frame *f, const ms_text_node *node)
{
    const ms_value value = ms_frame_value(f, node->items[0]);
    if (value.kind == MS_VALUE_TENSOR)
        return ms_value_of_tensor(ms_neg(f->model->tape, value.tensor));
    if (value.kind != MS_VALUE_NUMBER)
        ms_frame_fail(f, node, "this operator does not take this operand");
    return ms_value_of_number(-value.number);
}

/* a is None, a is not None */
static ms_value is_identical(ms_frame *f, const ms_text_node *node)
{
    ms_value sides[2];
    for (int i = 0; i < 2; i++)
        sides[i] = ms_frame_value(f, node->items[i]);
    const bool is_true = is_same(sides[0], sides[1]);
    for (int i = 0; i < 2; i++)
        ms_value_consume(f->model->tape, ms_frame_pool(f), sides[i]);
    return ms_value_of_number(is_true == (node->kind == MS_NODE_IS));
}

/* and, or: the first that decides, or the second. */
static ms_value either(ms_frame *f, const ms_text_node *node)
{
    const ms_value first = ms_frame_value(f, node->items[0]);
    if (ms_frame_is_true(f, node->items[0], first) == (node->kind == MS_NODE_OR))
        return first;
    ms_value_consume(f->model->tape, ms_frame_pool(f), first);
    return ms_frame_value(f, node->items[1]);
}

/* ---- lists ---- */

static bool add(ms_frame *f, const ms_text_node *node, ms_items *items, ms_value value,
                const char *name)
{
    ms_tape *tape = f->model->tape;
    if (ms_items_add(tape, ms_frame_pool(f), items, value, name))
        return true;
    ms_frame_fail(f, node,
                  "a list may have at most %d values, and lists may nest at most %d levels deep",
                  MS_ITEMS_MOST, MS_ITEMS_DEPTH);
    return false;
}

/* All values of a list that stands behind *. */
static void add_all(ms_frame *f, const ms_text_node *node, ms_items *items)
{
    const ms_value list = ms_frame_value(f, node->items[0]);
    if (list.kind != MS_VALUE_LIST) {
        ms_frame_fail(f, node, "expected a list after *");
        return;
    }
    ms_value_retain(f->model->tape, list);
    for (uint32_t i = 0; i < list.items->count; i++)
        if (!add(f, node, items, list.items->values[i], NULL))
            break;
    ms_value_release(f->model->tape, ms_frame_pool(f), list);
}

static ms_value list_of(ms_frame *f, const ms_text_node *node)
{
    ms_value out = {.kind = MS_VALUE_LIST,
                    .items = ms_items_new(ms_frame_pool(f), node->count ? node->count : 1)};
    if (!out.items) {
        ms_frame_fail(f, node, "a list may have at most %d values", MS_ITEMS_MOST);
        return (ms_value){0};
    }
    out.items->is_dict = node->kind == MS_NODE_TABLE;
    for (uint32_t i = 0; i < node->count && !ms_idle(f->model->tape); i++) {
        if (node->items[i]->kind == MS_NODE_STAR)
            add_all(f, node->items[i], out.items);
        else
            (void)add(f, node->items[i], out.items, ms_frame_value(f, node->items[i]),
                      node->items[i]->keyword);
    }
    return out;
}

/* [f(x) for x in list] */
static ms_value comprehension(ms_frame *f, const ms_text_node *node)
{
    ms_tape *tape = f->model->tape;
    const ms_value list = ms_frame_value(f, node->items[1]);
    ms_value out = {.kind = MS_VALUE_LIST, .items = ms_items_new(ms_frame_pool(f), 1)};
    if (list.kind != MS_VALUE_LIST || !out.items) {
        ms_frame_fail(f, node->items[1], "expected a list");
        return (ms_value){0};
    }
    ms_value_retain(tape, list);
    for (uint32_t i = 0; i < list.items->count && !ms_idle(tape); i++) {
        ms_frame_bind(f, node->index, list.items->values[i]);
        if (!add(f, node, out.items, ms_frame_value(f, node->items[0]), NULL))
            break;
    }
    ms_frame_bind(f, node->index, (ms_value){0});
    ms_value_release(tape, ms_frame_pool(f), list);
    return out;
}

/* ---- members ---- */

static ms_value field_value(const ms_frame *f, uint32_t index)
{
    return ms_part_value(&f->self->parts[index]);
}

/* A field of a module, or what memscope knows of a layer. */
static ms_value member_of(ms_frame *f, const ms_text_node *node, ms_value value)
{
    ms_frame inner = *f;
    ms_text_node fact = {.kind = MS_NODE_FACT};
    if (value.kind == MS_VALUE_MODULE && value.object) {
        inner.self = value.object;
        for (uint32_t i = 0; i < value.object->klass->field_count; i++)
            if (strcmp(value.object->klass->fields[i].name, node->text) == 0)
                return field_value(&inner, i);
        if (ms_take_fact(&fact, node->text, true))
            return ms_frame_config_number(&inner, &fact);
    }
    if (value.kind == MS_VALUE_MODULE && !value.object && strcmp(node->text, "weight") == 0) {
        if (value.part->linear.weight || value.part->norm.weight)
            return ms_value_of_tensor(value.part->linear.weight ? value.part->linear.weight
                                                                : value.part->norm.weight);
        if (value.part->tensors[0])
            return ms_value_of_tensor(value.part->tensors[0]);
    }
    if (value.kind == MS_VALUE_MODULE && !value.object && strcmp(node->text, "bias") == 0 &&
        value.part->linear.bias)
        return ms_value_of_tensor(value.part->linear.bias);
    ms_frame_fail(f, node, "this has no member '%.40s'", node->text);
    return (ms_value){0};
}

static ms_value attribute(ms_frame *f, const ms_text_node *node)
{
    ms_tape *tape = f->model->tape;
    if (node->index == MS_ATTRIBUTE_OF_TORCH)
        return ms_value_of_type((ms_dtype)node->number);
    const ms_value value = ms_frame_value(f, node->items[0]);
    if (ms_idle(tape))
        return (ms_value){0};
    if (node->index == MS_ATTRIBUTE_MEMBER)
        return member_of(f, node, value);
    if (value.kind != MS_VALUE_TENSOR) {
        ms_frame_fail(f, node, "expected a tensor");
        return (ms_value){0};
    }
    const ms_tensor_info info = *ms_info(tape, value.tensor);
    ms_value out = {0};
    if (node->index == MS_ATTRIBUTE_TYPE)
        out = ms_value_of_type((ms_dtype)info.dtype);
    else if (node->index == MS_ATTRIBUTE_RANK)
        out = ms_value_of_number(info.shape.rank);
    else if (node->index == MS_ATTRIBUTE_SHAPE)
        out = ms_shape_value(f, &info.shape);
    ms_consume(tape, value.tensor);
    return out;
}

/* ---- all ---- */

static ms_value local_of(const ms_frame *f, uint32_t slot)
{
    return f->others[slot].kind != MS_VALUE_NONE ? f->others[slot]
                                                 : ms_value_of_tensor(f->locals.slots[slot]);
}

static bool counts_step(ms_frame *f, const ms_text_node *node)
{
    ms_family_program *program = ms_frame_program(f);
    const uint64_t most = (uint64_t)MS_FAMILY_STEPS * (f->model->config->num_layers + 1);
    if (++program->steps <= most)
        return true;
    ms_frame_fail(f, node, "the model takes too many steps");
    return false;
}

static ms_value evaluate(ms_frame *f, const ms_text_node *node)
{
    switch ((int)node->kind) {
    case MS_NODE_PRIMITIVE:
        return ms_row_call(f, node);
    case MS_NODE_MODULE:
    case MS_NODE_FUNCTION:
    case MS_NODE_CALLED:
        return ms_frame_call(f, node);
    case MS_NODE_CHOICE:
        return ms_frame_value(f, node->items[ms_frame_truth(f, node->items[1]) ? 0 : 2]);
    case MS_NODE_STRING:
        return (ms_value){.kind = MS_VALUE_TEXT, .text = node->text};
    case MS_NODE_TUPLE:
    case MS_NODE_LIST:
    case MS_NODE_TABLE:
        return list_of(f, node);
    case MS_NODE_COMPREHENSION:
        return comprehension(f, node);
    case MS_NODE_ATTRIBUTE:
        return attribute(f, node);
    case MS_NODE_INDEX:
        return ms_index_value(f, node, ms_frame_value(f, node->items[0]));
    case MS_NODE_NEGATIVE:
        return negative(f, node);
    case MS_NODE_NOT:
        return ms_value_of_number(!ms_frame_truth(f, node->items[0]));
    case MS_NODE_AND:
    case MS_NODE_OR:
        return either(f, node);
    case MS_NODE_IS:
    case MS_NODE_IS_NOT:
        return is_identical(f, node);
    default:
        return operate(f, node);
    }
}

ms_value ms_family_evaluate(ms_frame *f, const ms_text_node *node)
{
    switch ((int)node->kind) {
    case MS_NODE_LOCAL:
        return local_of(f, node->index);
    case MS_NODE_GIVEN:
        return f->given[node->index];
    case MS_NODE_FIELD:
        return field_value(f, node->index);
    case MS_NODE_OBJECT:
        return (ms_value){
            .kind = MS_VALUE_MODULE, .part = ms_frame_part_of(f, f->looped), .object = f->looped};
    case MS_NODE_NONE:
        return (ms_value){0};
    default:
        break;
    }
    if (node->is_number)
        return ms_frame_config_number(f, node);
    return counts_step(f, node) ? evaluate(f, node) : (ms_value){0};
}
