/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/reading_ops.h"

#include <inttypes.h>
#include <string.h>

#include "core/trace/build.h"

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static uint32_t *name_place(ms_trace_reading *r, const char *text)
{
    uint32_t mask = r->op_names.count - 1;
    for (uint32_t i = hash_of(text) & mask;; i = (i + 1) & mask) {
        uint32_t *place = &r->op_names.items[i];
        if (*place == MS_NONE || strcmp(r->file->trace.ops.items[*place].name, text) == 0)
            return place;
    }
}

static bool grow_names(ms_trace_reading *r)
{
    uint32_t count = r->op_names.count ? 2 * r->op_names.count : 64;
    ms_vec(uint32_t) before = {r->op_names.items, r->op_names.count, r->op_names.capacity};
    r->op_names.items = NULL;
    r->op_names.count = r->op_names.capacity = 0;
    bool ok = ms_vec_expect(&r->op_names, count);
    for (uint32_t i = 0; i < count && ok; i++)
        ok = ms_vec_push(&r->op_names, MS_NONE);
    for (uint32_t i = 0; i < before.count && ok; i++)
        if (before.items[i] != MS_NONE)
            *name_place(r, r->file->trace.ops.items[before.items[i]].name) = before.items[i];
    ms_vec_free(&before);
    return ok;
}

/* Those who group operators compare the place of the name: one text for all of that name. */
static ms_status share_name(ms_trace_reading *r, ms_op_exec *op)
{
    if (2 * r->op_name_count >= r->op_names.count && !grow_names(r))
        return ms_trace_reading_kept(r, false);
    uint32_t *place = name_place(r, op->name);
    if (*place != MS_NONE) {
        op->name = r->file->trace.ops.items[*place].name;
        return MS_OK;
    }
    *place = r->file->trace.ops.count;
    r->op_name_count++;
    return ms_trace_reading_keep(r, op->name, &op->name);
}

static ms_status add_operand(ms_trace_reading *r, ms_json_value v, uint32_t op)
{
    ms_operand row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_operand_members, v, &row);
    return status == MS_OK
               ? ms_trace_reading_kept(r, ms_trace_add_operand(&r->file->trace, op, row))
               : status;
}

static ms_status add_product(ms_trace_reading *r, ms_json_value v, uint32_t op)
{
    ms_gemm row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_gemm_members, v, &row);
    return status == MS_OK
               ? ms_trace_reading_kept(r, ms_trace_add_product(&r->file->trace, op, row))
               : status;
}

static ms_status read_parts(ms_trace_reading *r, ms_json_value object, const char *key, uint32_t op,
                            ms_status (*add)(ms_trace_reading *r, ms_json_value v, uint32_t op))
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(object, key, &list, r->err);
    if (status != MS_OK || ms_json_length(list) == 0)
        return status;
    if (ms_json_length(list) > UINT16_MAX)
        return ms_json_fail(r->err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "an operator of more than %d %s", UINT16_MAX, key);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = add(r, v, op);
    return status;
}

ms_status ms_trace_reading_begin_op(ms_trace_reading *r, ms_json_value v)
{
    ms_trace *trace = &r->file->trace;
    ms_op_exec row = {0};
    if (r->op != MS_NONE)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "an operator begins before the one that runs has ended");
    ms_status status = ms_trace_reading_row(r, &ms_op_members, v, &row);
    uint64_t traffic_bytes = row.traffic_bytes;
    if (status == MS_OK)
        status = share_name(r, &row);
    if (status == MS_OK) {
        r->op = ms_trace_begin_op(trace, row);
        status = ms_trace_reading_kept(r, r->op != MS_NONE);
    }
    if (status == MS_OK)
        status = read_parts(r, v, "operands", r->op, add_operand);
    if (status == MS_OK)
        status = read_parts(r, v, "products", r->op, add_product);
    if (status == MS_OK) /* the operands have been counted already */
        trace->ops.items[r->op].traffic_bytes = traffic_bytes;
    return status;
}

ms_status ms_trace_reading_end_op(ms_trace_reading *r, ms_json_value v)
{
    uint32_t id;
    ms_status status = ms_trace_reading_number(r, v, r->file->trace.ops.count, "operator", &id);
    if (status != MS_OK)
        return status;
    if (id != r->op)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "operator %" PRIu32 " ends, but it does not run", id);
    r->op = MS_NONE;
    return ms_trace_reading_event(r, MS_EVENT_OP_END, id);
}
