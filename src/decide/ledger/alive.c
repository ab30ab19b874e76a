/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/alive.h"

#include <stdlib.h>

#include "run/measure/source.h"

typedef struct keyed {
    uint64_t key;
    uint32_t storage;
} keyed;

/* Equal tensors of different layers. */
typedef struct group {
    uint32_t storage, count; /* the last made of those that are alive; how many are */
    uint64_t bytes;
} group;

typedef struct follower {
    const ms_ledger *ledger;
    const ms_trace *trace;
    uint32_t *group_of; /* per storage */
    /* Of the same group, those made after and before it that are alive; MS_NONE: none. */
    uint32_t *later, *earlier;
    group *groups;
    uint32_t group_count, layer_count;
    uint32_t op;
} follower;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

/* Numbers the groups. False: out of memory. */
static bool find_groups(follower *f)
{
    uint32_t count = f->trace->storages.count;
    uint64_t *hashes = ms_scope_hashes_create(f->trace);
    keyed *all = malloc(((size_t)count + 1) * sizeof *all);
    for (uint32_t i = 0; hashes && all && i < count; i++)
        all[i] = (keyed){ms_storage_key(f->trace, hashes, i, f->ledger->usage->block_bytes[i]), i};
    bool ok = hashes && all;
    if (ok)
        qsort(all, count, sizeof *all, by_key);
    for (uint32_t i = 0; ok && i < count; i++) {
        f->group_count += i == 0 || all[i].key != all[i - 1].key;
        f->group_of[all[i].storage] = f->group_count - 1;
    }
    free(hashes);
    free(all);
    return ok;
}

static void add(follower *f, uint32_t storage)
{
    group *g = &f->groups[f->group_of[storage]];
    f->later[storage] = MS_NONE;
    f->earlier[storage] = g->count > 0 ? g->storage : MS_NONE;
    if (g->count > 0)
        f->later[g->storage] = storage;
    g->storage = storage;
    g->count++;
    g->bytes += f->ledger->usage->block_bytes[storage];
}

static void take(follower *f, uint32_t storage)
{
    group *g = &f->groups[f->group_of[storage]];
    uint32_t later = f->later[storage], earlier = f->earlier[storage];
    if (later != MS_NONE)
        f->earlier[later] = earlier;
    else if (earlier != MS_NONE)
        g->storage = earlier;
    if (earlier != MS_NONE)
        f->later[earlier] = later;
    g->count--;
    g->bytes -= f->ledger->usage->block_bytes[storage];
}

/* What was there when the step began. False: out of memory. */
static bool count_before(follower *f)
{
    uint32_t first = f->ledger->usage->steady_first_event;
    ms_lifetime *lifetimes = ms_lifetimes_create(f->trace);
    for (uint32_t i = 0; lifetimes && i < f->trace->storages.count; i++)
        if (lifetimes[i].birth < first && lifetimes[i].death >= first)
            add(f, i);
    free(lifetimes);
    return lifetimes != NULL;
}

static void follow(follower *f, const ms_event *e)
{
    switch ((ms_event_kind)e->kind) {
    case MS_EVENT_ALLOC:
        add(f, e->id);
        break;
    case MS_EVENT_FREE:
        take(f, e->id);
        break;
    case MS_EVENT_OP_BEGIN:
        f->op = e->id;
        break;
    case MS_EVENT_OP_END:
    case MS_EVENT_MARK:
    case MS_EVENT_LAYER:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
}

static bool stays(const follower *f, const group *g)
{
    uint8_t category = f->trace->storages.items[g->storage].category;
    return category == MS_CATEGORY_WEIGHT || category == MS_CATEGORY_BUFFER ||
           category == MS_CATEGORY_OPTIMIZER_STATE;
}

static bool is_larger(const group *g, const ms_peak_tensor *t)
{
    return g->bytes != t->bytes ? g->bytes > t->bytes : g->storage < t->storage;
}

static void pick_largest(const follower *f, ms_alive_point *point)
{
    for (uint32_t i = 0; i < f->group_count; i++) {
        const group *g = &f->groups[i];
        uint32_t at = point->tensor_count;
        if (g->bytes == 0 || stays(f, g))
            continue;
        while (at > 0 && is_larger(g, &point->tensors[at - 1]))
            at--;
        if (at == MS_ALIVE_TENSORS)
            continue;
        point->tensor_count += point->tensor_count < MS_ALIVE_TENSORS;
        for (uint32_t k = point->tensor_count - 1; k > at; k--)
            point->tensors[k] = point->tensors[k - 1];
        point->tensors[at] = (ms_peak_tensor){g->storage, g->count, g->bytes};
    }
}

static bool add_point(const follower *f, ms_alive_points *points)
{
    ms_alive_point point = {.op = f->op, .layer = MS_NONE};
    if (f->op != MS_NONE) {
        uint32_t scope = ms_op_scope(f->trace, &f->trace->ops.items[f->op]);
        uint32_t layer = ms_trace_scope_layer(f->trace, scope, f->layer_count);
        point.layer = layer < f->layer_count ? layer : MS_NONE;
    }
    pick_largest(f, &point);
    return ms_vec_push(points, point);
}

static bool follow_all(follower *f, ms_alive_points *points)
{
    uint32_t first = f->ledger->usage->steady_first_event, next = first;
    for (uint32_t i = 0; i < f->ledger->timeline.count; i++) {
        for (; next <= first + f->ledger->timeline.items[i].event; next++)
            follow(f, &f->trace->events.items[next]);
        if (!add_point(f, points))
            return false;
    }
    return true;
}

ms_status ms_alive_follow(const ms_ledger *ledger, ms_alive_points *points, ms_error *err)
{
    const ms_trace *trace = &ledger->simulation->trace;
    follower f = {.ledger = ledger,
                  .trace = trace,
                  .group_of = calloc((size_t)trace->storages.count + 1, sizeof *f.group_of),
                  .later = calloc((size_t)trace->storages.count + 1, sizeof *f.later),
                  .earlier = calloc((size_t)trace->storages.count + 1, sizeof *f.earlier),
                  .groups = calloc((size_t)trace->storages.count + 1, sizeof *f.groups),
                  .layer_count = ms_trace_layer_count(trace),
                  .op = MS_NONE};
    bool ok = f.group_of && f.later && f.earlier && f.groups && find_groups(&f) &&
              count_before(&f) && follow_all(&f, points);
    free(f.group_of);
    free(f.later);
    free(f.earlier);
    free(f.groups);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for what is alive over the step");
}
