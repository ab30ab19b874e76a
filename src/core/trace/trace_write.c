/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/trace_write.h"

#include "core/trace/rows.h"

typedef struct writer {
    ms_json_writer json;
    const ms_trace *trace;
} writer;

static void end_line(writer *w)
{
    ms_json_close(&w->json);
    fputc('\n', w->json.out);
}

static void write_number(writer *w, const char *kind, uint32_t number)
{
    ms_json_object_inline(&w->json, NULL);
    if (number == MS_NONE)
        ms_json_null(&w->json, kind);
    else
        ms_json_uint(&w->json, kind, number);
    end_line(w);
}

static void write_row(writer *w, const ms_members *members, const void *row)
{
    ms_json_object_inline(&w->json, NULL);
    ms_json_object(&w->json, members->name);
    ms_members_write(&w->json, members, row);
    ms_json_close(&w->json);
    end_line(w);
}

/* How many rows there are of what stands before the events, and of events. */
static void write_head(writer *w, const ms_trace_facts *facts)
{
    const ms_trace *t = w->trace;
    ms_json_object_inline(&w->json, NULL);
    ms_json_object(&w->json, "trace");
    ms_json_string(&w->json, "version", MS_TRACE_VERSION);
    ms_json_string(&w->json, "made_by", facts->made_by);
    ms_json_string(&w->json, "run", facts->run);
    ms_json_uint(&w->json, "names", t->names.count);
    ms_json_uint(&w->json, "symbols", t->symbols.table.count);
    ms_json_uint(&w->json, "scopes", t->scopes.count);
    ms_json_uint(&w->json, "streams", t->streams.count);
    ms_json_uint(&w->json, "storages", t->storages.count);
    ms_json_uint(&w->json, "operators", t->ops.count);
    ms_json_uint(&w->json, "events", t->events.count);
    ms_json_close(&w->json);
    end_line(w);
}

static void write_tables(writer *w)
{
    const ms_trace *t = w->trace;
    for (uint32_t i = 0; i < t->names.count; i++) {
        ms_json_object_inline(&w->json, NULL);
        ms_json_string(&w->json, "name", t->names.items[i]);
        end_line(w);
    }
    for (uint32_t i = 0; i < t->symbols.table.count; i++)
        write_row(w, &ms_symbol_members, &t->symbols.table.items[i]);
    for (uint32_t i = 0; i < t->scopes.count; i++)
        write_row(w, &ms_scope_members, &t->scopes.items[i]);
    for (uint32_t i = 0; i < t->streams.count; i++)
        write_row(w, &ms_stream_members, &t->streams.items[i]);
    for (uint32_t i = 0; i < t->storages.count; i++)
        write_row(w, &ms_storage_members, &t->storages.items[i]);
}

static void write_item(writer *w, const ms_members *members, const void *row)
{
    ms_json_object(&w->json, NULL);
    ms_members_write(&w->json, members, row);
    ms_json_close(&w->json);
}

static void write_op(writer *w, const ms_op_exec *op)
{
    ms_json_object_inline(&w->json, NULL);
    ms_json_object(&w->json, ms_op_members.name);
    ms_members_write(&w->json, &ms_op_members, op);
    ms_json_array(&w->json, "operands");
    for (uint32_t i = 0; i < op->operand_count; i++)
        write_item(w, &ms_operand_members, &w->trace->operands.items[op->first_operand + i]);
    ms_json_close(&w->json);
    ms_json_array(&w->json, "products");
    for (uint32_t i = 0; i < op->product_count; i++)
        write_item(w, &ms_gemm_members, &w->trace->products.items[op->first_product + i]);
    ms_json_close(&w->json);
    ms_json_close(&w->json);
    end_line(w);
}

static void write_event(writer *w, ms_event event)
{
    const ms_trace *t = w->trace;
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_ALLOC:
        write_number(w, "alloc", event.id);
        break;
    case MS_EVENT_FREE:
        write_number(w, "free", event.id);
        break;
    case MS_EVENT_OP_BEGIN:
        write_op(w, &t->ops.items[event.id]);
        break;
    case MS_EVENT_OP_END:
        write_number(w, "end", event.id);
        break;
    case MS_EVENT_MARK:
        write_row(w, &ms_mark_members, &t->marks.items[event.id]);
        break;
    case MS_EVENT_LAYER:
        write_number(w, "layer", event.id);
        break;
    case MS_EVENT_WORK:
        write_row(w, &ms_work_members, &t->works.items[event.id]);
        break;
    case MS_EVENT_WAIT:
        write_row(w, &ms_wait_members, &t->waits.items[event.id]);
        break;
    case MS_EVENT_RECORD:
        write_row(w, &ms_use_members, &t->uses.items[event.id]);
        break;
    case MS_EVENT_EMPTY_CACHE:
        write_number(w, "empty_cache", MS_NONE);
        break;
    case MS_EVENT_HOST_EVENT:
        write_number(w, "host_event", event.id);
        break;
    case MS_EVENT_HOST_WAIT:
        write_number(w, "host_wait", event.id);
        break;
    }
}

void ms_trace_write(const ms_trace *trace, const ms_trace_facts *facts, FILE *out)
{
    writer w = {.json = {.out = out}, .trace = trace};
    write_head(&w, facts);
    write_tables(&w);
    for (uint32_t i = 0; i < trace->events.count; i++)
        write_event(&w, trace->events.items[i]);
}
