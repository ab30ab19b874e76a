/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/trace_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json/place.h"
#include "core/trace/build.h"
#include "core/trace/members.h"

/* The number of rows that the head, the first line, announces. */
typedef struct ms_trace_head {
    uint32_t names, symbols, scopes, streams, storages, ops, events;
} ms_trace_head;

typedef struct ms_trace_reading {
    ms_trace_file *file;
    ms_error *err;
    ms_trace_head head;
    uint32_t line; /* from 1 */
    uint32_t op;   /* the running operator, or MS_NONE */
    bool is_in_phase;
    ms_mark mark;              /* the last one */
    ms_vec(uint8_t) states;    /* per storage: not yet, allocated, freed */
    ms_vec(uint32_t) op_names; /* a hash table of ops by name, so that equal names share one text */
    ms_vec(uint32_t) formula_lengths; /* per symbol */
    uint32_t op_name_count;
} ms_trace_reading;

static ms_status trace_reading_begin(ms_trace_reading *reading);
static void trace_reading_end(ms_trace_reading *reading);
static ms_status trace_reading_line(ms_trace_reading *reading, ms_json_value line);
static ms_status trace_reading_keep(ms_trace_reading *reading, const char *text, const char **copy);
static ms_status trace_reading_begin_op(ms_trace_reading *reading, ms_json_value v);
static ms_status trace_reading_end_op(ms_trace_reading *reading, ms_json_value v);

/* ---- the head ---- */

static ms_status read_fact(ms_trace_reading *r, ms_json_value head, const char *key,
                           const char **fact)
{
    ms_json_value v;
    const char *text = NULL;
    ms_status status = ms_json_get_member(head, key, &v, r->err);
    if (status == MS_OK && ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_string(v, &text, r->err);
    if (status == MS_OK && text)
        status = trace_reading_keep(r, text, fact);
    return status;
}

static ms_status read_version(ms_trace_reading *r, ms_json_value head)
{
    ms_json_value v;
    const char *version;
    ms_status status = ms_json_get_member(head, "version", &v, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(v, &version, r->err);
    if (status == MS_OK && strncmp(version, "1.", 2) != 0)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "the trace has version %.20s, but this memscope reads 1.x", version);
    return status;
}

static ms_status read_head(ms_trace_reading *r, ms_json_value line)
{
    ms_json_value head;
    if (!ms_json_find(line, "trace", &head))
        return ms_json_fail(r->err, line, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it is not a trace: a trace's first line is {\"trace\": ...}");
    const struct {
        const char *key;
        uint32_t *count;
    } counts[] = {{"names", &r->head.names},       {"symbols", &r->head.symbols},
                  {"scopes", &r->head.scopes},     {"streams", &r->head.streams},
                  {"storages", &r->head.storages}, {"operators", &r->head.ops},
                  {"events", &r->head.events}};
    ms_status status = read_version(r, head);
    if (status == MS_OK)
        status = read_fact(r, head, "made_by", &r->file->facts.made_by);
    if (status == MS_OK)
        status = read_fact(r, head, "run", &r->file->facts.run);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == MS_OK; i++) {
        ms_json_value v;
        uint64_t count = 0;
        status = ms_json_get_member(head, counts[i].key, &v, r->err);
        if (status == MS_OK)
            status = ms_json_get_count(v, 0, UINT32_MAX - 2, &count, r->err);
        *counts[i].count = (uint32_t)count;
    }
    return status;
}

/* ---- lines ---- */

/* A place in a line is one in the file. */
static void place_line(const ms_trace_reading *r, ms_error *err)
{
    if (err && err->line)
        err->line += r->line - 1;
}

static ms_status read_line(ms_trace_reading *r, const char *name, const char *text, size_t length)
{
    const ms_json_source source = {name, text, length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, r->err);
    if (status == MS_OK) {
        ms_json_value root = ms_json_root(document);
        status = ms_json_expect(root, MS_JSON_OBJECT, r->err);
        if (status == MS_OK)
            status = r->line == 1 ? read_head(r, root) : trace_reading_line(r, root);
    }
    if (status != MS_OK)
        place_line(r, r->err);
    ms_json_free(document);
    return status;
}

static ms_status fail_read(const char *name, ms_error *err)
{
    int reason = errno;
    return ms_fail(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot read %s: %s", name,
                   ms_file_reason(reason));
}

static ms_status read_lines(ms_trace_reading *r, FILE *file, const char *name)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    ms_status status = MS_OK;
    errno = 0;
    while (status == MS_OK && (length = ms_file_line(file, &text, &room)) > 0) {
        r->line++;
        status = read_line(r, name, text, (size_t)length - (text[length - 1] == '\n'));
    }
    if (status == MS_OK && (ferror(file) || errno == ENOMEM || errno == EFBIG))
        status = fail_read(name, r->err);
    free(text);
    return status;
}

/* A file that was cut is no trace. */
static ms_status check_end(const ms_trace_reading *r, const char *name)
{
    const ms_trace *t = &r->file->trace;
    if (r->line == 0)
        return ms_fail(r->err, MS_ERR_CONFIG, "%s is empty: a trace has a first line", name);
    const struct {
        const char *what;
        uint32_t found, announced;
    } tables[] = {{"storages", t->storages.count, r->head.storages},
                  {"operators", t->ops.count, r->head.ops},
                  {"events", t->events.count, r->head.events}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (tables[i].found != tables[i].announced)
            return ms_fail(r->err, MS_ERR_CONFIG,
                           "%s has %" PRIu32 " %s, but its first line says %" PRIu32, name,
                           tables[i].found, tables[i].what, tables[i].announced);
    if (r->op != MS_NONE || r->is_in_phase)
        return ms_fail(r->err, MS_ERR_CONFIG, "%s ends within %s", name,
                       r->op != MS_NONE ? "an operator" : "a phase");
    return MS_OK;
}

ms_status ms_trace_read(FILE *file, const char *name, ms_trace_file *read, ms_error *err)
{
    *read = (ms_trace_file){0};
    ms_trace_reading r = {.file = read, .err = err, .op = MS_NONE};
    ms_status status = trace_reading_begin(&r);
    if (status == MS_OK)
        status = read_lines(&r, file, name);
    if (status == MS_OK)
        status = check_end(&r, name);
    trace_reading_end(&r);
    if (status != MS_OK)
        ms_trace_free(&read->trace);
    return status;
}

ms_status ms_trace_read_file(ms_inputs *inputs, const char *path, ms_trace_file *read,
                             ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    FILE *file = ms_file_open(inputs, path, &reason);
    if (!file) {
        ms_status status = ms_fail(err, reason.status, "cannot open: %s", reason.text);
        ms_json_place_file(name, err);
        return status;
    }
    ms_status status = ms_trace_read(file, name, read, err);
    ms_file_close(file);
    return status;
}

/* ---- reading ---- */

/* A trace while it is read: the lines after the head, and the rows they may refer to. */

enum { NOT_YET, ALLOCATED, FREED };

/* The text of a formula doubles with each symbol that is built of another twice. */
enum { MOST_FORMULA_BYTES = 1024 };

static ms_status no_memory(const ms_trace_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a trace");
}

/* MS_OK if `ok`; otherwise records that memory ran out. */
static ms_status trace_reading_kept(const ms_trace_reading *r, bool ok)
{
    return ok ? MS_OK : no_memory(r);
}

/* Begins an empty trace, without the initial streams of ms_trace_init. */
static ms_status trace_reading_begin(ms_trace_reading *r)
{
    ms_trace *trace = &r->file->trace;
    if (!ms_trace_init(trace))
        return no_memory(r);
    trace->names.count = trace->symbols.table.count = trace->streams.count = 0;
    return MS_OK;
}

static void trace_reading_end(ms_trace_reading *r)
{
    ms_vec_free(&r->states);
    ms_vec_free(&r->op_names);
    ms_vec_free(&r->formula_lengths);
}

/* A copy that the trace owns. */
static ms_status trace_reading_keep(ms_trace_reading *r, const char *text, const char **copy)
{
    *copy = ms_arena_strdup(r->file->trace.names_arena, text);
    return trace_reading_kept(r, *copy != NULL);
}

static /* What a row may refer to: rows that stand before it, and operators that were announced. */
    ms_status
    trace_reading_row(const ms_trace_reading *r, const ms_members *members, ms_json_value v,
                      void *row)
{
    const ms_trace *t = &r->file->trace;
    const uint32_t rows[MS_ROW_KINDS] = {
        [MS_ROW_NAME] = t->names.count,       [MS_ROW_SYMBOL] = t->symbols.table.count,
        [MS_ROW_SCOPE] = t->scopes.count,     [MS_ROW_STREAM] = t->streams.count,
        [MS_ROW_STORAGE] = t->storages.count, [MS_ROW_OP] = r->head.ops,
        [MS_ROW_WORK] = t->works.count,
    };
    return ms_trace_row_read(members, v, rows, row, r->err);
}

/* ---- tables ---- */

static ms_status read_name(ms_trace_reading *r, ms_json_value v)
{
    const char *text;
    ms_status status = ms_json_get_string(v, &text, r->err);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_name(&r->file->trace, text) != MS_NONE);
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
                            "a symbol can only use symbols listed before it");
    if (s->kind == MS_SYMBOL_NAME && !s->text)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "a name without a text");
    if (length > MOST_FORMULA_BYTES)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a formula of more than %d characters", MOST_FORMULA_BYTES);
    return trace_reading_kept(r, ms_vec_push(&r->formula_lengths, (uint32_t)length));
}

static ms_status read_symbol(ms_trace_reading *r, ms_json_value v)
{
    ms_symbol row = {0};
    ms_status status = trace_reading_row(r, &ms_symbol_members, v, &row);
    if (status == MS_OK)
        status = measure_symbol(r, v, &row);
    if (status == MS_OK && row.text)
        status = trace_reading_keep(r, row.text, &row.text);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_vec_push(&r->file->trace.symbols.table, row));
}

static ms_status read_scope(ms_trace_reading *r, ms_json_value v)
{
    ms_scope row = {0};
    ms_status status = trace_reading_row(r, &ms_scope_members, v, &row);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_scope(&r->file->trace, row) != MS_NONE);
}

static ms_status read_stream(ms_trace_reading *r, ms_json_value v)
{
    ms_stream row = {0};
    ms_status status = trace_reading_row(r, &ms_stream_members, v, &row);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_stream(&r->file->trace, row) != MS_NONE);
}

static ms_status read_storage(ms_trace_reading *r, ms_json_value v)
{
    ms_storage row = {0};
    ms_status status = trace_reading_row(r, &ms_storage_members, v, &row);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_storage(&r->file->trace, &row) != MS_NONE &&
                                     ms_vec_push(&r->states, NOT_YET));
}

static /* ---- events ---- */

    ms_status
    trace_reading_number(const ms_trace_reading *r, ms_json_value v, uint32_t count,
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

static ms_status trace_reading_event(const ms_trace_reading *r, ms_event_kind kind, uint32_t id)
{
    return trace_reading_kept(r, ms_trace_add_event(&r->file->trace, kind, id));
}

static ms_status read_alloc(ms_trace_reading *r, ms_json_value v)
{
    uint32_t id;
    ms_status status = trace_reading_number(r, v, r->states.count, "storage", &id);
    if (status != MS_OK)
        return status;
    if (r->states.items[id] != NOT_YET || r->file->trace.storages.items[id].bytes == 0)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            r->states.items[id] == NOT_YET
                                ? "storage %" PRIu32 " has no bytes to allocate"
                                : "storage %" PRIu32 " is allocated a second time",
                            id);
    r->states.items[id] = ALLOCATED;
    return trace_reading_event(r, MS_EVENT_ALLOC, id);
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
    ms_status status = trace_reading_number(r, v, r->states.count, "storage", &id);
    if (status == MS_OK)
        status = expect_allocated(r, v, id);
    if (status != MS_OK)
        return status;
    r->states.items[id] = FREED;
    return trace_reading_event(r, MS_EVENT_FREE, id);
}

static ms_status read_mark(ms_trace_reading *r, ms_json_value v)
{
    ms_mark row = {0};
    ms_status status = trace_reading_row(r, &ms_mark_members, v, &row);
    if (status != MS_OK)
        return status;
    bool is_same = row.phase == r->mark.phase && row.step == r->mark.step &&
                   row.micro_step == r->mark.micro_step;
    if (row.begin == r->is_in_phase || (!row.begin && !is_same) || row.step < r->mark.step)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a phase may begin only when none runs, in the same step or a later "
                            "one, and must end before another begins");
    r->is_in_phase = row.begin;
    r->mark = row;
    return trace_reading_kept(r, ms_trace_add_mark(&r->file->trace, row) != MS_NONE);
}

static ms_status read_layer(ms_trace_reading *r, ms_json_value v)
{
    enum { MOST_LAYERS = 1 << 20 };
    uint64_t layer = MS_NONE;
    ms_status status = MS_OK;
    if (ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_count(v, 0, MOST_LAYERS, &layer, r->err);
    return status == MS_OK ? trace_reading_event(r, MS_EVENT_LAYER, (uint32_t)layer) : status;
}

static ms_status read_work(ms_trace_reading *r, ms_json_value v)
{
    ms_work row = {.scope = MS_NONE};
    ms_status status = trace_reading_row(r, &ms_work_members, v, &row);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_work(&r->file->trace, row) != MS_NONE);
}

static ms_status read_wait(ms_trace_reading *r, ms_json_value v)
{
    ms_wait row = {0};
    ms_status status = trace_reading_row(r, &ms_wait_members, v, &row);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r,
                              ms_trace_add_wait(&r->file->trace, row.stream, row.work) != MS_NONE);
}

static ms_status read_use(ms_trace_reading *r, ms_json_value v)
{
    ms_use row = {0};
    ms_status status = trace_reading_row(r, &ms_use_members, v, &row);
    if (status == MS_OK)
        status = expect_allocated(r, v, row.storage);
    if (status != MS_OK)
        return status;
    return trace_reading_kept(r, ms_trace_add_use(&r->file->trace, row.storage, row.stream) !=
                                     MS_NONE);
}

static ms_status read_host_event(ms_trace_reading *r, ms_json_value v)
{
    uint64_t number = 0;
    ms_status status = ms_json_get_count(v, 0, MS_NONE - 1, &number, r->err);
    return status == MS_OK ? trace_reading_event(r, MS_EVENT_HOST_EVENT, (uint32_t)number) : status;
}

static ms_status read_host_wait(ms_trace_reading *r, ms_json_value v)
{
    uint64_t number = MS_NONE;
    ms_status status = MS_OK;
    if (ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_count(v, 0, MS_NONE - 1, &number, r->err);
    return status == MS_OK ? trace_reading_event(r, MS_EVENT_HOST_WAIT, (uint32_t)number) : status;
}

static ms_status read_empty_cache(ms_trace_reading *r, ms_json_value v)
{
    ms_status status = ms_json_expect(v, MS_JSON_NULL, r->err);
    return status == MS_OK ? trace_reading_event(r, MS_EVENT_EMPTY_CACHE, 0) : status;
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
    {"begin", trace_reading_begin_op, true},
    {"end", trace_reading_end_op, true},
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

/* Reads a line after the head: an object. */
static ms_status trace_reading_line(ms_trace_reading *r, ms_json_value line)
{
    ms_json_value v;
    if (ms_json_length(line) != 1 || !ms_json_first(line, &v))
        return ms_json_fail(r->err, line, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a line of a trace must have one member: its kind");
    uint32_t kind = find_kind(ms_json_key(v));
    if (kind == sizeof kinds / sizeof kinds[0])
        return ms_json_fail(r->err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "a trace has no lines of this kind");
    if (!kinds[kind].is_event && r->file->trace.events.count)
        return ms_json_fail(
            r->err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
            "a table row appears among the events, but tables must come before them");
    return kinds[kind].read(r, v);
}

/* ---- reading ops ---- */

/* Reads the lines of operators: begin, with operands and products, and end. */

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
        return trace_reading_kept(r, false);
    uint32_t *place = name_place(r, op->name);
    if (*place != MS_NONE) {
        op->name = r->file->trace.ops.items[*place].name;
        return MS_OK;
    }
    *place = r->file->trace.ops.count;
    r->op_name_count++;
    return trace_reading_keep(r, op->name, &op->name);
}

static ms_status add_operand(ms_trace_reading *r, ms_json_value v, uint32_t op)
{
    ms_operand row = {0};
    ms_status status = trace_reading_row(r, &ms_operand_members, v, &row);
    return status == MS_OK ? trace_reading_kept(r, ms_trace_add_operand(&r->file->trace, op, row))
                           : status;
}

static ms_status add_product(ms_trace_reading *r, ms_json_value v, uint32_t op)
{
    ms_gemm row = {0};
    ms_status status = trace_reading_row(r, &ms_gemm_members, v, &row);
    return status == MS_OK ? trace_reading_kept(r, ms_trace_add_product(&r->file->trace, op, row))
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

static ms_status trace_reading_begin_op(ms_trace_reading *r, ms_json_value v)
{
    ms_trace *trace = &r->file->trace;
    ms_op_exec row = {0};
    if (r->op != MS_NONE)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "an operator begins before the running one has ended");
    ms_status status = trace_reading_row(r, &ms_op_members, v, &row);
    uint64_t traffic_bytes = row.traffic_bytes;
    if (status == MS_OK)
        status = share_name(r, &row);
    if (status == MS_OK) {
        r->op = ms_trace_begin_op(trace, row);
        status = trace_reading_kept(r, r->op != MS_NONE);
    }
    if (status == MS_OK)
        status = read_parts(r, v, "operands", r->op, add_operand);
    if (status == MS_OK)
        status = read_parts(r, v, "products", r->op, add_product);
    if (status == MS_OK) /* the operands have been counted already */
        trace->ops.items[r->op].traffic_bytes = traffic_bytes;
    return status;
}

static ms_status trace_reading_end_op(ms_trace_reading *r, ms_json_value v)
{
    uint32_t id;
    ms_status status = trace_reading_number(r, v, r->file->trace.ops.count, "operator", &id);
    if (status != MS_OK)
        return status;
    if (id != r->op)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "operator %" PRIu32 " ends, but it is not running", id);
    r->op = MS_NONE;
    return trace_reading_event(r, MS_EVENT_OP_END, id);
}
