/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "core/trace/members.h"
#include "core/trace/words.h"

/* ---- trace ---- */

/* clang-format off */
static const char *const category_names[] = {
    [MS_CATEGORY_WEIGHT]          = "weights",
    [MS_CATEGORY_BUFFER]          = "buffers",
    [MS_CATEGORY_GRADIENT]        = "gradients",
    [MS_CATEGORY_OPTIMIZER_STATE] = "optimizer states",
    [MS_CATEGORY_INPUT]           = "inputs",
    [MS_CATEGORY_ACTIVATION]      = "saved activations",
    [MS_CATEGORY_TEMPORARY]       = "temporaries",
    [MS_CATEGORY_WORKSPACE]       = "workspaces",
};
static const struct {
    ms_stream_kind kind;
    ms_link link;
    const char *name;
} first_streams[] = {
    [MS_STREAM_OPERATORS] = {MS_STREAM_COMPUTE, MS_LINK_NONE,        "operators"},
    [MS_STREAM_TO_DEVICE] = {MS_STREAM_COPY,    MS_LINK_HOST,        "copies to the device"},
    [MS_STREAM_TO_HOST]   = {MS_STREAM_COPY,    MS_LINK_HOST,        "copies to the host"},
    [MS_STREAM_UPDATES]   = {MS_STREAM_HOST,    MS_LINK_HOST_MEMORY, "updates on the host"},
};
/* clang-format on */
_Static_assert(sizeof first_streams / sizeof *first_streams == MS_FIRST_STREAMS,
               "a stream has no row");
_Static_assert(sizeof category_names / sizeof *category_names == MS_CATEGORY_COUNT,
               "a category has no name");

const char *ms_phase_name(ms_phase phase)
{
    return ms_phase_words.items[phase];
}

const ms_words ms_category_titles = {category_names, MS_CATEGORY_COUNT, 0, 0};

const char *ms_category_name(ms_category category)
{
    return category_names[category];
}

static bool add_first_streams(ms_trace *trace)
{
    for (uint32_t i = 0; i < MS_FIRST_STREAMS; i++) {
        ms_stream stream = {.kind = (uint8_t)first_streams[i].kind,
                            .link = (uint8_t)first_streams[i].link,
                            .name = trace->names.count};
        if (!ms_vec_push(&trace->names, first_streams[i].name) ||
            !ms_vec_push(&trace->streams, stream))
            return false;
    }
    return true;
}

bool ms_trace_init(ms_trace *trace)
{
    memset(trace, 0, sizeof *trace);
    trace->names_arena = ms_arena_create(0);
    if (trace->names_arena && ms_symbols_init(&trace->symbols) && ms_vec_push(&trace->names, "") &&
        add_first_streams(trace))
        return true;
    ms_trace_free(trace);
    return false;
}

void ms_trace_free(ms_trace *trace)
{
    ms_vec_free(&trace->events);
    ms_vec_free(&trace->storages);
    ms_vec_free(&trace->marks);
    ms_vec_free(&trace->streams);
    ms_vec_free(&trace->works);
    ms_vec_free(&trace->waits);
    ms_vec_free(&trace->uses);
    ms_vec_free(&trace->ops);
    ms_vec_free(&trace->operands);
    ms_vec_free(&trace->products);
    ms_vec_free(&trace->scopes);
    ms_vec_free(&trace->names);
    ms_symbols_free(&trace->symbols);
    ms_arena_free(trace->names_arena);
    trace->names_arena = NULL;
}

enum { MAX_SCOPE_DEPTH = 16 };

uint32_t ms_trace_scope_path(const ms_trace *trace, uint32_t scope, char *out, uint32_t size)
{
    uint32_t chain[MAX_SCOPE_DEPTH], depth = 0, length = 0;
    for (; scope != MS_NONE && depth < MAX_SCOPE_DEPTH; scope = trace->scopes.items[scope].parent)
        chain[depth++] = scope;
    if (size)
        out[0] = '\0';
    while (depth--) {
        const char *name = trace->names.items[trace->scopes.items[chain[depth]].name];
        uint32_t room = length < size ? size - length : 0;
        int written = snprintf(room ? out + length : NULL, room, "%s%s", length ? "." : "", name);
        length += written > 0 ? (uint32_t)written : 0;
    }
    return length;
}

uint32_t ms_trace_formula(const ms_trace *trace, const ms_storage *storage, char *out,
                          uint32_t size)
{
    int written = snprintf(out, size, "%" PRIu64, ms_dtype_bytes((ms_dtype)storage->dtype));
    uint32_t length = written > 0 ? (uint32_t)written : 0;
    for (uint32_t i = 0; i < storage->rank; i++) {
        uint32_t symbol = storage->symbols[i];
        if (symbol == 0)
            continue; /* times 1 */
        if (length < size)
            snprintf(out + length, size - length, "*");
        length++;
        uint32_t room = length < size ? size - length : 0;
        length +=
            (uint32_t)ms_symbol_print(&trace->symbols, symbol, room ? out + length : NULL, room);
    }
    return length;
}

/* ---- trace write ---- */

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
