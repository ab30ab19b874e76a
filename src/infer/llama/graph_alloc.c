/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/graph_alloc.h"

#include <string.h>

enum { MOST_HOLES = 256 };

/* ---- an arena ---- */

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    return (bytes + align - 1) / align * align;
}

static void remove_hole(ms_graph_arena *a, uint32_t i)
{
    memmove(&a->holes[i], &a->holes[i + 1], (a->count - i - 1) * sizeof a->holes[0]);
    a->count--;
}

/* The last hole is the end of the arena, which grows: it is taken when no other is large enough. */
static uint64_t take(ms_graph_arena *a, uint64_t bytes)
{
    uint32_t best = a->count - 1;
    uint64_t best_bytes = UINT64_MAX;
    bytes = round_up(bytes, a->align);
    for (uint32_t i = 0; i + 1 < a->count; i++)
        if (a->holes[i].bytes >= bytes && a->holes[i].bytes <= best_bytes) {
            best = i;
            best_bytes = a->holes[i].bytes;
        }
    uint64_t at = a->holes[best].begin;
    a->holes[best].begin += bytes;
    a->holes[best].bytes -= bytes;
    if (a->holes[best].bytes == 0)
        remove_hole(a, best);
    a->highest = at + bytes > a->highest ? at + bytes : a->highest;
    return at;
}

/* False: more holes than ggml counts. */
static bool give_back(ms_graph_arena *a, uint64_t at, uint64_t bytes)
{
    bytes = round_up(bytes, a->align);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->holes[i].begin + a->holes[i].bytes == at) {
            a->holes[i].bytes += bytes;
            if (i + 1 < a->count &&
                a->holes[i].begin + a->holes[i].bytes == a->holes[i + 1].begin) {
                a->holes[i].bytes += a->holes[i + 1].bytes;
                remove_hole(a, i + 1);
            }
            return true;
        }
        if (at + bytes == a->holes[i].begin) {
            a->holes[i].begin = at;
            a->holes[i].bytes += bytes;
            if (i > 0 && a->holes[i - 1].begin + a->holes[i - 1].bytes == at) {
                a->holes[i - 1].bytes += a->holes[i].bytes;
                remove_hole(a, i);
            }
            return true;
        }
    }
    uint32_t to = 0;
    if (a->count == MOST_HOLES)
        return false;
    while (to < a->count && a->holes[to].begin < at)
        to++;
    memmove(&a->holes[to + 1], &a->holes[to], (a->count - to) * sizeof a->holes[0]);
    a->holes[to].begin = at;
    a->holes[to].bytes = bytes;
    a->count++;
    return true;
}

/* ---- a graph ---- */

typedef struct state {
    uint32_t readers, views;
    bool is_there;
    uint64_t at;
} state;

typedef struct running {
    const ms_graph *g;
    ms_graph_arena *arena;
    state *of; /* by tensor */
    bool is_cuda, is_full;
} running;

/* On a device the gathering of embeddings, and what it reads, is on the host. */
static bool is_elsewhere(const running *r, uint32_t tensor)
{
    return r->is_cuda && r->g->tensors.items[tensor].is_gather;
}

static uint64_t bytes_of(const running *r, uint32_t tensor)
{
    const ms_graph_tensor *t = &r->g->tensors.items[tensor];
    uint64_t bytes = t->element_bytes;
    for (int i = 0; i < 4; i++)
        bytes *= t->ne[i];
    return bytes + (r->is_cuda ? t->extra_bytes : 0);
}

static bool has_same_layout(const ms_graph_tensor *a, const ms_graph_tensor *b)
{
    return a->element_bytes == b->element_bytes && memcmp(a->ne, b->ne, sizeof a->ne) == 0 &&
           memcmp(a->nb, b->nb, sizeof a->nb) == 0;
}

static bool take_over(running *r, uint32_t tensor)
{
    const ms_graph_tensor *t = &r->g->tensors.items[tensor];
    if (!t->may_be_in_place || (r->is_cuda && t->not_on_cuda))
        return false;
    for (uint32_t i = 0; i < t->sources; i++) {
        const ms_graph_tensor *from = &r->g->tensors.items[t->source[i]];
        state *s = &r->of[t->source[i]];
        if (!s->is_there || from->is_output || !has_same_layout(t, from) || s->readers != 1 ||
            s->views != 0)
            continue;
        r->of[tensor].at = s->at;
        s->is_there = false;
        uint64_t before = round_up(bytes_of(r, t->source[i]), r->arena->align);
        uint64_t after = round_up(bytes_of(r, tensor), r->arena->align);
        if (before > after && !give_back(r->arena, s->at + after, before - after))
            r->is_full = true;
        return true;
    }
    return false;
}

static void place(running *r, uint32_t tensor)
{
    const ms_graph_tensor *t = &r->g->tensors.items[tensor];
    state *s = &r->of[tensor];
    if (s->is_there || t->kind == MS_GRAPH_VIEW || t->kind == MS_GRAPH_EXTERNAL)
        return;
    if (!take_over(r, tensor))
        s->at = take(r->arena, bytes_of(r, tensor));
    s->is_there = true;
}

static void release(running *r, uint32_t tensor)
{
    state *s = &r->of[tensor];
    if (r->g->tensors.items[tensor].is_output)
        return;
    if (!give_back(r->arena, s->at, bytes_of(r, tensor)))
        r->is_full = true;
    s->is_there = false;
}

static void read_source(running *r, uint32_t source)
{
    const ms_graph_tensor *t = &r->g->tensors.items[source];
    state *s = &r->of[source];
    s->readers--;
    if (s->readers != 0 || s->views != 0)
        return;
    if (t->kind == MS_GRAPH_VIEW) {
        state *root = &r->of[t->root];
        root->views--;
        if (root->views == 0 && root->readers == 0 && root->is_there)
            release(r, t->root);
    } else if (s->is_there) {
        release(r, source);
    }
}

static void count_readers(running *r)
{
    for (uint32_t i = 0; i < r->g->order.count; i++) {
        uint32_t tensor = r->g->order.items[i];
        const ms_graph_tensor *t = &r->g->tensors.items[tensor];
        if (is_elsewhere(r, tensor))
            continue;
        if (t->kind == MS_GRAPH_VIEW)
            r->of[t->root].views++;
        for (uint32_t k = 0; k < t->sources; k++)
            r->of[t->source[k]].readers++;
    }
}

/* Copies to the device, in the order in which the operators read what they are of. */
static void place_copies(running *r)
{
    for (uint32_t i = 0; i < r->g->order.count; i++) {
        uint32_t tensor = r->g->order.items[i];
        const ms_graph_tensor *t = &r->g->tensors.items[tensor];
        bool is_view_only = t->kind == MS_GRAPH_VIEW && t->sources == 1;
        for (uint32_t k = 0; k < t->sources && !is_elsewhere(r, tensor) && !is_view_only; k++) {
            const ms_graph_tensor *from = &r->g->tensors.items[t->source[k]];
            if (from->kind == MS_GRAPH_INPUT || is_elsewhere(r, t->source[k]))
                place(r, t->source[k]);
        }
    }
}

static void run(running *r)
{
    count_readers(r);
    if (r->is_cuda)
        place_copies(r);
    else
        for (uint32_t i = 0; i < r->g->inputs.count; i++)
            place(r, r->g->inputs.items[i]);
    for (uint32_t i = 0; i < r->g->order.count; i++) {
        uint32_t tensor = r->g->order.items[i];
        const ms_graph_tensor *t = &r->g->tensors.items[tensor];
        if (is_elsewhere(r, tensor))
            continue;
        place(r, tensor);
        for (uint32_t k = 0; k < t->sources; k++)
            read_source(r, t->source[k]);
    }
}

static ms_status alloc(const ms_graph *g, uint64_t align, bool is_cuda, uint64_t *bytes,
                       ms_error *err)
{
    ms_graph_arena arena = {.count = 1, .align = align};
    arena.holes[0].bytes = UINT64_MAX / 2;
    running r = {.g = g, .arena = &arena, .is_cuda = is_cuda};
    r.of = g->has_failed ? NULL : calloc(g->tensors.count, sizeof *r.of);
    if (!r.of)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a graph of operators");
    run(&r);
    free(r.of);
    *bytes = arena.highest;
    return r.is_full ? ms_fail(err, MS_ERR_LIMIT, "the graph has more holes than ggml counts")
                     : MS_OK;
}

ms_status ms_graph_alloc_host(ms_graph *g, uint64_t align, uint64_t *bytes, ms_error *err)
{
    return alloc(g, align, false, bytes, err);
}

ms_status ms_graph_alloc_device(ms_graph *g, uint64_t align, uint64_t host_align, uint64_t *bytes,
                                uint64_t *host_bytes, ms_error *err)
{
    running sizes = {.g = g};
    *host_bytes = 0;
    for (uint32_t i = 0; i < g->inputs.count && !g->has_failed; i++)
        *host_bytes += round_up(bytes_of(&sizes, g->inputs.items[i]), host_align);
    for (uint32_t i = 0; i < g->order.count && !g->has_failed; i++)
        if (g->tensors.items[g->order.items[i]].is_gather)
            *host_bytes += round_up(bytes_of(&sizes, g->order.items[i]), host_align);
    return alloc(g, align, true, bytes, err);
}
