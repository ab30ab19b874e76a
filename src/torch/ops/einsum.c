/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/einsum.h"

#include <string.h>

/* ---- permute ---- */

static ms_tensor permuted(ms_tape *tape, ms_tensor a, const uint32_t *order)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info from = *ms_info(tape, a);
    ms_tensor_info to = from;
    for (uint32_t i = 0; i < from.shape.rank; i++) {
        to.shape.dims[i] = from.shape.dims[order[i]];
        to.strides[i] = from.strides[order[i]];
    }
    return ms_alias(tape, a, to.shape, to.strides);
}

static void permute_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    uint32_t back[MS_MAX_RANK] = {0};
    for (uint32_t i = 0; i < ms_input_meta(tape, node, 0)->shape.rank; i++)
        back[node->numbers[i]] = i;
    out[0] = permuted(tape, grads[0], back);
}

static const ms_op permute_op = {"permute", "PermuteBackward0", permute_backward};

ms_tensor ms_permute(ms_tape *tape, ms_tensor a, const uint32_t *order)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint64_t numbers[MS_MAX_RANK];
    const uint32_t rank = ms_info(tape, a)->shape.rank;
    for (uint32_t i = 0; i < rank; i++)
        numbers[i] = order[i];
    uint32_t node = ms_record(tape, &permute_op, 1, &a);
    ms_node_numbers(tape, node, rank, numbers);
    ms_tensor out = permuted(tape, a, order);
    ms_attach(tape, node, 1, &out);
    ms_consume(tape, a);
    return out;
}

ms_tensor ms_permute_undone(ms_tape *tape, ms_tensor view)
{
    const uint32_t number = ms_info(tape, view)->node;
    const ms_node *node = number == MS_NONE ? NULL : &tape->nodes.items[number];
    if (!node || node->op != &permute_op || node->edges[0].node == MS_NONE)
        return 0;
    const ms_edge edge = node->edges[0];
    uint32_t back[MS_MAX_RANK] = {0};
    for (uint32_t i = 0; i < ms_info(tape, view)->shape.rank; i++)
        back[node->numbers[i]] = i;
    const ms_tensor base = permuted(tape, view, back);
    if (base) {
        ms_info(tape, base)->node = edge.node;
        ms_info(tape, base)->node_output = edge.output;
        ms_info(tape, base)->requires_grad = true;
    }
    return base;
}

/* ---- einsum ---- */

enum { MOST_LETTERS = 2 * MS_MAX_RANK };

typedef struct side {
    ms_tensor tensor;
    const char *letters; /* one for each dimension, then another character */
} side;

/* The letters of a kind, in their order: those of the result, then the others. */
typedef struct letters {
    char text[MOST_LETTERS];
    uint32_t count;
    ms_dim size;          /* the product of their sizes */
    uint32_t first, last; /* places among all letters */
} letters;

typedef struct product {
    side left, right;
    letters both, of_left, of_right, summed; /* in both and the result; in one of them; in no */
} product;

/* The dimension with that letter; MS_MAX_RANK: there is none. */
static uint32_t dim_of(const side *s, uint32_t rank, char letter)
{
    for (uint32_t i = 0; i < rank; i++)
        if (s->letters[i] == letter)
            return i;
    return MS_MAX_RANK;
}

/* Its size; 1 where the side lacks it. */
static ms_dim size_of(ms_tape *tape, const side *s, char letter)
{
    const ms_shape shape = ms_info(tape, s->tensor)->shape;
    uint32_t dim = dim_of(s, shape.rank, letter);
    return dim < shape.rank ? shape.dims[dim] : (ms_dim){.value = 1};
}

static void add_letter(ms_tape *tape, letters *l, char letter, ms_dim size, uint32_t place)
{
    if (l->count == 0) {
        l->size = ms_dim_number(&tape->trace->symbols, 1);
        l->first = place;
    }
    l->size = l->count ? ms_dim_mul(&tape->trace->symbols, l->size, size) : size;
    l->last = place;
    l->text[l->count++] = letter;
}

/* Sorts a letter by who has it with a size other than 1; what neither has so goes to the right. */
static void sort_letter(ms_tape *tape, product *p, char letter, uint32_t place, bool is_summed)
{
    ms_dim left = size_of(tape, &p->left, letter), right = size_of(tape, &p->right, letter);
    bool has_left = left.value != 1, has_right = right.value != 1;
    if (is_summed)
        add_letter(tape, &p->summed, letter, left, place);
    else if (has_left && has_right)
        add_letter(tape, &p->both, letter, left, place);
    else if (has_left)
        add_letter(tape, &p->of_left, letter, left, place);
    else
        add_letter(tape, &p->of_right, letter, right, place);
}

/* The result's letters, then those of the operands that it lacks. */
static void sort_letters(ms_tape *tape, product *p, const char *result, uint32_t rank)
{
    uint32_t place = 0;
    for (const char *c = result; *c; c++)
        sort_letter(tape, p, *c, place++, false);
    for (uint32_t i = 0; i < rank; i++)
        if (!strchr(result, p->left.letters[i]))
            sort_letter(tape, p, p->left.letters[i], place++, true);
}

/* Where all letters of the right side come before those of the left, the sides change places, so
 * that the product has the order of the result. */
static void order_sides(product *p)
{
    if (!p->of_left.count || !p->of_right.count || p->of_right.last >= p->of_left.first)
        return;
    const side left = p->left;
    const letters of_left = p->of_left;
    p->left = p->right;
    p->right = left;
    p->of_left = p->of_right;
    p->of_right = of_left;
}

/* Adds the side's dimensions with these letters to the order. */
static uint32_t take_dims(const side *s, uint32_t rank, const letters *l, uint32_t *order,
                          uint32_t count)
{
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t dim = dim_of(s, rank, l->text[i]);
        if (dim < rank)
            order[count++] = dim;
    }
    return count;
}

static ms_dim size_or_one(ms_tape *tape, const letters *l)
{
    return l->count ? l->size : ms_dim_number(&tape->trace->symbols, 1);
}

/* The side as [both, second, third]; dimensions of size 1 that it shares come last. */
static ms_tensor as_matrices(ms_tape *tape, const side *s, const letters *both,
                             const letters *second, const letters *third, const letters *rest)
{
    if (ms_idle(tape))
        return 0;
    uint32_t order[MS_MAX_RANK] = {0}, rank = ms_info(tape, s->tensor)->shape.rank;
    uint32_t count = take_dims(s, rank, both, order, 0);
    count = take_dims(s, rank, second, order, count);
    count = take_dims(s, rank, third, order, count);
    (void)take_dims(s, rank, rest, order, count);
    return ms_reshape(
        tape, ms_permute(tape, s->tensor, order),
        MS_SHAPE(size_or_one(tape, both), size_or_one(tape, second), size_or_one(tape, third)));
}

/* The product, [both, left, right], as the result. */
static ms_tensor as_result(ms_tape *tape, const product *p, ms_tensor flat, const char *result)
{
    if (ms_idle(tape) || !flat)
        return 0;
    const letters *kinds[] = {&p->both, &p->of_left, &p->of_right};
    ms_shape shape = {.rank = 0};
    char text[MOST_LETTERS + 1] = {0};
    uint32_t order[MS_MAX_RANK] = {0};
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < kinds[k]->count && shape.rank < MS_MAX_RANK; i++) {
            char letter = kinds[k]->text[i];
            text[shape.rank] = letter;
            shape.dims[shape.rank++] = size_of(tape, k == 2 ? &p->right : &p->left, letter);
        }
    for (uint32_t i = 0; i < shape.rank; i++)
        order[i] = (uint32_t)(strchr(text, result[i]) - text);
    return ms_permute(tape, ms_view(tape, flat, shape), order);
}

ms_tensor ms_einsum(ms_tape *tape, const char *equation, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    const char *result = strstr(equation, "->") + 2;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *left_cast = ms_local(&f, ms_autocast_lower(tape, a));
    ms_tensor *right_cast = ms_local(&f, ms_autocast_lower(tape, b));
    product p = {.left = {*left_cast, equation}, .right = {*right_cast, strchr(equation, ',') + 1}};
    sort_letters(tape, &p, result, ms_info(tape, a)->shape.rank);
    order_sides(&p);
    ms_tensor left = as_matrices(tape, &p.left, &p.both, &p.of_left, &p.summed, &p.of_right);
    ms_retain(tape, left);
    ms_tensor right = as_matrices(tape, &p.right, &p.both, &p.summed, &p.of_right, &p.of_left);
    ms_tensor flat = ms_bmm(tape, left, right);
    ms_release(tape, left);
    ms_tensor *out = ms_local(&f, as_result(tape, &p, flat, result));
    return ms_locals_end(&f, out);
}
