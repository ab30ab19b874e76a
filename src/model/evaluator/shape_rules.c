/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/shape_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/model_config.h"

/* ---- words ---- */

/* "[B, S, 64]"; B and S are batch and sequence. */
static const char *show(const ms_shaping *s, const ms_text_shape *shape, char out[96])
{
    size_t used = 0;
    if (shape->kind != MS_SHAPED) {
        snprintf(out, 96, "%s", shape->kind == MS_SHAPED_NONE ? "None" : "a mask or a table");
        return out;
    }
    used += (size_t)snprintf(out, 96, "[");
    for (uint32_t i = 0; i < shape->rank && used < 80; i++) {
        const char *gap = i > 0 ? ", " : "";
        if (shape->dims[i] == s->batch && i == 0)
            used += (size_t)snprintf(out + used, 96 - used, "%sB", gap);
        else if (shape->dims[i] == s->seq)
            used += (size_t)snprintf(out + used, 96 - used, "%sS", gap);
        else
            used += (size_t)snprintf(out + used, 96 - used, "%s%" PRIu64, gap, shape->dims[i]);
    }
    snprintf(out + used, 96 - used, "]");
    return out;
}

static bool fail(ms_shaping *s, const ms_text_node *node, const ms_text_shape *shape,
                 const char *what)
{
    char shown[96];
    ms_family_fail(s->reading, node, "%s here, and not %s", what, show(s, shape, shown));
    return false;
}

bool ms_shape_expect(ms_shaping *s, const ms_text_node *node, const ms_text_shape *found,
                     const ms_text_shape *wanted, const char *what)
{
    char shown[2][96];
    bool is_equal = found->kind == wanted->kind && found->rank == wanted->rank;
    for (uint32_t i = 0; i < wanted->rank && is_equal; i++)
        is_equal = found->dims[i] == wanted->dims[i];
    if (!is_equal)
        ms_family_fail(s->reading, node, "%s is %s here, and not %s", what,
                       show(s, wanted, shown[0]), show(s, found, shown[1]));
    return is_equal;
}

static uint64_t size_at(const ms_text_facts *facts, const ms_text_node *node)
{
    const double size = ms_family_number(facts, node);
    return size >= 1 && size <= 1e15 ? (uint64_t)size : 0;
}

static bool is_shaped(const ms_text_shape *a, uint32_t rank)
{
    return a->kind == MS_SHAPED && (rank == 0 ? a->rank > 0 : a->rank == rank);
}

static uint64_t last_of(const ms_text_shape *a)
{
    return a->rank ? a->dims[a->rank - 1] : 0;
}

static ms_text_shape with_last(const ms_text_shape *a, uint64_t width)
{
    ms_text_shape out = *a;
    out.dims[out.rank - 1] = width;
    return out;
}

bool ms_shape_join(ms_shaping *s, const ms_text_node *node, const ms_text_shape *a,
                   const ms_text_shape *b, ms_text_shape *out)
{
    char shown[2][96];
    bool fits = a->kind == MS_SHAPED && b->kind == MS_SHAPED;
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    *out = (ms_text_shape){.kind = MS_SHAPED, .rank = rank};
    for (uint32_t i = 1; i <= rank && fits; i++) {
        const uint64_t x = i <= a->rank ? a->dims[a->rank - i] : 1;
        const uint64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;
        fits = x == y || x == 1 || y == 1;
        out->dims[rank - i] = x > y ? x : y;
    }
    if (!fits)
        ms_family_fail(s->reading, node, "%s and %s do not fit each other", show(s, a, shown[0]),
                       show(s, b, shown[1]));
    return fits;
}

/* ---- functions ---- */

/* [B, S, heads * D] to [B, S, heads, D], or with heads before tokens. */
static bool as_heads(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                     const ms_text_shape *a, bool heads_first, ms_text_shape *out)
{
    const bool has_width = !heads_first && node->items[2];
    const uint64_t heads = size_at(facts, node->items[1]);
    const uint64_t width = has_width ? size_at(facts, node->items[2]) : facts->config->head_dim;
    const ms_text_shape wanted = {MS_SHAPED, 3, {s->batch, s->seq, heads * width}};
    *out = (ms_text_shape){MS_SHAPED, 4, {s->batch, s->seq, heads, width}};
    if (heads_first)
        *out = (ms_text_shape){MS_SHAPED, 4, {s->batch, heads, s->seq, width}};
    return ms_shape_expect(s, node, a, &wanted, "what is split into heads");
}

static bool merge(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                  const ms_text_shape *a, ms_text_shape *out)
{
    if (!is_shaped(a, 4) || a->dims[0] != s->batch || a->dims[1] != s->seq)
        return fail(s, node, a, "[B, S, heads, width] is wanted");
    const uint64_t width = a->dims[2] * a->dims[3];
    const uint64_t wanted =
        node->items[1] ? size_at(facts, node->items[1]) : facts->config->num_heads * a->dims[3];
    *out = (ms_text_shape){MS_SHAPED, 3, {s->batch, s->seq, wanted}};
    return width == wanted || fail(s, node, a, "another number of heads is wanted");
}

static bool attend(ms_shaping *s, const ms_text_node *node, const ms_text_shape *a,
                   ms_text_shape *out)
{
    for (int i = 0; i < 3; i++)
        if (!is_shaped(&a[i], 4) || a[i].dims[0] != s->batch || a[i].dims[2] != s->seq ||
            a[i].dims[1] == 0)
            return fail(s, node, &a[i], "[B, heads, S, width] is wanted");
    if (a[0].dims[1] % a[1].dims[1] != 0 || a[1].dims[1] != a[2].dims[1] ||
        a[0].dims[3] != a[1].dims[3])
        return fail(s, node, &a[1], "keys that fit the queries and the values are wanted");
    if (a[3].kind == MS_SHAPED)
        return fail(s, node, &a[3], "a mask, or None, is wanted");
    out[0] = (ms_text_shape){MS_SHAPED, 4, {s->batch, s->seq, a[0].dims[1], a[2].dims[3]}};
    out[1] = (ms_text_shape){.kind = MS_SHAPED_ANY};
    return true;
}

static bool rotate(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                   const ms_text_shape *a, ms_text_shape *out)
{
    for (int i = 0; i < 2; i++) {
        if (!is_shaped(&a[i], 4) || a[i].dims[2] != s->seq ||
            a[i].dims[3] != facts->config->head_dim)
            return fail(s, node, &a[i], "[B, heads, S, head_dim] is wanted");
        out[i] = a[i];
    }
    for (int i = 2; i < 4; i++)
        if (a[i].kind != MS_SHAPED_ANY)
            return fail(s, node, &a[i], "a table of a rotary embedding is wanted");
    return true;
}

static bool split(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                  const ms_text_shape *a, uint32_t wanted, ms_text_shape *out)
{
    const uint64_t width = size_at(facts, node->items[1]);
    if (!is_shaped(a, 0) || width * wanted != last_of(a))
        return fail(s, node, a, "as many parts of this width are wanted as are bound");
    for (uint32_t i = 0; i < wanted; i++)
        out[i] = with_last(a, width);
    return true;
}

static bool transpose(ms_shaping *s, const ms_text_node *node, const ms_text_shape *a,
                      ms_text_shape *out)
{
    const uint32_t first = (uint32_t)node->items[1]->number,
                   second = (uint32_t)node->items[2]->number;
    if (!is_shaped(a, 0) || first >= a->rank || second >= a->rank)
        return fail(s, node, a, "a tensor with both dimensions is wanted");
    *out = *a;
    out->dims[first] = a->dims[second];
    out->dims[second] = a->dims[first];
    return true;
}

static bool same(ms_shaping *s, const ms_text_node *node, const ms_text_shape *a, bool both,
                 ms_text_shape *out)
{
    *out = a[0];
    if (!is_shaped(&a[0], 0))
        return fail(s, node, &a[0], "a tensor is wanted");
    return !both || ms_shape_expect(s, node, &a[1], &a[0], "the second");
}

bool ms_shape_function(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                       const ms_text_shape *a, uint32_t wanted, ms_text_shape *out)
{
    switch ((int)node->primitive->shape) {
    case MS_SHAPE_POSITIONS:
        *out = (ms_text_shape){MS_SHAPED, 2, {1, s->seq}};
        return true;
    case MS_SHAPE_MASK:
        *out = (ms_text_shape){.kind = MS_SHAPED_ANY};
        return a[0].kind == MS_SHAPED_NONE || (is_shaped(a, 2) && a->dims[1] == s->seq) ||
               fail(s, node, a, "position ids, or None, are wanted");
    case MS_SHAPE_VIEW_HEADS:
        return as_heads(s, facts, node, a, false, out);
    case MS_SHAPE_SPLIT_HEADS:
        return as_heads(s, facts, node, a, true, out);
    case MS_SHAPE_MERGE_HEADS:
        return merge(s, facts, node, a, out);
    case MS_SHAPE_ROTATE:
        return rotate(s, facts, node, a, out);
    case MS_SHAPE_SCALE:
        *out = a[0];
        return (is_shaped(&a[0], 4) && is_shaped(&a[1], 2) && a[1].dims[0] == 1 &&
                a[0].dims[2] == s->seq && a[1].dims[1] == s->seq) ||
               fail(s, node, &a[1], "a query with heads and position ids are wanted");
    case MS_SHAPE_CACHE:
        return (is_shaped(&a[0], 4) && is_shaped(&a[1], 4)) ||
               fail(s, node, a, "keys and values with heads are wanted");
    case MS_SHAPE_ATTENTION:
        return attend(s, node, a, out);
    case MS_SHAPE_GATE:
        return same(s, node, a, true, out);
    case MS_SHAPE_SPLIT:
        return split(s, facts, node, a, wanted, out);
    case MS_SHAPE_SLICE:
        if (!is_shaped(a, 0) || size_at(facts, node->items[1]) == 0 ||
            size_at(facts, node->items[1]) > last_of(a))
            return fail(s, node, a, "a tensor with that many elements is wanted");
        *out = with_last(a, size_at(facts, node->items[1]));
        return true;
    case MS_SHAPE_TRANSPOSE:
        return transpose(s, node, a, out);
    case MS_SHAPE_MEAN:
        if (!is_shaped(a, 0))
            return fail(s, node, a, "a tensor is wanted");
        *out = with_last(a, 1);
        return true;
    case MS_SHAPE_LOGITS:
        if (!is_shaped(a, 3) || last_of(a) != facts->config->hidden_size)
            return fail(s, node, a, "hidden states are wanted");
        *out = with_last(a, facts->config->vocab_size);
        return true;
    default:
        return same(s, node, a, false, out);
    }
}

/* ---- modules ---- */

bool ms_shape_module(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,
                     const ms_text_node *maker, const ms_text_shape *a, ms_text_shape *out)
{
    const ms_shape_rule rule = maker->primitive->shape;
    if (rule == MS_SHAPE_PARAMETER && !a) {
        *out = (ms_text_shape){.kind = MS_SHAPED};
        for (uint32_t i = 0; i < maker->count && maker->items[i]; i++)
            out->dims[out->rank++] = size_at(facts, maker->items[i]);
        return true;
    }
    const ms_text_shape none = {.kind = MS_SHAPED_NONE};
    if (!a)
        return fail(s, node, &none, "a parameter is wanted");
    const uint64_t first = maker->count ? size_at(facts, maker->items[0]) : 0;
    switch ((int)rule) {
    case MS_SHAPE_LINEAR:
        if (!is_shaped(a, 0) || last_of(a) != first)
            return fail(s, node, a, "a tensor of as many elements as the layer reads is wanted");
        *out = with_last(a, size_at(facts, maker->items[1]));
        return true;
    case MS_SHAPE_NORM:
        *out = *a;
        return (is_shaped(a, 0) && last_of(a) == first) ||
               fail(s, node, a, "a tensor of the norm's width is wanted");
    case MS_SHAPE_ROWS:
        if (!is_shaped(a, 2))
            return fail(s, node, a, "ids are wanted");
        *out = (ms_text_shape){
            MS_SHAPED, 3, {a->dims[0], a->dims[1], size_at(facts, maker->items[1])}};
        return true;
    case MS_SHAPE_TABLES:
        for (uint32_t i = 0; i < maker->primitive->results; i++)
            out[i] = (ms_text_shape){.kind = MS_SHAPED_ANY};
        return (is_shaped(&a[0], 3) && is_shaped(&a[1], 2)) ||
               fail(s, node, &a[1], "hidden states and position ids are wanted");
    default:
        return fail(s, node, a, "something that can be called is wanted");
    }
}
