/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/ggml/graph.h"

static uint32_t add(ms_graph *g, ms_graph_tensor t)
{
    if (g->has_failed || !ms_vec_push(&g->tensors, t)) {
        g->has_failed = true;
        return MS_GRAPH_NONE;
    }
    return g->tensors.count - 1;
}

static ms_graph_tensor shaped(ms_graph_op op, ms_stored_id type, const uint64_t ne[4])
{
    ms_graph_tensor t = {.op = op,
                         .type = type,
                         .ne = {ne[0], ne[1], ne[2], ne[3]},
                         .root = MS_GRAPH_NONE,
                         .place = MS_GRAPH_HOST};
    const ms_stored_type *stored = ms_stored_type_of(type);
    t.nb[0] = stored->block_bytes;
    t.nb[1] = stored->block_bytes * (ne[0] / stored->block_elements);
    t.nb[2] = t.nb[1] * ne[1];
    t.nb[3] = t.nb[2] * ne[2];
    return t;
}

uint32_t ms_graph_leaf(ms_graph *g, ms_graph_op op, ms_stored_id type, const uint64_t ne[4])
{
    return add(g, shaped(op, type, ne));
}

uint32_t ms_graph_input(ms_graph *g, ms_stored_id type, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                        uint64_t ne3)
{
    return add(g, shaped(MS_GRAPH_INPUT, type, (uint64_t[]){ne0, ne1, ne2, ne3}));
}

uint32_t ms_graph_result(ms_graph *g, ms_graph_op op, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                         uint64_t ne3)
{
    return add(g, shaped(op, MS_STORED_F32, (uint64_t[]){ne0, ne1, ne2, ne3}));
}

void ms_graph_from(ms_graph *g, uint32_t tensor, uint32_t source)
{
    if (g->has_failed || tensor == MS_GRAPH_NONE || source == MS_GRAPH_NONE)
        return;
    ms_graph_tensor *t = &g->tensors.items[tensor];
    if (t->sources < MS_GRAPH_SOURCES)
        t->source[t->sources++] = source;
    else
        g->has_failed = true;
}

uint32_t ms_graph_in_place(ms_graph *g, ms_graph_op op, uint32_t a, uint32_t b)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const uint64_t *ne = g->tensors.items[a].ne;
    uint32_t t = ms_graph_result(g, op, ne[0], ne[1], ne[2], ne[3]);
    ms_graph_from(g, t, a);
    ms_graph_from(g, t, b);
    if (t != MS_GRAPH_NONE)
        g->tensors.items[t].may_be_in_place = true;
    return t;
}

uint32_t ms_graph_contiguous(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                             uint64_t ne3)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    uint32_t t =
        add(g, shaped(MS_GRAPH_OTHER, g->tensors.items[a].type, (uint64_t[]){ne0, ne1, ne2, ne3}));
    ms_graph_from(g, t, a);
    return t;
}

static uint32_t add_view(ms_graph *g, uint32_t a, ms_graph_tensor t)
{
    const ms_graph_tensor *of = &g->tensors.items[a];
    t.root = of->root == MS_GRAPH_NONE ? a : of->root;
    uint32_t view = add(g, t);
    ms_graph_from(g, view, a);
    return view;
}

uint32_t ms_graph_reshape(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                          uint64_t ne3)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    return add_view(
        g, a, shaped(MS_GRAPH_VIEW, g->tensors.items[a].type, (uint64_t[]){ne0, ne1, ne2, ne3}));
}

uint32_t ms_graph_part(ms_graph *g, uint32_t a, const uint64_t ne[4], uint64_t nb1, uint64_t nb2,
                       uint64_t nb3)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    ms_graph_tensor t = shaped(MS_GRAPH_VIEW, g->tensors.items[a].type, ne);
    t.nb[1] = nb1;
    t.nb[2] = nb2;
    t.nb[3] = nb3;
    return add_view(g, a, t);
}

uint32_t ms_graph_swapped(ms_graph *g, uint32_t a, int i, int k)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const ms_graph_tensor *of = &g->tensors.items[a];
    ms_graph_tensor t = shaped(MS_GRAPH_VIEW, of->type, of->ne);
    for (int d = 0; d < 4; d++)
        t.nb[d] = of->nb[d];
    t.ne[i] = of->ne[k], t.ne[k] = of->ne[i];
    t.nb[i] = of->nb[k], t.nb[k] = of->nb[i];
    return add_view(g, a, t);
}

uint32_t ms_graph_write(ms_graph *g, uint32_t from, uint32_t indices, uint32_t to)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const ms_graph_tensor *of = &g->tensors.items[to];
    ms_graph_tensor t = shaped(MS_GRAPH_WRITE, of->type, of->ne);
    t.root = of->root == MS_GRAPH_NONE ? to : of->root;
    for (int d = 0; d < 4; d++)
        t.nb[d] = of->nb[d];
    uint32_t view = add(g, t);
    ms_graph_from(g, view, from);
    ms_graph_from(g, view, indices);
    ms_graph_from(g, view, to);
    return view;
}

uint32_t ms_graph_product(ms_graph *g, uint32_t w, uint32_t a)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const uint64_t *ne = g->tensors.items[a].ne;
    uint32_t t =
        ms_graph_result(g, MS_GRAPH_PRODUCT, g->tensors.items[w].ne[1], ne[1], ne[2], ne[3]);
    ms_graph_from(g, t, w);
    ms_graph_from(g, t, a);
    return t;
}

/* As deep as one layer: what is before it is in the order already. */
static void visit(ms_graph *g, uint32_t tensor)
{
    ms_graph_tensor *t = &g->tensors.items[tensor];
    if (t->is_ordered)
        return;
    t->is_ordered = true;
    for (uint32_t i = 0; i < t->sources; i++)
        visit(g, t->source[i]);
    bool ok = true;
    if (t->op == MS_GRAPH_INPUT)
        ok = ms_vec_push(&g->inputs, tensor);
    else if (t->op != MS_GRAPH_WEIGHT && t->op != MS_GRAPH_MEMORY)
        ok = ms_vec_push(&g->order, tensor);
    g->has_failed = g->has_failed || !ok;
}

void ms_graph_expand(ms_graph *g, uint32_t tensor)
{
    if (!g->has_failed && tensor != MS_GRAPH_NONE)
        visit(g, tensor);
}

void ms_graph_fuse(ms_graph *g, ms_graph_fusion fusion)
{
    if (!g->has_failed && !ms_vec_push(&g->fusions, fusion))
        g->has_failed = true;
}

uint64_t ms_graph_elements(const ms_graph_tensor *t)
{
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

uint64_t ms_graph_span(const ms_graph_tensor *t)
{
    const ms_stored_type *stored = ms_stored_type_of(t->type);
    if (ms_graph_elements(t) == 0)
        return 0;
    bool is_plain = stored->block_elements == 1;
    uint64_t bytes = is_plain ? stored->block_bytes + (t->ne[0] - 1) * t->nb[0]
                              : t->ne[0] * t->nb[0] / stored->block_elements;
    for (int i = 1; i < 4; i++)
        bytes += (t->ne[i] - 1) * t->nb[i];
    return bytes;
}

bool ms_graph_is_contiguous(const ms_graph_tensor *t)
{
    const ms_graph_tensor same = shaped(t->op, t->type, t->ne);
    for (int i = 0; i < 4; i++)
        if (t->ne[i] != 1 && t->nb[i] != same.nb[i])
            return false;
    return true;
}

void ms_graph_free(ms_graph *g)
{
    ms_vec_free(&g->tensors);
    ms_vec_free(&g->order);
    ms_vec_free(&g->inputs);
    ms_vec_free(&g->fusions);
}
