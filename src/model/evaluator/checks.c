/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shapes of arguments: what does not fit is refused, with the place of the call and the shapes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

/* "[2, 512, 64]" */
static const char *show(ms_frame *f, ms_tensor tensor, char out[96])
{
    size_t used = (size_t)snprintf(out, 96, tensor ? "[" : "None");
    const ms_shape none = {0};
    const ms_shape *shape = tensor ? &ms_info(f->model->tape, tensor)->shape : &none;
    for (uint32_t i = 0; i < shape->rank && used < 70; i++)
        used += (size_t)snprintf(out + used, 96 - used, "%s%" PRIu64, i > 0 ? ", " : "",
                                 shape->dims[i].value);
    if (tensor)
        snprintf(out + used, 96 - used, "]");
    return out;
}

bool ms_check_fail(ms_frame *f, const ms_text_node *node, ms_tensor tensor, const char *what)
{
    char shown[96];
    ms_frame_fail(f, node, "%s, found %s", what, show(f, tensor, shown));
    return false;
}

static bool has_rank(ms_frame *f, ms_tensor tensor, uint32_t rank)
{
    return tensor && ms_info(f->model->tape, tensor)->shape.rank == rank;
}

static uint64_t at(ms_frame *f, ms_tensor tensor, uint32_t dim)
{
    return ms_info(f->model->tape, tensor)->shape.dims[dim].value;
}

static uint64_t last(ms_frame *f, ms_tensor tensor)
{
    const ms_shape *shape = &ms_info(f->model->tape, tensor)->shape;
    return shape->rank ? shape->dims[shape->rank - 1].value : 0;
}

bool ms_check_broadcast(ms_frame *f, const ms_text_node *node, ms_tensor a, ms_tensor b)
{
    const ms_shape *x = &ms_info(f->model->tape, a)->shape, *y = &ms_info(f->model->tape, b)->shape;
    char shown[2][96];
    for (uint32_t i = 1; i <= x->rank && i <= y->rank; i++) {
        const uint64_t m = x->dims[x->rank - i].value, n = y->dims[y->rank - i].value;
        if (m != n && m != 1 && n != 1) {
            ms_frame_fail(f, node, "%s and %s do not fit each other", show(f, a, shown[0]),
                          show(f, b, shown[1]));
            return false;
        }
    }
    return true;
}

bool ms_check_covers(ms_frame *f, ms_tensor a, ms_tensor b)
{
    const ms_shape *x = &ms_info(f->model->tape, a)->shape, *y = &ms_info(f->model->tape, b)->shape;
    for (uint32_t i = 1; i <= y->rank; i++)
        if (i > x->rank || (y->dims[y->rank - i].value != 1 &&
                            y->dims[y->rank - i].value != x->dims[x->rank - i].value))
            return false;
    return true;
}

/* torch.matmul of equal leading dimensions, as far as it is known; one head may stand for all. */
bool ms_check_product(ms_frame *f, const ms_text_node *node, ms_tensor a, ms_tensor b)
{
    const ms_shape *x = &ms_info(f->model->tape, a)->shape, *y = &ms_info(f->model->tape, b)->shape;
    char shown[2][96];
    bool fits = x->rank == y->rank && x->rank >= 3 &&
                x->dims[x->rank - 1].value == y->dims[y->rank - 2].value;
    for (uint32_t i = 0; fits && i + 2 < x->rank; i++)
        fits = x->dims[i].value == y->dims[i].value ||
               (x->rank == 4 && i == 1 && y->dims[i].value == 1);
    if (!fits)
        ms_frame_fail(f, node, "the product of %s and %s is not known", show(f, a, shown[0]),
                      show(f, b, shown[1]));
    return fits;
}

static bool as_heads(ms_frame *f, const ms_text_node *node, ms_tensor x)
{
    const bool has_width = node->count > 2 && node->items[2];
    const ms_dim width = has_width ? ms_frame_dim(f, node->items[2]) : f->model->head_dim;
    const ms_dim heads = ms_frame_dim(f, node->items[1]);
    return (has_rank(f, x, 3) && last(f, x) == heads.value * width.value) ||
           ms_check_fail(f, node, x, "expected [B, S, heads * width]");
}

static bool merges(ms_frame *f, const ms_text_node *node, ms_tensor x)
{
    const bool has_width = node->count > 1 && node->items[1];
    if (!has_rank(f, x, 4))
        return ms_check_fail(f, node, x, "expected [B, S, heads, width]");
    const uint64_t width =
        has_width ? ms_frame_dim(f, node->items[1]).value : f->model->heads.value * at(f, x, 3);
    return at(f, x, 2) * at(f, x, 3) == width ||
           ms_check_fail(f, node, x, "expected another number of heads");
}

static bool attends(ms_frame *f, const ms_text_node *node, const ms_tensor *a)
{
    for (int i = 0; i < 3; i++)
        if (!has_rank(f, a[i], 4) || at(f, a[i], 1) == 0)
            return ms_check_fail(f, node, a[i], "expected [B, heads, S, width]");
    return (at(f, a[0], 1) % at(f, a[1], 1) == 0 && at(f, a[1], 1) == at(f, a[2], 1) &&
            at(f, a[1], 2) == at(f, a[2], 2) && at(f, a[0], 3) == at(f, a[1], 3)) ||
           ms_check_fail(f, node, a[1], "expected keys that fit the queries and the values");
}

static bool rotates(ms_frame *f, const ms_text_node *node, const ms_tensor *a)
{
    for (int i = 0; i < 2; i++)
        if (!has_rank(f, a[i], 4) || last(f, a[i]) != f->model->head_dim.value)
            return ms_check_fail(f, node, a[i], "expected [B, heads, S, head_dim]");
    for (int i = 2; i < 4; i++)
        if (!a[i])
            return ms_check_fail(f, node, a[i], "expected a table of a rotary embedding");
    return true;
}

bool ms_check_function(ms_frame *f, const ms_text_node *node, const ms_tensor *a)
{
    const char *types = node->primitive->types;
    const bool wants_tensor = types[0] == 't' || types[0] == 'l';
    if (f->model->run->parallel.layout.tensor > 1) /* sizes of the config are of all ranks */
        return true;
    if (node->primitive->fits)
        return node->primitive->fits(f, node, node, a);
    switch ((int)node->primitive->shape) {
    case MS_SHAPE_MASK:
        return !a[0] || has_rank(f, a[0], 2) ||
               ms_check_fail(f, node, a[0], "expected position ids, or None");
    case MS_SHAPE_VIEW_HEADS:
    case MS_SHAPE_SPLIT_HEADS:
        return as_heads(f, node, a[0]);
    case MS_SHAPE_MERGE_HEADS:
        return merges(f, node, a[0]);
    case MS_SHAPE_ROTATE:
        return rotates(f, node, a);
    case MS_SHAPE_SCALE:
        return (has_rank(f, a[0], 4) && has_rank(f, a[1], 2)) ||
               ms_check_fail(f, node, a[1], "expected a query with heads and position ids");
    case MS_SHAPE_CACHE:
        return (has_rank(f, a[0], 4) && has_rank(f, a[1], 4)) ||
               ms_check_fail(f, node, a[0], "expected keys and values with heads");
    case MS_SHAPE_ATTENTION:
        return attends(f, node, a);
    case MS_SHAPE_GATE:
        return (a[0] && a[1] &&
                ms_same_shape(&ms_info(f->model->tape, a[0])->shape,
                              &ms_info(f->model->tape, a[1])->shape)) ||
               ms_check_fail(f, node, a[1], "expected two tensors of one shape");
    case MS_SHAPE_SLICE: {
        const uint64_t width = ms_frame_dim(f, node->items[1]).value;
        return (a[0] && width > 0 && width <= last(f, a[0])) ||
               ms_check_fail(f, node, a[0], "expected a tensor with that many elements");
    }
    case MS_SHAPE_LOGITS:
        return (has_rank(f, a[0], 3) && last(f, a[0]) == ms_family_head_width(f->model->config)) ||
               ms_check_fail(f, node, a[0], "expected hidden states");
    default:
        return !wants_tensor || a[0] || ms_check_fail(f, node, a[0], "expected a tensor");
    }
}

bool ms_check_part(ms_frame *f, const ms_text_node *node, const ms_family_part *p,
                   const ms_tensor *a)
{
    if (!a[0])
        return ms_check_fail(f, node, a[0], "expected a tensor");
    if (f->model->run->parallel.layout.tensor > 1)
        return true;
    if (p->maker->primitive->fits)
        return p->maker->primitive->fits(f, node, p->maker, a);
    switch ((int)p->maker->primitive->shape) {
    case MS_SHAPE_LINEAR:
        return last(f, a[0]) == p->width ||
               ms_check_fail(f, node, a[0],
                             "expected a tensor of as many elements as the layer reads");
    case MS_SHAPE_NORM:
        return last(f, a[0]) == p->width ||
               ms_check_fail(f, node, a[0], "expected a tensor of the norm's width");
    case MS_SHAPE_ROWS:
        return ms_info(f->model->tape, a[0])->dtype == MS_DTYPE_I64 ||
               ms_check_fail(f, node, a[0], "expected ids");
    case MS_SHAPE_TABLES:
        return has_rank(f, a[1], 2) || has_rank(f, a[1], 3) ||
               ms_check_fail(f, node, a[1], "expected hidden states and position ids");
    default:
        return true;
    }
}
