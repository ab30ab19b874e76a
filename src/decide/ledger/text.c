/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts of a ledger, made on request: names, layer lists, formulas.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "decide/ledger/ledger.h"

/* Writes what fits, counts everything. */
typedef struct sink {
    char *out;
    uint32_t size, length;
} sink;

__attribute__((format(printf, 2, 3))) static void put(sink *s, const char *format, ...)
{
    uint32_t room = s->length < s->size ? s->size - s->length : 0;
    va_list args;
    va_start(args, format);
    int written = ms_text_vprint(room ? s->out + s->length : NULL, room, format, args);
    va_end(args);
    s->length += written > 0 ? (uint32_t)written : 0;
}

static sink sink_of(char *out, uint32_t size)
{
    if (size)
        out[0] = '\0';
    return (sink){out, size, 0};
}

/* ---- names ---- */

enum { MAX_DEPTH = 16 };

static void put_path(sink *s, const ms_trace *trace, uint32_t scope, bool folded)
{
    uint32_t chain[MAX_DEPTH] = {0}, depth = 0;
    for (; scope != MS_NONE && depth < MAX_DEPTH; scope = trace->scopes.items[scope].parent)
        chain[depth++] = scope;
    while (depth--) {
        const ms_scope *part = &trace->scopes.items[chain[depth]];
        bool is_layer = part->layer != MS_NONE && part->parent != MS_NONE &&
                        trace->scopes.items[part->parent].layer == MS_NONE;
        const char *name = folded && is_layer ? "*" : trace->names.items[part->name];
        if (*name)
            put(s, "%s%s", s->length ? "." : "", name);
    }
}

uint32_t ms_ledger_module_name(const ms_ledger *ledger, uint32_t scope, bool is_folded, char *out,
                               uint32_t size)
{
    sink s = sink_of(out, size);
    put_path(&s, &ledger->simulation->trace, scope, is_folded);
    return s.length;
}

uint32_t ms_ledger_storage_name(const ms_ledger *ledger, uint32_t storage, uint32_t count,
                                char *out, uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    const ms_storage *tensor = &trace->storages.items[storage];
    sink s = sink_of(out, size);
    put_path(&s, trace, tensor->scope, count > 1);
    const char *name = ms_storage_label(trace, tensor);
    if (*name)
        put(&s, "%s%s", s.length ? "." : "", name);
    return s.length;
}

uint32_t ms_ledger_name(const ms_ledger *ledger, const ms_record *record, char *out, uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    bool is_op = record->op != MS_NONE;
    sink s = sink_of(out, size);
    put_path(&s, trace, record->scope, record->layer_count > 1);
    const char *name = is_op ? trace->ops.items[record->op].name : trace->names.items[record->name];
    if (*name)
        put(&s, "%s%s", s.length ? "." : "", name);
    return s.length;
}

uint32_t ms_layers_print(const uint32_t *layers, uint32_t count, char *out, uint32_t size)
{
    sink s = sink_of(out, size);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && layers[end] == layers[end - 1] + 1;)
            end++;
        put(&s, "%s%" PRIu32, i ? "," : "", layers[i]);
        if (end - i > 1)
            put(&s, "-%" PRIu32, layers[end - 1]);
    }
    return s.length;
}

/* ---- formulas ---- */

typedef struct term {
    const ms_storage *storage;
    uint32_t count;
} term;

enum { MAX_TERMS = 64 };

static bool same_term(const ms_storage *a, const ms_storage *b)
{
    return a->bytes == b->bytes && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->symbols, b->symbols, a->rank * sizeof a->symbols[0]) == 0;
}

/* A storage whose symbols lost their names (out of memory) or that is larger than its shape says
 * is a plain number. */
static bool has_formula(const ms_trace *trace, const ms_storage *storage)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)storage->dtype);
    for (uint32_t i = 0; i < storage->rank; i++)
        bytes *= trace->symbols.table.items[storage->symbols[i]].value;
    return bytes == storage->bytes;
}

static void put_term(sink *s, const ms_trace *trace, const term *t)
{
    if (t->count > 1)
        put(s, "%" PRIu32 "*", t->count);
    if (!has_formula(trace, t->storage)) {
        put(s, "%" PRIu64, t->storage->bytes);
        return;
    }
    uint32_t room = s->length < s->size ? s->size - s->length : 0;
    s->length += ms_trace_formula(trace, t->storage, room ? s->out + s->length : NULL, room);
}

uint32_t ms_ledger_formula(const ms_ledger *ledger, const ms_record *record, char *out,
                           uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    term terms[MAX_TERMS];
    uint32_t count = 0;
    uint64_t rest_bytes = 0; /* past MAX_TERMS different terms */
    for (uint32_t i = 0; i < record->part_count; i++) {
        uint32_t part = ledger->parts.items[record->first_part + i], t = 0;
        const ms_storage *storage = &trace->storages.items[part];
        while (t < count && !same_term(terms[t].storage, storage))
            t++;
        if (t < count)
            terms[t].count++;
        else if (count < MAX_TERMS)
            terms[count++] = (term){storage, 1};
        else
            rest_bytes += storage->bytes;
    }
    sink s = sink_of(out, size);
    for (uint32_t t = 0; t < count; t++) {
        put(&s, "%s", t ? " + " : "");
        put_term(&s, trace, &terms[t]);
    }
    if (rest_bytes || count == 0)
        put(&s, "%s%" PRIu64, count ? " + " : "", rest_bytes);
    return s.length;
}
