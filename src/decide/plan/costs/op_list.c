/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/op_list.h"

#include <string.h>

#include "run/measure/clock.h"

static bool is_in_layer(const ms_trace *trace, const ms_op_exec *op, ms_pass pass, uint32_t layer)
{
    return op->pass == pass && op->scope != MS_NONE &&
           trace->scopes.items[op->scope].layer == layer;
}

/* One from the middle of the layers; the last one's recomputation may stop elsewhere. */
static uint32_t choose_layer(const ms_trace *trace)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < trace->scopes.count; i++)
        if (trace->scopes.items[i].layer != MS_NONE && trace->scopes.items[i].layer > last)
            last = trace->scopes.items[i].layer;
    return last < 2 ? 0 : 2;
}

/* It writes to what was made before, so it has to run again. */
static bool is_in_place(const char *name)
{
    return name[0] && name[strlen(name) - 1] == '_';
}

static uint32_t occurrence_of(const ms_op_list *list, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        count += strcmp(list->items[i].name, name) == 0;
    return count;
}

/* The operators of one layer in a pass. */
static ms_status read_pass(const ms_trace *trace, ms_pass pass, const ms_device *device,
                           ms_op_list *list, ms_error *err)
{
    uint32_t layer = choose_layer(trace);
    ms_recomputed_op *current = NULL;
    uint32_t running = MS_NONE;
    bool is_done = false; /* of several micro-steps the first */
    list->count = 0;
    list->items = ms_arena_array(list->arena, ms_recomputed_op, MS_MOST_RECOMPUTED_OPS);
    if (!list->items)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a layer's operators");
    for (uint32_t i = 0; i < trace->events.count && !is_done; i++) {
        ms_event e = trace->events.items[i];
        switch ((ms_event_kind)e.kind) {
        case MS_EVENT_OP_BEGIN: {
            const ms_op_exec *op = &trace->ops.items[e.id];
            if (!is_in_layer(trace, op, pass, layer) || list->count == MS_MOST_RECOMPUTED_OPS)
                break;
            current = &list->items[list->count];
            *current = (ms_recomputed_op){.name = op->name,
                                          .occurrence = occurrence_of(list, op->name),
                                          .is_random = op->is_random,
                                          .is_changed = is_in_place(op->name),
                                          .ms = ms_clock_op_ms(device, op)};
            running = e.id;
            list->count++;
            break;
        }
        case MS_EVENT_OP_END:
            current = NULL;
            break;
        case MS_EVENT_ALLOC:
            if (current) {
                current->bytes += trace->storages.items[e.id].bytes;
                current->is_changed |= trace->storages.items[e.id].is_changed;
            }
            break;
        case MS_EVENT_FREE:
            if (current && trace->storages.items[e.id].op == running)
                current->bytes -= trace->storages.items[e.id].bytes;
            break;
        case MS_EVENT_MARK:
            is_done = !trace->marks.items[e.id].begin && list->count > 0;
            break;
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
    return MS_OK;
}

/* Whether an operator of forward must be recomputed: recomputation may end before what it made is
 * changed. */
static bool is_changed_in(const ms_op_list *forward, const ms_recomputed_op *op)
{
    for (uint32_t i = 0; i < forward->count; i++)
        if (forward->items[i].occurrence == op->occurrence &&
            strcmp(forward->items[i].name, op->name) == 0)
            return forward->items[i].is_changed;
    return false;
}

/* What draws random numbers must run again for those that draw after it, so the last one need not;
 * attention may be one, and dropouts are always recomputed. */
static void let_last_be_kept(const ms_op_list *list)
{
    for (uint32_t i = list->count; i-- > 0;)
        if (list->items[i].is_random) {
            list->items[i].is_random = strstr(list->items[i].name, "dropout") != NULL;
            return;
        }
}

ms_status ms_op_list_read(const ms_trace *trace, const ms_device *device, ms_op_list *list,
                          ms_error *err)
{
    ms_op_list forward = {.arena = list->arena};
    ms_status status = read_pass(trace, MS_PASS_RECOMPUTE, device, list, err);
    if (status == MS_OK)
        status = read_pass(trace, MS_PASS_FORWARD, device, &forward, err);
    for (uint32_t i = 0; i < list->count && status == MS_OK; i++)
        list->items[i].is_changed |= is_changed_in(&forward, &list->items[i]);
    if (status == MS_OK)
        let_last_be_kept(list);
    return status;
}

static bool is_of(const ms_kept_op *kept, const ms_recomputed_op *op)
{
    return ms_kept_name_means(kept->name, op->name) &&
           (kept->occurrence == UINT32_MAX || kept->occurrence == op->occurrence);
}

bool ms_op_list_may_keep(const ms_op_list *list, const ms_kept_op *kept, uint32_t count)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < count; k++)
            if ((list->items[i].is_changed || list->items[i].is_random) &&
                is_of(&kept[k], &list->items[i]))
                return false;
    return true;
}
