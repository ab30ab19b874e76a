/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/document/recorded_compiled.h"
#include "input/document/recorded_engine.h"
#include "input/document/recorded_groups.h"
#include "input/document/recorded_ledger.h"
#include "input/document/recorded_members.h"
#include "input/document/recorded_step.h"
#include "base/json/read.h"

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
    ms_status status = ms_recorded_text(v, "phase", &p->name, err);
    const struct {
        const char *key;
        uint64_t *count;
    } members[] = {{"micro_step", &p->micro_step},   {"repeats", &p->repeats},
                   {"start_bytes", &p->start_bytes}, {"peak_bytes", &p->peak_bytes},
                   {"end_bytes", &p->end_bytes},     {"peak_reserved_bytes", &p->reserved_bytes}};
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++)
        status = ms_recorded_count(v, members[i].key, members[i].count, err);
    return status;
}

static ms_status read_category(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_category *c = row;
    ms_json_value rounded;
    ms_status status = ms_recorded_text(v, "category", &c->name, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "count", &c->count, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "bytes", &c->bytes, err);
    c->rounded_bytes = c->bytes;
    if (status != MS_OK || !ms_json_find(v, "rounded_bytes", &rounded))
        return status;
    return ms_json_get_count(rounded, 0, c->bytes, &c->rounded_bytes, err);
}

static ms_status read_point(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    ms_status status = ms_recorded_text(v, "phase", &p->phase, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "event", &p->event, err);
    return status == MS_OK ? ms_recorded_count(v, "bytes", &p->bytes, err) : status;
}

static ms_status read_start(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    ms_status status = ms_recorded_text(v, "phase", &p->phase, err);
    return status == MS_OK ? ms_recorded_count(v, "event", &p->event, err) : status;
}

static ms_status read_level(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_point *p = row;
    return ms_json_get_count(v, 0, UINT64_MAX, &p->bytes, err);
}

static ms_status read_read(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_read *r = row;
    ms_status status = ms_recorded_text(v, "file", &r->file, err);
    if (status == MS_OK)
        status = ms_recorded_text(v, "function", &r->function, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "line", &r->line, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "count", &r->count, err);
    return status == MS_OK ? ms_recorded_count(v, "played_back", &r->played_back, err) : status;
}

static ms_status read_answer(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_answer *a = row;
    ms_status status = ms_recorded_text(v, "question", &a->question, err);
    if (status == MS_OK)
        status = ms_recorded_text(v, "assumes", &a->assumes, err);
    return status == MS_OK ? ms_recorded_count(v, "count", &a->count, err) : status;
}

static ms_status read_call(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_call *c = row;
    ms_status status = ms_recorded_text(v, "call", &c->name, err);
    if (status == MS_OK)
        status = ms_recorded_text(v, "file", &c->file, err);
    return status == MS_OK ? ms_recorded_count(v, "line", &c->line, err) : status;
}

static ms_status read_tally(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_tally *t = row;
    ms_status status = ms_recorded_text(v, "call", &t->name, err);
    return status == MS_OK ? ms_recorded_count(v, "count", &t->count, err) : status;
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
            status = ms_recorded_rows(r, list, lists[i].size, &rows[i], lists[i].count,
                                      lists[i].read, err);
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
    ms_status status = ms_recorded_count(levels, "events", &r->events, err);
    if (status == MS_OK)
        status = ms_json_get_member(levels, "stride", &bytes, err);
    if (status == MS_OK)
        status = ms_json_get_count(bytes, 1, UINT32_MAX, &stride, err);
    if (status == MS_OK)
        status = ms_json_get_list(levels, "phases", &starts, err);
    if (status == MS_OK)
        status = ms_json_get_list(levels, "bytes", &bytes, err);
    if (status == MS_OK)
        status = ms_recorded_rows(r, starts, sizeof(ms_recorded_point), &phases, &phase_count,
                                  read_start, err);
    if (status == MS_OK)
        status = ms_recorded_rows(r, bytes, sizeof(ms_recorded_point), &points, &point_count,
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
    ms_status status = ms_recorded_count(summary, "start_bytes", &r->start_bytes, err);
    if (status == MS_OK)
        status = ms_recorded_count(summary, "peak_memory_bytes", &r->peak_bytes, err);
    if (status == MS_OK)
        status = ms_recorded_count(summary, "reserved_memory_bytes", &r->reserved_bytes, err);
    if (status == MS_OK)
        status = ms_recorded_count(summary, "allocator_retries", &r->retries, err);
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
    ms_status status = ms_recorded_text(metadata, "mode", &r->mode, err);
    if (status == MS_OK)
        status = get_text_if_any(metadata, "device_title", &r->device, err);
    if (status == MS_OK)
        status = get_text_if_any(metadata, "torch", &r->torch, err);
    if (status == MS_OK)
        status = get_count_if_any(metadata, "device_bytes", &r->device_bytes, err);
    r->is_static = status == MS_OK && strcmp(r->mode, "train") == 0;
    if (status == MS_OK && !r->is_static)
        status = ms_recorded_count(metadata, "steps", &r->steps, err);
    if (status == MS_OK && ms_json_find(metadata, "world_size", &world))
        status = ms_recorded_count(metadata, "world_size", &r->world_size, err);
    r->has_rank = status == MS_OK && ms_json_find(metadata, "rank", &rank);
    if (r->has_rank)
        status = ms_recorded_count(metadata, "rank", &r->rank, err);
    return status;
}

static ms_status read_root(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value metadata, summary, levels;
    const char *version = NULL;
    ms_status status = ms_recorded_text(root, "schema_version", &version, err);
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
        status = ms_recorded_text(root, "outcome", &r->outcome, err);
    if (status == MS_OK)
        status = get_text_if_any(root, "message", &r->message, err);
    if (status == MS_OK)
        status = get_text_if_any(root, "hint", &r->hint, err);
    if (status == MS_OK && ms_json_find(root, "summary", &summary))
        status = read_summary(r, summary, err);
    if (status == MS_OK)
        status = read_peak_place(r, root, err);
    if (status == MS_OK)
        status = ms_recorded_read_groups(r, root, err);
    if (status == MS_OK)
        status = ms_recorded_read_compiled(r, root, err);
    if (status == MS_OK)
        status = ms_recorded_read_engine(r, root, err);
    if (status == MS_OK)
        status = ms_recorded_read_ledger(r, root, err);
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
