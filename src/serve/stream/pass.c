/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/pass.h"

#include <inttypes.h>

#include "run/measure/playback.h"

uint32_t ms_stream_layer_of(const ms_trace *trace, uint32_t storage)
{
    const ms_storage *s = &trace->storages.items[storage];
    return s->category == MS_CATEGORY_WEIGHT && s->scope != MS_NONE
               ? trace->scopes.items[s->scope].layer
               : MS_NONE;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + MS_STREAM_UNIT - 1) / MS_STREAM_UNIT * MS_STREAM_UNIT;
}

/* ---- bytes ---- */

/* Storages that are alive when the build ends, in a list of flags. */
static bool *find_built(const ms_trace *trace)
{
    bool *is_alive = calloc((size_t)trace->storages.count + 1, sizeof *is_alive);
    for (uint32_t i = 0; is_alive && i < trace->events.count; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE)
            is_alive[e.id] = e.kind == MS_EVENT_ALLOC;
        if (e.kind == MS_EVENT_MARK && !trace->marks.items[e.id].begin)
            break;
    }
    return is_alive;
}

static ms_status add_weight(const ms_trace *trace, uint32_t storage, ms_stream_pass *pass,
                            ms_error *err)
{
    const ms_storage *s = &trace->storages.items[storage];
    uint32_t layer = ms_stream_layer_of(trace, storage);
    if (layer == MS_NONE) {
        bool stays = s->category == MS_CATEGORY_WEIGHT || s->category == MS_CATEGORY_BUFFER;
        pass->outside_bytes += stays ? s->bytes : 0;
        return MS_OK;
    }
    while (layer >= pass->layers.count)
        if (!ms_vec_push(&pass->layers, (ms_stream_layer){0}))
            return ms_fail(err, MS_ERR_NOMEM, "no memory for the layers of the model");
    const ms_stream_weight weight = {storage, layer, pass->layers.items[layer].block_bytes};
    if (!ms_vec_push(&pass->weights, weight))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the layers of the model");
    pass->layers.items[layer].weight_bytes += s->bytes;
    pass->layers.items[layer].block_bytes += round_up(s->bytes);
    pass->layers_bytes += s->bytes;
    return MS_OK;
}

static ms_status read_weights(const ms_trace *trace, ms_stream_pass *pass, ms_error *err)
{
    bool *is_alive = find_built(trace);
    ms_status status =
        is_alive ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for the layers of the model");
    for (uint32_t i = 0; i < trace->storages.count && status == MS_OK; i++)
        if (is_alive[i])
            status = add_weight(trace, i, pass, err);
    free(is_alive);
    for (uint32_t i = 0; i < pass->layers.count; i++)
        if (pass->layers.items[i].block_bytes > pass->slot_bytes)
            pass->slot_bytes = pass->layers.items[i].block_bytes;
    return status;
}

/* ---- times ---- */

typedef struct reading {
    const ms_trace *trace;
    const ms_device *device;
    ms_stream_pass *pass;
    uint32_t layer; /* that runs; MS_NONE: none */
    uint32_t next;  /* the one that has to be the next */
    bool is_in_order;
    double outside_ms; /* since the last layer ended */
} reading;

static void enter(reading *r, uint32_t layer)
{
    r->layer = layer;
    if (layer == MS_NONE)
        return;
    r->is_in_order = r->is_in_order && layer == r->next && layer < r->pass->layers.count;
    if (!r->is_in_order)
        return;
    r->pass->layers.items[layer].before_ms = r->outside_ms;
    r->outside_ms = 0;
    r->next++;
}

static void compute(reading *r, uint32_t op)
{
    double ms = ms_clock_op_ms(r->device, &r->trace->ops.items[op]);
    if (r->layer != MS_NONE && r->is_in_order)
        r->pass->layers.items[r->layer].compute_ms += ms;
    else
        r->outside_ms += ms;
}

static bool begins_pass(const ms_trace *trace, ms_event e)
{
    const ms_mark *mark = e.kind == MS_EVENT_MARK ? &trace->marks.items[e.id] : NULL;
    return mark && mark->begin && mark->step == trace->marks.items[trace->marks.count - 1].step;
}

static void read_times(reading *r)
{
    const ms_trace *trace = r->trace;
    uint32_t i = 0;
    while (i < trace->events.count && !begins_pass(trace, trace->events.items[i]))
        i++;
    for (i++; i < trace->events.count && trace->events.items[i].kind != MS_EVENT_MARK; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_LAYER)
            enter(r, e.id);
        else if (e.kind == MS_EVENT_OP_END)
            compute(r, e.id);
    }
    r->pass->after_ms = r->outside_ms;
}

ms_status ms_stream_pass_read(const ms_trace *trace, const ms_device *device, ms_stream_pass *pass,
                              ms_error *err)
{
    *pass = (ms_stream_pass){.is_timed = ms_device_has_rates(device) && !device->has_assumed_rates,
                             .link_bytes_per_s = device->host_link_bytes_per_s};
    reading r = {
        .trace = trace, .device = device, .pass = pass, .layer = MS_NONE, .is_in_order = true};
    ms_status status = read_weights(trace, pass, err);
    if (status == MS_OK)
        read_times(&r);
    if (status == MS_OK && pass->layers.count == 0)
        status = ms_fail(err, MS_ERR_CONFIG, "this model has no layers whose weights can stream");
    else if (status == MS_OK && (!r.is_in_order || r.next != pass->layers.count))
        status = ms_fail(err, MS_ERR_CONFIG,
                         "this model's layers do not each run once and in order, so streaming them "
                         "is not supported");
    if (status != MS_OK)
        ms_stream_pass_free(pass);
    return status;
}

void ms_stream_pass_free(ms_stream_pass *pass)
{
    ms_vec_free(&pass->layers);
    ms_vec_free(&pass->weights);
}

uint32_t ms_stream_buffers(const ms_stream_pass *pass, uint32_t places)
{
    bool stays = places == pass->layers.count;
    return stays && places > 2 ? 2 : places;
}

double ms_stream_compute_ms(const ms_stream_pass *pass)
{
    double ms = pass->after_ms;
    for (uint32_t i = 0; i < pass->layers.count; i++)
        ms += pass->layers.items[i].before_ms + pass->layers.items[i].compute_ms;
    return ms;
}

double ms_stream_copy_ms(const ms_stream_pass *pass, uint32_t layer)
{
    double bytes = (double)pass->layers.items[layer].block_bytes;
    return pass->link_bytes_per_s > 0 ? bytes / pass->link_bytes_per_s * 1e3 : 0;
}
