/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records of operator executions. A group is one layer (or the operators outside the layers) in one
 * micro-step, or in the update. The first pass over the steady step hashes each group; the second
 * makes records of the first group of each class only.
 */
#include "run/measure/playback.h"
#include "decide/ledger/owners.h"
#include "decide/ledger/records.h"

#include <stdlib.h>

typedef struct op_span {
    uint32_t begin, end; /* events */
    uint32_t micro_step; /* micro_steps for the update */
} op_span;

typedef struct pass {
    const ms_record_source *source;
    op_span *spans; /* per operator execution */
    ms_owners owners;
    ms_fold fold;
} pass;

static uint32_t group_of(const pass *p, uint32_t op)
{
    const ms_trace *trace = p->source->trace;
    uint32_t row = p->source->layer_count + 1;
    uint32_t layer = ms_trace_scope_layer(trace, ms_op_scope(trace, &trace->ops.items[op]),
                                          p->source->layer_count);
    return p->spans[op].micro_step * row + layer;
}

/* That runs from the mark on; outside of forward and backward their count. */
static uint32_t micro_step_of(const pass *p, const ms_mark *mark)
{
    bool is_part = mark->phase == MS_PHASE_FORWARD || mark->phase == MS_PHASE_BACKWARD;
    return mark->begin && is_part ? mark->micro_step : p->source->micro_steps;
}

static void find_spans(pass *p)
{
    const ms_trace *trace = p->source->trace;
    uint32_t micro_step = p->source->micro_steps;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        p->spans[i] = (op_span){MS_NONE, MS_NONE, p->source->micro_steps};
    for (uint32_t e = p->source->usage->steady_first_event; e < p->source->usage->steady_end_event;
         e++) {
        const ms_event *event = &trace->events.items[e];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_MARK:
            micro_step = micro_step_of(p, &trace->marks.items[event->id]);
            break;
        case MS_EVENT_OP_BEGIN:
            p->spans[event->id] = (op_span){e, MS_NONE, micro_step};
            break;
        case MS_EVENT_OP_END:
            p->spans[event->id].end = e;
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

static bool is_executed(const pass *p, uint32_t op)
{
    return p->spans[op].begin != MS_NONE && p->spans[op].end != MS_NONE;
}

static bool outlives(const pass *p, uint32_t storage, uint32_t op)
{
    return ms_lifetime_covers(p->source->lifetimes[storage], p->spans[op].end);
}

static uint64_t hash_operands(const ms_trace *trace, const ms_op_exec *op, uint64_t hash)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ms_operand *o = &trace->operands.items[op->first_operand + i];
        uint64_t kind = (uint64_t)o->rank | (uint64_t)o->dtype << 8 | (uint64_t)o->is_output << 16;
        hash = ms_hash_mix(hash, kind);
        for (uint32_t d = 0; d < o->rank; d++)
            hash = ms_hash_mix(hash, o->sizes[d]);
    }
    return hash;
}

static uint64_t hash_allocations(const pass *p, uint32_t op, uint64_t hash)
{
    const ms_trace *trace = p->source->trace;
    for (uint32_t e = p->spans[op].begin; e < p->spans[op].end; e++) {
        const ms_event *event = &trace->events.items[e];
        if (event->kind != MS_EVENT_ALLOC)
            continue;
        const ms_storage *s = &trace->storages.items[event->id];
        uint64_t kind = (uint64_t)s->category | (uint64_t)s->saved << 8 |
                        (uint64_t)outlives(p, event->id, op) << 9;
        hash = ms_hash_mix(ms_hash_mix(hash, s->bytes), kind);
    }
    return hash;
}

static void hash_ops(pass *p)
{
    const ms_trace *trace = p->source->trace;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        if (!is_executed(p, i))
            continue;
        const ms_op_exec *op = &trace->ops.items[i];
        uint32_t scope = ms_op_scope(trace, op);
        uint64_t hash = scope == MS_NONE ? 0 : p->source->scope_hashes[scope];
        hash = ms_hash_mix(hash, (uint64_t)(uintptr_t)op->name);
        hash = ms_hash_mix(hash, (uint64_t)op->pass | (uint64_t)op->phase << 8);
        hash = ms_hash_mix(ms_hash_mix(hash, op->flops), op->traffic_bytes);
        hash = hash_allocations(p, i, hash_operands(trace, op, hash));
        ms_fold_add(&p->fold, group_of(p, i), hash);
    }
}

/* What the execution allocates: what outlives it becomes parts, the rest its temporaries. */
static bool add_parts(const pass *p, uint32_t op, ms_ledger *ledger, ms_record *record)
{
    const ms_trace *trace = p->source->trace;
    uint64_t temporary_bytes = 0;
    for (uint32_t e = p->spans[op].begin; e < p->spans[op].end; e++) {
        const ms_event *event = &trace->events.items[e];
        if (event->kind != MS_EVENT_ALLOC && event->kind != MS_EVENT_FREE)
            continue;
        const ms_storage *s = &trace->storages.items[event->id];
        bool own = p->source->lifetimes[event->id].birth >= p->spans[op].begin;
        if (!own)
            continue;
        if (event->kind == MS_EVENT_FREE) {
            temporary_bytes -= s->bytes;
        } else if (outlives(p, event->id, op)) {
            record->memory_bytes += s->bytes;
            record->saved_bytes += s->saved ? s->bytes : 0;
            if (!ms_vec_push(&ledger->parts, event->id))
                return false;
        } else {
            temporary_bytes += s->bytes;
        }
        if (temporary_bytes > record->temporary_bytes)
            record->temporary_bytes = temporary_bytes;
    }
    record->part_count = ledger->parts.count - record->first_part;
    return true;
}

/* The category of the largest part: what the operator's memory is for. */
static uint8_t main_category(const ms_trace *trace, const ms_ledger *ledger, const ms_record *r)
{
    uint8_t category = MS_CATEGORY_TEMPORARY;
    uint64_t most_bytes = 0;
    for (uint32_t i = 0; i < r->part_count; i++) {
        const ms_storage *s = &trace->storages.items[ledger->parts.items[r->first_part + i]];
        if (s->bytes > most_bytes) {
            most_bytes = s->bytes;
            category = s->category;
        }
    }
    return category;
}

static bool add_record(pass *p, uint32_t index, ms_ledger *ledger)
{
    uint32_t group = group_of(p, index);
    const ms_fold_group *class = &p->fold.classes[group];
    if (!is_executed(p, index) || class->representative != group)
        return true;
    if (!ms_fold_list_layers(&p->fold, group, &ledger->layers))
        return false;
    const ms_op_exec *op = &p->source->trace->ops.items[index];
    uint32_t micro_step = p->spans[index].micro_step;
    ms_record record = {.op = index,
                        .scope = ms_op_scope(p->source->trace, op),
                        .name = MS_NONE,
                        .first_part = ledger->parts.count,
                        .count = class->count,
                        .first_layers = class->first_layers,
                        .layer_count = class->layer_count,
                        .micro_step = micro_step == p->source->micro_steps ? MS_NONE : micro_step,
                        .phase = op->phase,
                        .pass = op->pass,
                        .flops = op->flops,
                        .traffic_bytes = op->traffic_bytes,
                        .time_us = ms_clock_op_ms(ledger->run->device, op) * 1e3};
    if (!add_parts(p, index, ledger, &record))
        return false;
    record.category = main_category(p->source->trace, ledger, &record);
    ms_owners_put(&p->owners, group, ledger->records.count);
    return ms_vec_push(&ledger->records, record);
}

static bool count_ops(pass *p)
{
    uint32_t count = p->source->trace->ops.count;
    bool ok = ms_owners_init(&p->owners, p->fold.group_count);
    for (uint32_t i = 0; ok && i < count; i++)
        if (is_executed(p, i))
            ms_owners_count(&p->owners, group_of(p, i));
    return ok && ms_owners_close(&p->owners);
}

/* What an execution made is in its record, unless a persistent tensor's has it. */
static bool own_storages(pass *p)
{
    const ms_trace *trace = p->source->trace;
    uint32_t *records = malloc(((size_t)trace->ops.count + 1) * sizeof *records);
    if (!records)
        return false;
    ms_owners_rewind(&p->owners);
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        uint32_t group = is_executed(p, i) ? group_of(p, i) : MS_NONE;
        records[i] = group == MS_NONE
                         ? MS_NONE
                         : ms_owners_take(&p->owners, group, p->fold.classes[group].representative);
    }
    for (uint32_t i = 0; i < trace->storages.count; i++) {
        uint32_t op = trace->storages.items[i].op;
        if (p->source->owners[i] == MS_NONE && op != MS_NONE)
            p->source->owners[i] = records[op];
    }
    free(records);
    return true;
}

/* A micro-step may stand for those that follow it. */
static void count_micro_steps(pass *p)
{
    const ms_trace *trace = p->source->trace;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        p->fold.row_repeats[p->spans[i].micro_step] = trace->ops.items[i].repeats;
}

static bool add_records(pass *p, ms_ledger *ledger)
{
    find_spans(p);
    count_micro_steps(p);
    if (ledger->mode != MS_UNROLL)
        hash_ops(p);
    if (!ms_fold_close(&p->fold, ledger->mode) || !count_ops(p))
        return false;
    for (uint32_t i = 0; i < p->source->trace->ops.count; i++)
        if (!add_record(p, i, ledger))
            return false;
    return own_storages(p);
}

ms_status ms_records_add_operators(const ms_record_source *source, ms_ledger *ledger, ms_error *err)
{
    pass p = {.source = source};
    uint32_t count = source->trace->ops.count;
    p.spans = malloc((count ? count : 1) * sizeof *p.spans);
    bool ok = p.spans &&
              ms_fold_init(&p.fold, source->layer_count, (uint64_t)source->micro_steps + 1) &&
              add_records(&p, ledger);
    ms_owners_free(&p.owners);
    ms_fold_free(&p.fold);
    free(p.spans);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for the operator records");
}
