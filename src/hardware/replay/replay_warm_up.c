/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_warm_up.h"

#include <string.h>

#include "hardware/replay/replay_operator.h"

typedef ms_vec(ms_backend_product) product_list;

static bool has_shape(const product_list *list, const ms_backend_product *p)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_backend_product *q = &list->items[i];
        if (q->batches == p->batches && q->rows == p->rows && q->inner == p->inner &&
            q->columns == p->columns && q->dtype == p->dtype && q->transposed == p->transposed)
            return true;
    }
    return false;
}

/* Each at the beginning of a part of the scratch; returns how much of it that takes. */
static uint64_t place_in(ms_backend_product *p, uint64_t scratch)
{
    enum { ALIGNMENT = 512 };
    uint64_t unit = p->batches * ms_dtype_bytes(p->dtype);
    const uint64_t sizes[] = {unit * p->rows * p->inner, unit * p->inner * p->columns,
                              unit * p->rows * p->columns};
    uint64_t *const places[] = {&p->a, &p->b, &p->c}, at = 0;
    for (int i = 0; i < 3; i++) {
        *places[i] = scratch + at;
        at += (sizes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return at;
}

/* The shape of the whole parts, and those of what is left over in each direction. */
static bool list_parts(const ms_gemm *whole, const ms_backend_product *most, product_list *list)
{
    enum { CORNERS = 16 };
    const uint64_t left[] = {whole->batches % most->batches, whole->rows % most->rows,
                             whole->inner % most->inner, whole->columns % most->columns};
    bool ok = true;
    for (unsigned corner = 0; corner < CORNERS && ok; corner++) {
        ms_backend_product part = *most;
        uint64_t *const sizes[] = {&part.batches, &part.rows, &part.inner, &part.columns};
        for (unsigned i = 0; i < 4; i++)
            *sizes[i] = corner >> i & 1 ? left[i] : *sizes[i];
        bool is_empty = !part.batches || !part.rows || !part.inner || !part.columns;
        ok = is_empty || has_shape(list, &part) || ms_vec_push(list, part);
    }
    return ok;
}

static bool list_products(const ms_replay_work *r, uint32_t op, product_list *list)
{
    const ms_op_exec *o = &r->trace->ops.items[op];
    for (uint32_t i = 0; i < o->product_count; i++) {
        const ms_gemm *whole = &r->trace->products.items[o->first_product + i];
        ms_backend_product most;
        if (ms_replay_operator_fit(r, o, whole, &most) && !list_parts(whole, &most, list))
            return false;
    }
    return true;
}

/* As they will run: with the storages that have memory by then, and where the replay runs them. */
static bool list_shapes(ms_replay_work *r, product_list *list)
{
    const ms_trace *trace = r->trace;
    uint32_t op = MS_NONE;
    bool ok = true;
    for (uint32_t i = 0; i < trace->events.count && ok; i++) {
        const ms_event event = trace->events.items[i];
        if (event.kind == MS_EVENT_ALLOC)
            r->addresses[event.id] = trace->storages.items[event.id].bytes > 0;
        else if (event.kind == MS_EVENT_FREE)
            r->addresses[event.id] = 0;
        else if (event.kind == MS_EVENT_OP_BEGIN)
            op = event.id;
        else if (op != MS_NONE && (event.kind == MS_EVENT_OP_END || event.kind == MS_EVENT_WORK)) {
            ok = list_products(r, op, list);
            op = MS_NONE;
        }
    }
    memset(r->addresses, 0, trace->storages.count * sizeof *r->addresses);
    return ok;
}

static ms_status run_shape(const ms_replay_work *r, const ms_backend_product *product,
                           ms_error *err)
{
    if (ms_stop_asked(r->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the replay was stopped");
    return r->backend->calls->product(r->backend, r->lanes[MS_STREAM_OPERATORS].stream, product,
                                      err);
}

static ms_status run_list(ms_replay_work *r, product_list *list, uint64_t bytes, ms_error *err)
{
    const ms_backend_calls *calls = r->backend->calls;
    uint64_t scratch = 0;
    ms_status status = calls->reserve(r->backend, MS_MEMORY_BACKED, bytes, &scratch, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < list->count && status == MS_OK; i++) {
        (void)place_in(&list->items[i], scratch);
        status = run_shape(r, &list->items[i], err);
    }
    if (status == MS_OK)
        status = calls->synchronize(r->backend, NULL, err);
    calls->release(r->backend, MS_MEMORY_BACKED, scratch, bytes);
    return status;
}

ms_status ms_replay_warm_up(ms_replay_work *r, ms_error *err)
{
    product_list list = {0};
    ms_error failure = {0};
    uint64_t most = 0;
    bool is_listed = list_shapes(r, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        uint64_t bytes = place_in(&list.items[i], 0);
        most = bytes > most ? bytes : most;
    }
    ms_status status = is_listed ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for a replay");
    if (status == MS_OK && most > 0)
        status = run_list(r, &list, most, &failure);
    ms_vec_free(&list);
    if (status == MS_ERR_OVER_BUDGET)
        return MS_OK; /* then the step says whether it fits */
    if (failure.status != MS_OK)
        *err = failure;
    return status;
}
