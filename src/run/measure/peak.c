/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/peak.h"

#include <stdlib.h>
#include <string.h>

#include "run/measure/scopes.h"

typedef struct live_tensor {
    uint64_t bytes, key; /* key: equal for equal tensors of different layers */
    uint32_t storage, count;
} live_tensor;

typedef struct composer {
    const ms_trace *trace;
    const ms_usage *usage;
    ms_peak *peak;
    const uint64_t *scope_hashes;
    uint64_t *layer_bytes; /* per layer, and outside last */
    uint32_t layer_count;
    ms_vec(live_tensor) tensors;
} composer;

static bool add_storage(composer *c, uint32_t index)
{
    const ms_storage *s = &c->trace->storages.items[index];
    uint64_t bytes = c->usage->block_bytes[index];
    c->peak->category_bytes[s->category] += bytes;
    c->peak->category_count[s->category]++;
    c->peak->bytes += bytes;
    c->layer_bytes[ms_trace_scope_layer(c->trace, s->scope, c->layer_count)] += bytes;
    return ms_vec_push(&c->peak->storages, index) &&
           ms_vec_push(&c->tensors,
                       (live_tensor){bytes, ms_storage_key(c->trace, c->scope_hashes, index, bytes),
                                     index, 1});
}

static int by_key(const void *a, const void *b)
{
    const live_tensor *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

static int by_bytes(const void *a, const void *b)
{
    const live_tensor *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

/* Merges equal tensors, then keeps the largest rows. */
static bool fold_tensors(composer *c)
{
    live_tensor *all = c->tensors.items;
    uint32_t kept = 0;
    if (c->tensors.count == 0)
        return true;
    qsort(all, c->tensors.count, sizeof *all, by_key);
    for (uint32_t i = 1; i < c->tensors.count; i++) {
        if (all[i].key == all[kept].key) {
            all[kept].bytes += all[i].bytes;
            all[kept].count++;
        } else {
            all[++kept] = all[i];
        }
    }
    qsort(all, ++kept, sizeof *all, by_bytes);
    for (uint32_t i = 0; i < kept; i++) {
        ms_peak_tensor row = {all[i].storage, all[i].count, all[i].bytes};
        if (i >= MS_PEAK_TENSORS) {
            c->peak->other_count += row.count;
            c->peak->other_bytes += row.bytes;
        } else if (!ms_vec_push(&c->peak->tensors, row)) {
            return false;
        }
    }
    return true;
}

/* Runs of layers that hold equally much, then what lies outside. */
static bool fold_layers(composer *c)
{
    for (uint32_t i = 0; i <= c->layer_count; i++) {
        bool outside = i == c->layer_count;
        bool same = !outside && i > 0 && c->layer_bytes[i] == c->layer_bytes[i - 1];
        if (same) {
            ms_peak_layers *run = &c->peak->layers.items[c->peak->layers.count - 1];
            run->count++;
            run->bytes += c->layer_bytes[i];
        } else if (!ms_vec_push(&c->peak->layers,
                                (ms_peak_layers){outside ? MS_NONE : i, 1, c->layer_bytes[i]})) {
            return false;
        }
    }
    return true;
}

static void enter_phase(const ms_mark *mark, ms_peak *peak)
{
    if (!mark->begin)
        return;
    peak->phase = mark->phase;
    peak->micro_step = mark->micro_step;
}

/* Phase, micro-step and operator at the event. */
static void locate(const ms_trace *trace, const ms_usage *usage, ms_peak *peak)
{
    peak->event = usage->peak_event;
    peak->op = MS_NONE;
    peak->phase = MS_PHASE_FORWARD;
    for (uint32_t e = usage->steady_first_event; e <= usage->peak_event && e < trace->events.count;
         e++) {
        const ms_event *event = &trace->events.items[e];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_OP_BEGIN:
            peak->op = event->id;
            break;
        case MS_EVENT_OP_END:
            peak->op = MS_NONE;
            break;
        case MS_EVENT_MARK:
            enter_phase(&trace->marks.items[event->id], peak);
            break;
        case MS_EVENT_ALLOC:
        case MS_EVENT_FREE:
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
}

static bool compose(composer *c, const ms_lifetime *lifetimes)
{
    for (uint32_t i = 0; i < c->trace->storages.count; i++)
        if (ms_lifetime_covers(lifetimes[i], c->peak->event) && !add_storage(c, i))
            return false;
    return fold_layers(c) && fold_tensors(c);
}

ms_status ms_peak_compose(const ms_record_source *source, ms_peak *peak, ms_error *err)
{
    composer c = {.trace = source->trace,
                  .usage = source->usage,
                  .peak = peak,
                  .scope_hashes = source->scope_hashes,
                  .layer_count = source->layer_count};
    memset(peak, 0, sizeof *peak);
    locate(c.trace, c.usage, peak);
    c.layer_bytes = calloc((size_t)c.layer_count + 1, sizeof *c.layer_bytes);
    bool ok = c.layer_bytes && compose(&c, source->lifetimes);
    free(c.layer_bytes);
    ms_vec_free(&c.tensors);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for the composition of the peak");
}

void ms_peak_free(ms_peak *peak)
{
    ms_vec_free(&peak->storages);
    ms_vec_free(&peak->layers);
    ms_vec_free(&peak->tensors);
}
