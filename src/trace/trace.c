/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* clang-format off */
static const char *const phase_names[] = {
    [MS_PHASE_BUILD]     = "build",
    [MS_PHASE_FORWARD]   = "forward",
    [MS_PHASE_BACKWARD]  = "backward",
    [MS_PHASE_CLIP]      = "clip",
    [MS_PHASE_OPTIMIZER] = "optimizer",
    [MS_PHASE_ZERO_GRAD] = "zero_grad",
    [MS_PHASE_EVALUATION] = "evaluation",
};
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
/* clang-format on */
_Static_assert(sizeof phase_names / sizeof *phase_names == MS_PHASE_COUNT, "a phase has no name");
_Static_assert(sizeof category_names / sizeof *category_names == MS_CATEGORY_COUNT,
               "a category has no name");

const char *ms_phase_name(ms_phase phase)
{
    return phase_names[phase];
}

const char *ms_category_name(ms_category category)
{
    return category_names[category];
}

bool ms_trace_init(ms_trace *trace)
{
    memset(trace, 0, sizeof *trace);
    trace->names_arena = ms_arena_create(0);
    if (trace->names_arena && ms_symbols_init(&trace->symbols) && ms_vec_push(&trace->names, ""))
        return true;
    ms_trace_free(trace);
    return false;
}

void ms_trace_free(ms_trace *trace)
{
    ms_vec_free(&trace->events);
    ms_vec_free(&trace->storages);
    ms_vec_free(&trace->marks);
    ms_vec_free(&trace->copies);
    ms_vec_free(&trace->ops);
    ms_vec_free(&trace->operands);
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
