/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/reading.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "core/trace/reading_ops.h"
#include "core/trace/build.h"

enum { NOT_YET, ALLOCATED, FREED };

/* The text of a formula doubles with each symbol that is built of another twice. */
enum { MOST_FORMULA_BYTES = 1024 };

static ms_status no_memory(const ms_trace_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a trace");
}

ms_status ms_trace_reading_kept(const ms_trace_reading *r, bool ok)
{
    return ok ? MS_OK : no_memory(r);
}

ms_status ms_trace_reading_begin(ms_trace_reading *r)
{
    ms_trace *trace = &r->file->trace;
    if (!ms_trace_init(trace))
        return no_memory(r);
    trace->names.count = trace->symbols.table.count = trace->streams.count = 0;
    return MS_OK;
}

void ms_trace_reading_end(ms_trace_reading *r)
{
    ms_vec_free(&r->states);
    ms_vec_free(&r->op_names);
    ms_vec_free(&r->formula_lengths);
}

ms_status ms_trace_reading_keep(ms_trace_reading *r, const char *text, const char **copy)
{
    *copy = ms_arena_strdup(r->file->trace.names_arena, text);
    return ms_trace_reading_kept(r, *copy != NULL);
}

/* What a row may refer to: rows that stand before it, and operators that were announced. */
ms_status ms_trace_reading_row(const ms_trace_reading *r, const ms_members *members,
                               ms_json_value v, void *row)
{
    const ms_trace *t = &r->file->trace;
    const uint32_t rows[MS_ROW_KINDS] = {
        [MS_ROW_NAME] = t->names.count,       [MS_ROW_SYMBOL] = t->symbols.table.count,
        [MS_ROW_SCOPE] = t->scopes.count,     [MS_ROW_STREAM] = t->streams.count,
        [MS_ROW_STORAGE] = t->storages.count, [MS_ROW_OP] = r->head.ops,
        [MS_ROW_WORK] = t->works.count,
    };
    return ms_members_read(members, v, rows, row, r->err);
}

/* ---- tables ---- */

static ms_status read_name(ms_trace_reading *r, ms_json_value v)
{
    const char *text;
    ms_status status = ms_json_get_string(v, &text, r->err);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_name(&r->file->trace, text) != MS_NONE);
}

/* How many of left and right are symbols. */
static uint32_t part_count(const ms_symbol *s)
{
    switch (s->kind) {
    case MS_SYMBOL_PRODUCT:
    case MS_SYMBOL_SUM:
    case MS_SYMBOL_REST:
        return 2;
    case MS_SYMBOL_HALF:
    case MS_SYMBOL_CEIL:
        return 1;
    case MS_SYMBOL_NUMBER:
    case MS_SYMBOL_NAME:
        break;
    }
    return 0;
}

/* A symbol is built of earlier ones, of whose formulas it has the text. */
static ms_status measure_symbol(ms_trace_reading *r, ms_json_value v, const ms_symbol *s)
{
    enum { AROUND = 24 }; /* brackets and signs, or a number */
    const uint32_t parts[] = {s->left, s->right}, count = part_count(s);
    uint64_t length = AROUND + (s->text ? strlen(s->text) : 0);
    bool is_built = true;
    for (uint32_t i = 0; i < count && is_built; i++) {
        is_built = parts[i] < r->formula_lengths.count;
        length += is_built ? r->formula_lengths.items[parts[i]] : 0;
    }
    if (!is_built)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a symbol is built of symbols that stand before it");
    if (s->kind == MS_SYMBOL_NAME && !s->text)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "a name without a text");
    if (length > MOST_FORMULA_BYTES)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a formula of more than %d characters", MOST_FORMULA_BYTES);
    return ms_trace_reading_kept(r, ms_vec_push(&r->formula_lengths, (uint32_t)length));
}

static ms_status read_symbol(ms_trace_reading *r, ms_json_value v)
{
    ms_symbol row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_symbol_members, v, &row);
    if (status == MS_OK)
        status = measure_symbol(r, v, &row);
    if (status == MS_OK && row.text)
        status = ms_trace_reading_keep(r, row.text, &row.text);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_vec_push(&r->file->trace.symbols.table, row));
}

static ms_status read_scope(ms_trace_reading *r, ms_json_value v)
{
    ms_scope row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_scope_members, v, &row);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_scope(&r->file->trace, row) != MS_NONE);
}

static ms_status read_stream(ms_trace_reading *r, ms_json_value v)
{
    ms_stream row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_stream_members, v, &row);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_stream(&r->file->trace, row) != MS_NONE);
}

static ms_status read_storage(ms_trace_reading *r, ms_json_value v)
{
    ms_storage row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_storage_members, v, &row);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_storage(&r->file->trace, &row) != MS_NONE &&
                                        ms_vec_push(&r->states, NOT_YET));
}

/* ---- events ---- */

ms_status ms_trace_reading_number(const ms_trace_reading *r, ms_json_value v, uint32_t count,
                                  const char *what, uint32_t *number)
{
    uint64_t n = 0;
    ms_status status = ms_json_get_count(v, 0, UINT64_MAX, &n, r->err);
    *number = (uint32_t)n;
    if (status == MS_OK && n >= count)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "there is no %s %" PRIu64 ": the trace has %" PRIu32, what, n, count);
    return status;
}

ms_status ms_trace_reading_event(const ms_trace_reading *r, ms_event_kind kind, uint32_t id)
{
    return ms_trace_reading_kept(r, ms_trace_add_event(&r->file->trace, kind, id));
}

static ms_status read_alloc(ms_trace_reading *r, ms_json_value v)
{
    uint32_t id;
    ms_status status = ms_trace_reading_number(r, v, r->states.count, "storage", &id);
    if (status != MS_OK)
        return status;
    if (r->states.items[id] != NOT_YET || r->file->trace.storages.items[id].bytes == 0)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            r->states.items[id] == NOT_YET
                                ? "storage %" PRIu32 " has no bytes to allocate"
                                : "storage %" PRIu32 " is allocated a second time",
                            id);
    r->states.items[id] = ALLOCATED;
    return ms_trace_reading_event(r, MS_EVENT_ALLOC, id);
}

static ms_status expect_allocated(const ms_trace_reading *r, ms_json_value v, uint32_t id)
{
    if (r->states.items[id] == ALLOCATED)
        return MS_OK;
    return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "storage %" PRIu32 " is not allocated here", id);
}

static ms_status read_free(ms_trace_reading *r, ms_json_value v)
{
    uint32_t id;
    ms_status status = ms_trace_reading_number(r, v, r->states.count, "storage", &id);
    if (status == MS_OK)
        status = expect_allocated(r, v, id);
    if (status != MS_OK)
        return status;
    r->states.items[id] = FREED;
    return ms_trace_reading_event(r, MS_EVENT_FREE, id);
}

static ms_status read_mark(ms_trace_reading *r, ms_json_value v)
{
    ms_mark row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_mark_members, v, &row);
    if (status != MS_OK)
        return status;
    bool is_same = row.phase == r->mark.phase && row.step == r->mark.step &&
                   row.micro_step == r->mark.micro_step;
    if (row.begin == r->is_in_phase || (!row.begin && !is_same) || row.step < r->mark.step)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a phase begins where none runs, in the same step or a later one, and "
                            "ends before another begins");
    r->is_in_phase = row.begin;
    r->mark = row;
    return ms_trace_reading_kept(r, ms_trace_add_mark(&r->file->trace, row) != MS_NONE);
}

static ms_status read_layer(ms_trace_reading *r, ms_json_value v)
{
    enum { MOST_LAYERS = 1 << 20 };
    uint64_t layer = MS_NONE;
    ms_status status = MS_OK;
    if (ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_count(v, 0, MOST_LAYERS, &layer, r->err);
    return status == MS_OK ? ms_trace_reading_event(r, MS_EVENT_LAYER, (uint32_t)layer) : status;
}

static ms_status read_work(ms_trace_reading *r, ms_json_value v)
{
    ms_work row = {.scope = MS_NONE};
    ms_status status = ms_trace_reading_row(r, &ms_work_members, v, &row);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_work(&r->file->trace, row) != MS_NONE);
}

static ms_status read_wait(ms_trace_reading *r, ms_json_value v)
{
    ms_wait row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_wait_members, v, &row);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_wait(&r->file->trace, row.stream, row.work) !=
                                        MS_NONE);
}

static ms_status read_use(ms_trace_reading *r, ms_json_value v)
{
    ms_use row = {0};
    ms_status status = ms_trace_reading_row(r, &ms_use_members, v, &row);
    if (status == MS_OK)
        status = expect_allocated(r, v, row.storage);
    if (status != MS_OK)
        return status;
    return ms_trace_reading_kept(r, ms_trace_add_use(&r->file->trace, row.storage, row.stream) !=
                                        MS_NONE);
}

static ms_status read_host_event(ms_trace_reading *r, ms_json_value v)
{
    uint64_t number = 0;
    ms_status status = ms_json_get_count(v, 0, MS_NONE - 1, &number, r->err);
    return status == MS_OK ? ms_trace_reading_event(r, MS_EVENT_HOST_EVENT, (uint32_t)number)
                           : status;
}

static ms_status read_host_wait(ms_trace_reading *r, ms_json_value v)
{
    uint64_t number = MS_NONE;
    ms_status status = MS_OK;
    if (ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_count(v, 0, MS_NONE - 1, &number, r->err);
    return status == MS_OK ? ms_trace_reading_event(r, MS_EVENT_HOST_WAIT, (uint32_t)number)
                           : status;
}

static ms_status read_empty_cache(ms_trace_reading *r, ms_json_value v)
{
    ms_status status = ms_json_expect(v, MS_JSON_NULL, r->err);
    return status == MS_OK ? ms_trace_reading_event(r, MS_EVENT_EMPTY_CACHE, 0) : status;
}

/* ---- lines ---- */

typedef ms_status (*read_fn)(ms_trace_reading *r, ms_json_value v);

static const struct {
    const char *kind;
    read_fn read;
    bool is_event; /* it stands behind the tables */
} kinds[] = {
    {"alloc", read_alloc, true},
    {"free", read_free, true},
    {"begin", ms_trace_reading_begin_op, true},
    {"end", ms_trace_reading_end_op, true},
    {"mark", read_mark, true},
    {"layer", read_layer, true},
    {"work", read_work, true},
    {"wait", read_wait, true},
    {"use", read_use, true},
    {"host_event", read_host_event, true},
    {"host_wait", read_host_wait, true},
    {"empty_cache", read_empty_cache, true},
    {"name", read_name, false},
    {"symbol", read_symbol, false},
    {"scope", read_scope, false},
    {"stream", read_stream, false},
    {"storage", read_storage, false},
};

static uint32_t find_kind(const char *kind)
{
    uint32_t i = 0, count = sizeof kinds / sizeof kinds[0];
    while (i < count && strcmp(kinds[i].kind, kind) != 0)
        i++;
    return i;
}

ms_status ms_trace_reading_line(ms_trace_reading *r, ms_json_value line)
{
    ms_json_value v;
    if (ms_json_length(line) != 1 || !ms_json_first(line, &v))
        return ms_json_fail(r->err, line, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a line of a trace has one member: its kind");
    uint32_t kind = find_kind(ms_json_key(v));
    if (kind == sizeof kinds / sizeof kinds[0])
        return ms_json_fail(r->err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "no such kind of line in a trace");
    if (!kinds[kind].is_event && r->file->trace.events.count)
        return ms_json_fail(r->err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "a row of a table among the events: tables stand before them");
    return kinds[kind].read(r, v);
}
