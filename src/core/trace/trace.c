/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "core/trace/words.h"

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
