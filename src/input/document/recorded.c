/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/read.h"
#include "input/document/recorded_step.h"

typedef ms_status ms_recorded_read_fn(ms_json_value v, void *row, ms_error *err);

/* ---- recorded members ---- */

/* Members and lists of recorded reports, shared by the files that read their parts. */

/* A member that must be there. */
static ms_status recorded_count(ms_json_value object, const char *key, uint64_t *count,
                                ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_count(v, 0, UINT64_MAX, count, err) : status;
}

static ms_status recorded_text(ms_json_value object, const char *key, const char **text,
                               ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_string(v, text, err) : status;
}

/* A list of rows of `size` bytes each, in the report's arena; `*count` is 0 after a failure. */
static ms_status recorded_rows(const ms_recorded *r, ms_json_value list, size_t size, void **rows,
                               uint32_t *count, ms_recorded_read_fn *read, ms_error *err)
{
    ms_json_value v;
    uint32_t length = ms_json_length(list);
    char *row = ms_arena_alloc(r->arena, length, size);
    if (!row)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    *rows = row;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), row += size)
        status = read(v, row, err);
    *count = status == MS_OK ? length : 0;
    return status;
}

/* ---- recorded ledger ---- */

/* The memory of a program without PyTorch, by what it is for. */

/* null is the host. */
static ms_status get_device(ms_json_value object, bool *is_host, uint64_t *device, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, "device", &v, err);
    if (status != MS_OK)
        return status;
    *is_host = ms_json_kind_of(v) == MS_JSON_NULL;
    return *is_host ? MS_OK : ms_json_get_count(v, 0, UINT32_MAX, device, err);
}

static ms_status read_memory(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_memory *m = row;
    ms_status status = get_device(v, &m->is_host, &m->device, err);
    if (status == MS_OK)
        status = recorded_count(v, "peak_bytes", &m->peak_bytes, err);
    return status == MS_OK ? recorded_count(v, "peak_used_bytes", &m->used_bytes, err) : status;
}

static ms_status read_buffer(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_buffer *b = row;
    ms_status status = get_device(v, &b->is_host, &b->device, err);
    if (status == MS_OK)
        status = recorded_text(v, "kind", &b->kind, err);
    if (status == MS_OK)
        status = recorded_count(v, "count", &b->count, err);
    if (status == MS_OK)
        status = recorded_count(v, "bytes", &b->bytes, err);
    return status == MS_OK ? recorded_count(v, "most_bytes", &b->most_bytes, err) : status;
}

static ms_status read_note(ms_json_value v, void *row, ms_error *err)
{
    return ms_json_get_string(v, row, err);
}

/* Fills what the member "ledger" has, if there is one, and the notes. */
static ms_status recorded_read_ledger(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value ledger, list;
    void *memories = NULL, *buffers = NULL, *notes = NULL;
    if (!ms_json_find(root, "ledger", &ledger))
        return MS_OK;
    ms_status status = recorded_text(ledger, "program", &r->ledger, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "memories", &list, err);
    if (status == MS_OK)
        status = recorded_rows(r, list, sizeof *r->memories, &memories, &r->memory_count,
                               read_memory, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "buffers", &list, err);
    if (status == MS_OK)
        status = recorded_rows(r, list, sizeof *r->buffers, &buffers, &r->buffer_count, read_buffer,
                               err);
    if (status == MS_OK && ms_json_find(root, "notes", &list))
        status = recorded_rows(r, list, sizeof *r->notes, &notes, &r->note_count, read_note, err);
    r->memories = memories;
    r->buffers = buffers;
    r->notes = notes;
    return status;
}

/* ---- recorded groups ---- */

/* The modules of a captured program, with those of equal layers merged. */

/* "model.layers.3.mlp" as "model.layers.*.mlp": layers that do the same have one name. NULL when
 * out of memory. */
static const char *alike(ms_arena *arena, const char *name)
{
    char *masked = ms_arena_strdup(arena, name), *to = masked;
    for (const char *from = name; masked && *from;) {
        size_t length = strcspn(from, ".");
        if (from > name && strspn(from, "0123456789") == length)
            *to++ = '*';
        else
            to = (char *)memcpy(to, from, length) + length;
        from += length;
        if (*from)
            *to++ = *from++;
    }
    if (masked)
        *to = '\0';
    return masked;
}

/* Reports of a predicted run have only what modules hold at the peak. */
static ms_status read_group(const ms_recorded *r, ms_json_value v, ms_recorded_group *g,
                            ms_error *err)
{
    const struct {
        const char *key;
        uint64_t *bytes;
        bool is_captured;
    } members[] = {{"peak_bytes", &g->peak_bytes, false},
                   {"saved_bytes", &g->saved_bytes, true},
                   {"most_temporary_bytes", &g->temporary_bytes, true}};
    ms_json_value member;
    const char *name = NULL;
    ms_status status = recorded_text(v, "module", &name, err);
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++) {
        if (members[i].is_captured && r->is_static)
            continue;
        status = recorded_count(v, members[i].key, members[i].bytes, err);
    }
    g->rounded_bytes = g->peak_bytes;
    if (status == MS_OK && ms_json_find(v, "peak_rounded_bytes", &member))
        status = ms_json_get_count(member, 0, g->peak_bytes, &g->rounded_bytes, err);
    if (status != MS_OK)
        return status;
    g->name = alike(r->arena, name);
    g->count = 1;
    return g->name ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ms_recorded_group *)a)->name, ((const ms_recorded_group *)b)->name);
}

static int by_bytes(const void *a, const void *b)
{
    const ms_recorded_group *first = a, *second = b;
    if (first->peak_bytes != second->peak_bytes)
        return first->peak_bytes > second->peak_bytes ? -1 : 1;
    return strcmp(first->name, second->name);
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Groups of rows in order of their names; returns how many. */
static uint32_t join(ms_recorded_group *rows, uint32_t count)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        ms_recorded_group *g = groups > 0 ? &rows[groups - 1] : NULL;
        if (!g || strcmp(g->name, rows[i].name) != 0) {
            rows[groups++] = rows[i];
            continue;
        }
        g->count++;
        g->peak_bytes = sum_of(g->peak_bytes, rows[i].peak_bytes);
        g->rounded_bytes = sum_of(g->rounded_bytes, rows[i].rounded_bytes);
        g->saved_bytes = sum_of(g->saved_bytes, rows[i].saved_bytes);
        if (rows[i].temporary_bytes > g->temporary_bytes)
            g->temporary_bytes = rows[i].temporary_bytes;
    }
    return groups;
}

/* Fills the groups from the report's modules. */
static ms_status recorded_read_groups(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value list, v;
    uint32_t count = 0;
    if (!ms_json_find(root, "modules", &list))
        return MS_OK;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    uint32_t length = ms_json_length(list);
    r->groups = ms_arena_array(r->arena, ms_recorded_group, length);
    if (status == MS_OK && !r->groups)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v))
        status = read_group(r, v, &r->groups[count++], err);
    if (status != MS_OK)
        return status;
    qsort(r->groups, count, sizeof *r->groups, by_name);
    r->group_count = join(r->groups, count);
    qsort(r->groups, r->group_count, sizeof *r->groups, by_bytes);
    return MS_OK;
}

/* ---- recorded engine ---- */

enum { MOST_WORKERS = 1024 };
static const double LARGEST = 1e15;

static ms_status get_number(ms_json_value object, const char *key, double *number, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_number(v, 0, LARGEST, number, err) : status;
}

static ms_status read_worker(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_worker *w = row;
    w->has_profile = ms_json_find(v, "activation_bytes", &(ms_json_value){0});
    const struct {
        const char *key;
        uint64_t *bytes;
    } members[] = {{"weights_bytes", &w->weights_bytes},
                   {"buffers_bytes", &w->buffers_bytes},
                   {"activation_bytes", &w->activation_bytes},
                   {"non_torch_bytes", &w->non_torch_bytes},
                   {"graphs_bytes", &w->graphs_bytes},
                   {"cache_bytes", &w->cache_bytes},
                   {"serving_bytes", &w->serving_bytes},
                   {"beyond_budget_bytes", &w->beyond_budget_bytes},
                   {"free_bytes", &w->free_bytes}};
    ms_json_value member;
    ms_status status = recorded_count(v, "rank", &w->rank, err);
    if (status == MS_OK)
        status = recorded_count(v, "requested_bytes", &w->requested_bytes, err);
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++)
        if (ms_json_find(v, members[i].key, &member))
            status = ms_json_get_count(member, 0, UINT64_MAX, members[i].bytes, err);
    return status;
}

static ms_status read_workers(const ms_recorded *r, ms_json_value engine, ms_recorded_engine *e,
                              ms_error *err)
{
    ms_json_value list;
    ms_status status = ms_json_get_list(engine, "workers", &list, err);
    if (status != MS_OK)
        return status;
    if (ms_json_length(list) > MOST_WORKERS)
        return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_LIMIT, "more than %d rows",
                            (int)MOST_WORKERS);
    void *rows = NULL;
    status = recorded_rows(r, list, sizeof *e->workers, &rows, &e->worker_count, read_worker, err);
    e->workers = rows;
    return status;
}

static ms_status read_settings(ms_json_value engine, ms_recorded_engine *e, ms_error *err)
{
    ms_json_value settings;
    uint64_t tensor = 0, pipeline = 0;
    ms_status status = ms_json_get_member(engine, "settings", &settings, err);
    const struct {
        const char *key;
        uint64_t *count;
    } members[] = {{"tensor_parallel_size", &tensor},
                   {"pipeline_parallel_size", &pipeline},
                   {"max_num_batched_tokens", &e->max_batched_tokens},
                   {"max_num_seqs", &e->max_requests},
                   {"max_model_len", &e->max_tokens_of_request}};
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++)
        status = recorded_count(settings, members[i].key, members[i].count, err);
    if (status == MS_OK)
        status = get_number(settings, "gpu_memory_utilization", &e->utilization, err);
    e->is_parallel = tensor > 1 || pipeline > 1;
    return status;
}

static ms_status read_cache(ms_json_value engine, ms_recorded_engine *e, ms_error *err)
{
    ms_json_value cache;
    ms_status status = ms_json_get_member(engine, "cache", &cache, err);
    if (status != MS_OK || ms_json_kind_of(cache) == MS_JSON_NULL)
        return status;
    e->has_cache = true;
    status = recorded_count(cache, "tokens", &e->cache_tokens, err);
    return status == MS_OK ? get_number(cache, "max_concurrency", &e->requests_at_once, err)
                           : status;
}

/* Fills r->engine where the report has one. */
static ms_status recorded_read_engine(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value engine, dummy;
    if (!ms_json_find(root, "engine", &engine))
        return MS_OK;
    ms_recorded_engine *e = ms_arena_alloc(r->arena, 1, sizeof *e);
    if (!e)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    *e = (ms_recorded_engine){0};
    ms_status status = recorded_text(engine, "name", &e->name, err);
    if (status == MS_OK)
        status = recorded_text(engine, "version", &e->version, err);
    if (status == MS_OK)
        status = recorded_text(engine, "model", &e->model, err);
    if (status == MS_OK)
        status = ms_json_get_member(engine, "dummy_weights", &dummy, err);
    if (status == MS_OK)
        status = ms_json_get_bool(dummy, &e->has_dummy_weights, err);
    if (status == MS_OK)
        status = read_settings(engine, e, err);
    if (status == MS_OK)
        status = read_cache(engine, e, err);
    if (status == MS_OK)
        status = read_workers(r, engine, e, err);
    r->engine = e;
    return status;
}

/* ---- recorded compiled ---- */

/* What PyTorch compiled in a captured program, and its first step, which also takes what
 * compiling needs. */

static ms_status read_compiled(ms_recorded_compiled *c, ms_json_value object, ms_error *err)
{
    const struct {
        const char *key;
        uint64_t *count;
    } members[] = {
        {"graphs", &c->graphs},
        {"graph_breaks", &c->breaks},
        {"choices_by_time", &c->choices},
        {"cuda_graphs", &c->cuda_graphs},
        {"private_pools", &c->pools},
        {"private_pool_bytes", &c->pool_bytes},
        {"private_pool_free_bytes", &c->pool_free_bytes},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++)
        status = recorded_count(object, members[i].key, members[i].count, err);
    c->is_there = status == MS_OK;
    return status;
}

static ms_status read_highest(ms_json_value phase, const char *key, uint64_t *most, ms_error *err)
{
    uint64_t bytes = 0;
    ms_status status = recorded_count(phase, key, &bytes, err);
    if (bytes > *most)
        *most = bytes;
    return status;
}

static ms_status read_first_step(ms_recorded_first_step *first, ms_json_value phases, ms_error *err)
{
    ms_json_value phase;
    ms_status status = ms_json_expect(phases, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(phases, &phase); more && status == MS_OK;
         more = ms_json_next(&phase)) {
        status = read_highest(phase, "peak_bytes", &first->peak_bytes, err);
        if (status == MS_OK)
            status = read_highest(phase, "peak_reserved_bytes", &first->reserved_bytes, err);
    }
    return status;
}

/* Fills `compiled` and `first_step`. */
static ms_status recorded_read_compiled(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    if (ms_json_find(root, "compiled", &v))
        status = read_compiled(&r->compiled, v, err);
    if (status == MS_OK && !r->is_static && ms_json_find(root, "first_step_phases", &v))
        status = read_first_step(&r->first_step, v, err);
    return status;
}

/* ---- members ---- */

/* NULL where there is none, or null. */
static ms_status get_text_if_any(ms_json_value object, const char *key, const char **text,
                                 ms_error *err)
{
    ms_json_value v;
    *text = NULL;
    if (!ms_json_find(object, key, &v) || ms_json_kind_of(v) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_string(v, text, err);
}

/* 0 where there is none. */
static ms_status get_count_if_any(ms_json_value object, const char *key, uint64_t *count,
                                  ms_error *err)
{
    ms_json_value v;
    *count = 0;
    return ms_json_find(object, key, &v) ? ms_json_get_count(v, 0, UINT64_MAX, count, err) : MS_OK;
}

/* ---- lists ---- */

static ms_status read_phase(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_phase *p = row;
    ms_status status = recorded_text(v, "phase", &p->name, err);
    const struct {
        const char *key;
        uint64_t *count;
    } members[] = {{"micro_step", &p->micro_step},   {"repeats", &p->repeats},
                   {"start_bytes", &p->start_bytes}, {"peak_bytes", &p->peak_bytes},
                   {"end_bytes", &p->end_bytes},     {"peak_reserved_bytes", &p->reserved_bytes}};
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++)
        status = recorded_count(v, members[i].key, members[i].count, err);
    return status;
}

static ms_status read_category(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_category *c = row;
    ms_json_value rounded;
    ms_status status = recorded_text(v, "category", &c->name, err);
    if (status == MS_OK)
        status = recorded_count(v, "count", &c->count, err);
    if (status == MS_OK)
        status = recorded_count(v, "bytes", &c->bytes, err);
    c->rounded_bytes = c->bytes;
    if (status != MS_OK || !ms_json_find(v, "rounded_bytes", &rounded))
        return status;
    return ms_json_get_count(rounded, 0, c->bytes, &c->rounded_bytes, err);
}

static ms_status read_point(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    ms_status status = recorded_text(v, "phase", &p->phase, err);
    if (status == MS_OK)
        status = recorded_count(v, "event", &p->event, err);
    return status == MS_OK ? recorded_count(v, "bytes", &p->bytes, err) : status;
}

static ms_status read_start(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    ms_status status = recorded_text(v, "phase", &p->phase, err);
    return status == MS_OK ? recorded_count(v, "event", &p->event, err) : status;
}

static ms_status read_level(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    return ms_json_get_count(v, 0, UINT64_MAX, &p->bytes, err);
}

static ms_status read_read(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_read *r = row;
    ms_status status = recorded_text(v, "file", &r->file, err);
    if (status == MS_OK)
        status = recorded_text(v, "function", &r->function, err);
    if (status == MS_OK)
        status = recorded_count(v, "line", &r->line, err);
    if (status == MS_OK)
        status = recorded_count(v, "count", &r->count, err);
    return status == MS_OK ? recorded_count(v, "played_back", &r->played_back, err) : status;
}

static ms_status read_answer(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_answer *a = row;
    ms_status status = recorded_text(v, "question", &a->question, err);
    if (status == MS_OK)
        status = recorded_text(v, "assumes", &a->assumes, err);
    return status == MS_OK ? recorded_count(v, "count", &a->count, err) : status;
}

static ms_status read_call(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_call *c = row;
    ms_status status = recorded_text(v, "call", &c->name, err);
    if (status == MS_OK)
        status = recorded_text(v, "file", &c->file, err);
    return status == MS_OK ? recorded_count(v, "line", &c->line, err) : status;
}

static ms_status read_tally(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_tally *t = row;
    ms_status status = recorded_text(v, "call", &t->name, err);
    return status == MS_OK ? recorded_count(v, "count", &t->count, err) : status;
}

static ms_status read_lists(ms_recorded *r, ms_json_value root, ms_error *err)
{
    void *rows[7] = {NULL};
    const struct {
        const char *pointer;
        size_t size;
        uint32_t *count;
        ms_recorded_read_fn *read;
        uint32_t most; /* where each is looked up among others; 0: no bound */
    } lists[] = {
        {"/phases", sizeof *r->phases, &r->phase_count, read_phase, 16384},
        {"/peak/categories", sizeof *r->categories, &r->category_count, read_category, 256},
        {"/timeline", sizeof *r->timeline, &r->point_count, read_point, 0},
        {"/reads", sizeof *r->reads, &r->read_count, read_read, 0},
        {"/not_covered", sizeof *r->calls, &r->call_count, read_call, 0},
        {"/calls", sizeof *r->tallies, &r->tally_count, read_tally, 0},
        {"/answers", sizeof *r->answers, &r->answer_count, read_answer, 0},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && status == MS_OK; i++) {
        ms_json_value list;
        if (!ms_json_find_pointer(root, lists[i].pointer, &list))
            continue;
        if (lists[i].most > 0 && ms_json_length(list) > lists[i].most)
            status = ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_LIMIT,
                                  "more than %" PRIu32 " rows", lists[i].most);
        if (status == MS_OK)
            status =
                recorded_rows(r, list, lists[i].size, &rows[i], lists[i].count, lists[i].read, err);
    }
    r->phases = rows[0];
    r->categories = rows[1];
    r->timeline = rows[2];
    r->reads = rows[3];
    r->calls = rows[4];
    r->tallies = rows[5];
    r->answers = rows[6];
    return status;
}

/* ---- levels ---- */

/* In place of the timeline, whose points are where it is lowest and highest. */
static ms_status read_levels(ms_recorded *r, ms_json_value levels, ms_error *err)
{
    ms_json_value starts, bytes;
    void *points = NULL, *phases = NULL;
    uint32_t phase_count = 0, point_count = 0;
    uint64_t stride = 0;
    ms_status status = recorded_count(levels, "events", &r->events, err);
    if (status == MS_OK)
        status = ms_json_get_member(levels, "stride", &bytes, err);
    if (status == MS_OK)
        status = ms_json_get_count(bytes, 1, UINT32_MAX, &stride, err);
    if (status == MS_OK)
        status = ms_json_get_list(levels, "phases", &starts, err);
    if (status == MS_OK)
        status = ms_json_get_list(levels, "bytes", &bytes, err);
    if (status == MS_OK)
        status = recorded_rows(r, starts, sizeof(ms_recorded_point), &phases, &phase_count,
                               read_start, err);
    if (status == MS_OK)
        status = recorded_rows(r, bytes, sizeof(ms_recorded_point), &points, &point_count,
                               read_level, err);
    if (status != MS_OK)
        return status;
    r->timeline = points;
    r->point_count = point_count;
    const ms_recorded_point *start = phases;
    for (uint32_t i = 0, phase = 0; i < point_count; i++) {
        uint64_t event = i * stride;
        while (phase + 1 < phase_count && start[phase + 1].event < event)
            phase++;
        r->timeline[i].event = event;
        r->timeline[i].phase = phase_count > 0 ? start[phase].phase : "";
    }
    return MS_OK;
}

/* ---- the document ---- */

static ms_status read_summary(ms_recorded *r, ms_json_value summary, ms_error *err)
{
    r->has_figures = true;
    ms_status status = recorded_count(summary, "start_bytes", &r->start_bytes, err);
    if (status == MS_OK)
        status = recorded_count(summary, "peak_memory_bytes", &r->peak_bytes, err);
    if (status == MS_OK)
        status = recorded_count(summary, "reserved_memory_bytes", &r->reserved_bytes, err);
    if (status == MS_OK)
        status = recorded_count(summary, "allocator_retries", &r->retries, err);
    if (status == MS_OK)
        status = get_count_if_any(summary, "managed_memory_bytes", &r->managed_bytes, err);
    return status == MS_OK ? get_text_if_any(summary, "peak_stage", &r->peak_stage, err) : status;
}

/* Where the peak was made; a static report states it in other members. */
static ms_status read_peak_place(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value peak;
    if (r->is_static || !ms_json_find(root, "peak", &peak))
        return MS_OK;
    ms_status status = get_text_if_any(peak, "module", &r->peak_module, err);
    if (status == MS_OK)
        status = get_text_if_any(peak, "file", &r->peak_file, err);
    return status == MS_OK ? get_count_if_any(peak, "line", &r->peak_line, err) : status;
}

static ms_status read_metadata(ms_recorded *r, ms_json_value metadata, ms_error *err)
{
    ms_json_value world, rank;
    ms_status status = recorded_text(metadata, "mode", &r->mode, err);
    if (status == MS_OK)
        status = get_text_if_any(metadata, "device_title", &r->device, err);
    if (status == MS_OK)
        status = get_text_if_any(metadata, "torch", &r->torch, err);
    if (status == MS_OK)
        status = get_count_if_any(metadata, "device_bytes", &r->device_bytes, err);
    r->is_static = status == MS_OK && strcmp(r->mode, "train") == 0;
    if (status == MS_OK && !r->is_static)
        status = recorded_count(metadata, "steps", &r->steps, err);
    if (status == MS_OK && ms_json_find(metadata, "world_size", &world))
        status = recorded_count(metadata, "world_size", &r->world_size, err);
    r->has_rank = status == MS_OK && ms_json_find(metadata, "rank", &rank);
    if (r->has_rank)
        status = recorded_count(metadata, "rank", &r->rank, err);
    return status;
}

static ms_status read_root(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value metadata, summary, levels;
    const char *version = NULL;
    ms_status status = recorded_text(root, "schema_version", &version, err);
    if (status == MS_OK && strncmp(version, "1.", 2) != 0) {
        ms_json_find(root, "schema_version", &metadata);
        return ms_json_fail(err, metadata, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "unknown report version %.20s, expected 1", version);
    }
    if (status == MS_OK)
        status = ms_json_get_member(root, "metadata", &metadata, err);
    if (status == MS_OK)
        status = read_metadata(r, metadata, err);
    r->outcome = "stepped";
    if (status == MS_OK && !r->is_static)
        status = recorded_text(root, "outcome", &r->outcome, err);
    if (status == MS_OK)
        status = get_text_if_any(root, "message", &r->message, err);
    if (status == MS_OK)
        status = get_text_if_any(root, "hint", &r->hint, err);
    if (status == MS_OK && ms_json_find(root, "summary", &summary))
        status = read_summary(r, summary, err);
    if (status == MS_OK)
        status = read_peak_place(r, root, err);
    if (status == MS_OK)
        status = recorded_read_groups(r, root, err);
    if (status == MS_OK)
        status = recorded_read_compiled(r, root, err);
    if (status == MS_OK)
        status = recorded_read_engine(r, root, err);
    if (status == MS_OK)
        status = recorded_read_ledger(r, root, err);
    if (status == MS_OK)
        status = read_lists(r, root, err);
    if (status == MS_OK)
        status = ms_recorded_read_step(r, root, err);
    return status == MS_OK && ms_json_find(root, "levels", &levels) ? read_levels(r, levels, err)
                                                                    : status;
}

ms_status ms_recorded_parse(ms_recorded *r, const ms_json_source *source, ms_error *err)
{
    r->arena = ms_arena_create(0);
    if (!r->arena || (r->path = ms_arena_strdup(r->arena, source->name)) == NULL)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    ms_status status = ms_json_parse(source, &r->document, err);
    return status == MS_OK ? read_root(r, ms_json_root(r->document), err) : status;
}

ms_status ms_recorded_open(ms_recorded *r, const char *path, ms_error *err)
{
    ms_json_source source;
    ms_status status = ms_json_read(NULL, path, &source, &r->text, err);
    return status == MS_OK ? ms_recorded_parse(r, &source, err) : status;
}

void ms_recorded_close(ms_recorded *r)
{
    ms_json_free(r->document);
    free(r->text);
    ms_arena_free(r->arena);
}
