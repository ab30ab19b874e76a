/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/graph.h"

static uint32_t add(ms_graph *g, ms_graph_tensor t)
{
    if (g->has_failed || !ms_vec_push(&g->tensors, t)) {
        g->has_failed = true;
        return MS_GRAPH_NONE;
    }
    return g->tensors.count - 1;
}

static ms_graph_tensor shaped(ms_graph_kind kind, uint64_t element_bytes, uint64_t ne0,
                              uint64_t ne1, uint64_t ne2, uint64_t ne3)
{
    ms_graph_tensor t = {.kind = kind,
                         .element_bytes = element_bytes,
                         .ne = {ne0, ne1, ne2, ne3},
                         .root = MS_GRAPH_NONE,
                         .place = -1};
    t.nb[0] = element_bytes;
    for (int i = 1; i < 4; i++)
        t.nb[i] = t.nb[i - 1] * t.ne[i - 1];
    return t;
}

uint32_t ms_graph_external(ms_graph *g, int32_t place, uint64_t ne0, uint64_t ne1)
{
    ms_graph_tensor t = shaped(MS_GRAPH_EXTERNAL, 2, ne0, ne1, 1, 1);
    t.place = place;
    return add(g, t);
}

uint32_t ms_graph_input(ms_graph *g, uint64_t element_bytes, uint64_t ne0, uint64_t ne1,
                        uint64_t ne2, uint64_t ne3)
{
    return add(g, shaped(MS_GRAPH_INPUT, element_bytes, ne0, ne1, ne2, ne3));
}

uint32_t ms_graph_result(ms_graph *g, uint64_t ne0, uint64_t ne1, uint64_t ne2, uint64_t ne3)
{
    return add(g, shaped(MS_GRAPH_RESULT, 4, ne0, ne1, ne2, ne3));
}

void ms_graph_from(ms_graph *g, uint32_t tensor, uint32_t source)
{
    if (g->has_failed || tensor == MS_GRAPH_NONE || source == MS_GRAPH_NONE)
        return;
    ms_graph_tensor *t = &g->tensors.items[tensor];
    t->source[t->sources++] = source;
}

uint32_t ms_graph_in_place(ms_graph *g, uint32_t a, uint32_t b)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const uint64_t *ne = g->tensors.items[a].ne;
    uint32_t t = ms_graph_result(g, ne[0], ne[1], ne[2], ne[3]);
    ms_graph_from(g, t, a);
    ms_graph_from(g, t, b);
    if (t != MS_GRAPH_NONE)
        g->tensors.items[t].may_be_in_place = true;
    return t;
}

static uint32_t add_view(ms_graph *g, uint32_t a, ms_graph_tensor t)
{
    const ms_graph_tensor *of = &g->tensors.items[a];
    t.root = of->kind == MS_GRAPH_VIEW ? of->root : a;
    uint32_t view = add(g, t);
    ms_graph_from(g, view, a);
    return view;
}

uint32_t ms_graph_reshape(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                          uint64_t ne3)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    return add_view(g, a,
                    shaped(MS_GRAPH_VIEW, g->tensors.items[a].element_bytes, ne0, ne1, ne2, ne3));
}

uint32_t ms_graph_part(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                       uint64_t nb2)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    ms_graph_tensor t = shaped(MS_GRAPH_VIEW, g->tensors.items[a].element_bytes, ne0, ne1, ne2, 1);
    if (nb2 > 0) {
        t.nb[2] = nb2;
        t.nb[3] = nb2 * ne2;
    }
    return add_view(g, a, t);
}

uint32_t ms_graph_transposed(ms_graph *g, uint32_t a)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    ms_graph_tensor t = g->tensors.items[a];
    t.kind = MS_GRAPH_VIEW;
    t.sources = 0;
    t.is_output = t.is_ordered = t.may_be_in_place = false;
    t.ne[1] = g->tensors.items[a].ne[2], t.ne[2] = g->tensors.items[a].ne[1];
    t.nb[1] = g->tensors.items[a].nb[2], t.nb[2] = g->tensors.items[a].nb[1];
    return add_view(g, a, t);
}

uint32_t ms_graph_write(ms_graph *g, uint32_t rows, uint32_t indices, uint32_t to)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    ms_graph_tensor t = shaped(MS_GRAPH_VIEW, 2, g->tensors.items[to].ne[0], 1, 1, 1);
    t.root = to;
    uint32_t view = add(g, t);
    ms_graph_from(g, view, rows);
    ms_graph_from(g, view, indices);
    ms_graph_from(g, view, to);
    return view;
}

uint32_t ms_graph_product(ms_graph *g, uint32_t w, uint32_t a)
{
    if (g->has_failed)
        return MS_GRAPH_NONE;
    const uint64_t *ne = g->tensors.items[a].ne;
    uint32_t t = ms_graph_result(g, g->tensors.items[w].ne[1], ne[1], ne[2], ne[3]);
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
    if (t->kind == MS_GRAPH_INPUT)
        ok = ms_vec_push(&g->inputs, tensor);
    else if (t->kind != MS_GRAPH_EXTERNAL)
        ok = ms_vec_push(&g->order, tensor);
    g->has_failed = g->has_failed || !ok;
}

void ms_graph_expand(ms_graph *g, uint32_t tensor)
{
    if (!g->has_failed && tensor != MS_GRAPH_NONE)
        visit(g, tensor);
}

void ms_graph_free(ms_graph *g)
{
    ms_vec_free(&g->tensors);
    ms_vec_free(&g->order);
    ms_vec_free(&g->inputs);
}
