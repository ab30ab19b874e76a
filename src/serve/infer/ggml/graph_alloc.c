/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/ggml/graph_alloc.h"

#include <string.h>

enum { MOST_HOLES = 256, CUDA_ROW = 512 };

/* The arena of one device, or of the host. */
typedef struct arena {
    struct {
        uint64_t begin, bytes;
    } holes[MOST_HOLES];
    uint32_t count;
    uint64_t align, highest;
} arena;

/* ---- an arena ---- */

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    return align > 1 ? (bytes + align - 1) / align * align : bytes;
}

static void remove_hole(arena *a, uint32_t i)
{
    memmove(&a->holes[i], &a->holes[i + 1], (a->count - i - 1) * sizeof a->holes[0]);
    a->count--;
}

/* The last hole is the end of the arena, which grows: it is taken when no other is large enough. */
static uint64_t take(arena *a, uint64_t bytes)
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
static bool give_back(arena *a, uint64_t at, uint64_t bytes)
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
    uint32_t readers, views, device;
    bool is_there;
    uint64_t at;
} state;

typedef struct running {
    const ms_graph *g;
    const ms_schedule *s;
    arena *arenas; /* by device; the host is the last */
    state *of;     /* by tensor */
    bool is_full;
} running;

static const ms_graph_tensor *tensor(const running *r, uint32_t t)
{
    return &r->g->tensors.items[t];
}

/* CUDA pads rows of quantised types, after the last one. */
static uint64_t bytes_of(const running *r, uint32_t t, uint32_t device)
{
    const ms_graph_tensor *of = tensor(r, t);
    uint64_t bytes = ms_graph_span(of);
    if (device == r->s->settings.devices)
        return bytes;
    if (ms_stored_type_of(of->type)->is_quantized && of->ne[0] % CUDA_ROW != 0)
        bytes += ms_stored_row_bytes(of->type, CUDA_ROW - of->ne[0] % CUDA_ROW).bytes;
    return bytes + of->extra_bytes;
}

static bool has_same_layout(const ms_graph_tensor *a, const ms_graph_tensor *b)
{
    return a->type == b->type && memcmp(a->ne, b->ne, sizeof a->ne) == 0 &&
           memcmp(a->nb, b->nb, sizeof a->nb) == 0;
}

static void give_rest_back(running *r, uint32_t from, uint32_t device, uint64_t at, uint64_t kept)
{
    arena *a = &r->arenas[device];
    uint64_t before = round_up(bytes_of(r, from, device), a->align);
    uint64_t after = round_up(kept, a->align);
    if (before > after && !give_back(a, at + after, before - after))
        r->is_full = true;
}

static bool take_over(running *r, uint32_t t)
{
    const ms_graph_tensor *of = tensor(r, t);
    for (uint32_t i = 0; i < of->sources && of->may_be_in_place; i++) {
        const ms_graph_tensor *from = tensor(r, of->source[i]);
        state *s = &r->of[of->source[i]];
        if (!s->is_there || from->is_output || !has_same_layout(of, from) || s->readers != 1 ||
            s->views != 0)
            continue;
        r->of[t].at = s->at;
        r->of[t].device = s->device;
        s->is_there = false;
        give_rest_back(r, of->source[i], s->device, s->at, bytes_of(r, t, s->device));
        return true;
    }
    return false;
}

static void place(running *r, uint32_t t, uint32_t device)
{
    const ms_graph_tensor *of = tensor(r, t);
    state *s = &r->of[t];
    bool is_elsewhere = of->op == MS_GRAPH_WEIGHT || of->op == MS_GRAPH_MEMORY;
    if (s->is_there || of->root != MS_GRAPH_NONE || is_elsewhere)
        return;
    s->is_there = true;
    if (take_over(r, t))
        return;
    s->device = device;
    s->at = take(&r->arenas[device], bytes_of(r, t, device));
}

static void release(running *r, uint32_t t)
{
    state *s = &r->of[t];
    if (tensor(r, t)->is_output)
        return;
    if (!give_back(&r->arenas[s->device], s->at, bytes_of(r, t, s->device)))
        r->is_full = true;
    s->is_there = false;
}

static void read_source(running *r, uint32_t source)
{
    const ms_graph_tensor *t = tensor(r, source);
    state *s = &r->of[source];
    s->readers--;
    if (s->readers != 0 || s->views != 0)
        return;
    if (t->root != MS_GRAPH_NONE) {
        state *root = &r->of[t->root];
        root->views--;
        if (root->views == 0 && root->readers == 0 && root->is_there)
            release(r, t->root);
    } else if (s->is_there) {
        release(r, source);
    }
}

/* The tensors that a step reads. */
static const uint32_t *sources(const running *r, const ms_sched_step *s, uint32_t *count)
{
    bool is_operator = s->tensor != MS_GRAPH_NONE;
    *count = is_operator ? tensor(r, s->tensor)->sources : s->kept;
    return is_operator ? tensor(r, s->tensor)->source : &r->s->kept.items[s->first_kept];
}

static void count_readers(running *r)
{
    for (uint32_t i = 0; i < r->s->steps.count; i++) {
        const ms_sched_step *s = &r->s->steps.items[i];
        uint32_t count;
        const uint32_t *from = sources(r, s, &count);
        if (s->tensor != MS_GRAPH_NONE && tensor(r, s->tensor)->root != MS_GRAPH_NONE)
            r->of[tensor(r, s->tensor)->root].views++;
        for (uint32_t k = 0; k < count; k++)
            r->of[from[k]].readers++;
    }
}

static void run(running *r)
{
    for (uint32_t i = 0; i < r->s->leaves.count; i++)
        place(r, r->s->leaves.items[i].tensor, r->s->leaves.items[i].device);
    count_readers(r);
    for (uint32_t i = 0; i < r->s->steps.count; i++) {
        const ms_sched_step *s = &r->s->steps.items[i];
        uint32_t count;
        const uint32_t *from = sources(r, s, &count);
        if (s->tensor != MS_GRAPH_NONE)
            place(r, s->tensor, s->device);
        for (uint32_t k = 0; k < count; k++)
            read_source(r, from[k]);
    }
}

ms_status ms_graph_alloc(const ms_graph *g, const ms_schedule *schedule, uint64_t *bytes,
                         ms_error *err)
{
    uint32_t places = schedule->settings.devices + 1;
    running r = {.g = g, .s = schedule};
    r.of = g->has_failed ? NULL : calloc((size_t)g->tensors.count + 1, sizeof *r.of);
    r.arenas = calloc(places, sizeof *r.arenas);
    bool ok = r.of && r.arenas;
    for (uint32_t i = 0; i < places && ok; i++) {
        r.arenas[i].count = 1;
        r.arenas[i].align = i + 1 == places ? MS_GRAPH_HOST_ALIGN : MS_GRAPH_DEVICE_ALIGN;
        r.arenas[i].holes[0].bytes = UINT64_MAX / 2;
    }
    if (ok)
        run(&r);
    for (uint32_t i = 0; i < places && ok; i++)
        bytes[i] = r.arenas[i].highest;
    free(r.of);
    free(r.arenas);
    if (!ok)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a graph of operators");
    return r.is_full ? ms_fail(err, MS_ERR_LIMIT, "the graph has more holes than ggml counts")
                     : MS_OK;
}
