/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/members.h"
#include "base/json/read.h"
#include "input/document/recorded_step.h"

/* ---- members ---- */

/* They are compared with schemas/runtime_report.schema.json, which has more. */

#define PHASE(...) MS_MEMBER(ms_recorded_phase, __VA_ARGS__)
static const ms_member phase_members[] = {
    PHASE("phase", name),
    PHASE("micro_step", micro_step),
    PHASE("repeats", repeats),
    PHASE("start_bytes", start_bytes),
    PHASE("peak_bytes", peak_bytes),
    PHASE("end_bytes", end_bytes),
    PHASE("peak_reserved_bytes", reserved_bytes),
};
static const ms_members phases_table = MS_MEMBERS(ms_recorded_phase, phase_members);

/* Of a step whose first phases are read for their peaks alone. */
static const ms_member first_members[] = {
    PHASE("peak_bytes", peak_bytes),
    PHASE("peak_reserved_bytes", reserved_bytes),
};
static const ms_members first_phases_table = MS_MEMBERS(ms_recorded_phase, first_members);

/* What is rounded is what is there, where a report does not tell. */
enum { CHECK_ROUNDED = 1 };
#define CATEGORY(...) MS_MEMBER(ms_recorded_category, __VA_ARGS__)
static const ms_member category_members[] = {
    CATEGORY("category", name),
    CATEGORY("count", count),
    CATEGORY("bytes", bytes),
    CATEGORY("bytes", rounded_bytes),
    CATEGORY("rounded_bytes", rounded_bytes, .rules = MS_IF_ANY, .check = CHECK_ROUNDED),
};
static const ms_members categories_table = MS_MEMBERS(ms_recorded_category, category_members);

#define POINT(...) MS_MEMBER(ms_recorded_point, __VA_ARGS__)
static const ms_member point_members[] = {
    POINT("phase", phase),
    POINT("event", event),
    POINT("bytes", bytes),
};
static const ms_members points_table = MS_MEMBERS(ms_recorded_point, point_members);
static const ms_members starts_table = {
    .items = point_members, .count = 2, .row_bytes = sizeof(ms_recorded_point)};
static const ms_members level_points_table = {.items = point_members + 2,
                                              .count = 1,
                                              .row_bytes = sizeof(ms_recorded_point),
                                              .is_plain = true};

#define READ(...) MS_MEMBER(ms_recorded_read, __VA_ARGS__)
static const ms_member read_members[] = {
    READ("file", file),   READ("function", function),       READ("line", line),
    READ("count", count), READ("played_back", played_back),
};
static const ms_members reads_table = MS_MEMBERS(ms_recorded_read, read_members);

static const ms_member answer_members[] = {
    MS_MEMBER(ms_recorded_answer, "question", question),
    MS_MEMBER(ms_recorded_answer, "assumes", assumes),
    MS_MEMBER(ms_recorded_answer, "count", count),
};
static const ms_members answers_table = MS_MEMBERS(ms_recorded_answer, answer_members);

static const ms_member call_members[] = {
    MS_MEMBER(ms_recorded_call, "call", name),
    MS_MEMBER(ms_recorded_call, "file", file),
    MS_MEMBER(ms_recorded_call, "line", line),
};
static const ms_members calls_table = MS_MEMBERS(ms_recorded_call, call_members);

static const ms_member tally_members[] = {
    MS_MEMBER(ms_recorded_tally, "call", name),
    MS_MEMBER(ms_recorded_tally, "count", count),
};
static const ms_members tallies_table = MS_MEMBERS(ms_recorded_tally, tally_members);

#define COMPILED(...) MS_MEMBER(ms_recorded_compiled, __VA_ARGS__)
static const ms_member compiled_members[] = {
    COMPILED("graphs", graphs),
    COMPILED("graph_breaks", breaks),
    COMPILED("choices_by_time", choices),
    COMPILED("cuda_graphs", cuda_graphs),
    COMPILED("private_pools", pools),
    COMPILED("private_pool_bytes", pool_bytes),
    COMPILED("private_pool_free_bytes", pool_free_bytes),
};
static const ms_members compiled_table = MS_MEMBERS(ms_recorded_compiled, compiled_members);

/* ---- an engine ---- */

#define WORKER(...) MS_MEMBER(ms_recorded_worker, __VA_ARGS__)
static const ms_member worker_members[] = {
    WORKER("rank", rank),
    WORKER("requested_bytes", requested_bytes),
    WORKER("weights_bytes", weights_bytes, .rules = MS_IF_ANY),
    WORKER("buffers_bytes", buffers_bytes, .rules = MS_IF_ANY),
    WORKER("activation_bytes", activation_bytes, .rules = MS_IF_ANY,
           .when = MS_PLACE(ms_recorded_worker, has_profile)),
    WORKER("non_torch_bytes", non_torch_bytes, .rules = MS_IF_ANY),
    WORKER("graphs_bytes", graphs_bytes, .rules = MS_IF_ANY),
    WORKER("cache_bytes", cache_bytes, .rules = MS_IF_ANY),
    WORKER("serving_bytes", serving_bytes, .rules = MS_IF_ANY),
    WORKER("beyond_budget_bytes", beyond_budget_bytes, .rules = MS_IF_ANY),
    WORKER("free_bytes", free_bytes, .rules = MS_IF_ANY),
};
static const ms_members workers_table = MS_MEMBERS(ms_recorded_worker, worker_members);

#define ENGINE(...) MS_MEMBER(ms_recorded_engine, __VA_ARGS__)
static const ms_member setting_members[] = {
    ENGINE("tensor_parallel_size", tensor_ranks),
    ENGINE("pipeline_parallel_size", pipeline_ranks),
    ENGINE("max_num_batched_tokens", max_batched_tokens),
    ENGINE("max_num_seqs", max_requests),
    ENGINE("max_model_len", max_tokens_of_request),
    ENGINE("gpu_memory_utilization", utilization),
};
static const ms_members settings_table = MS_MEMBERS(ms_recorded_engine, setting_members);

static const ms_member cache_members[] = {
    ENGINE("tokens", cache_tokens),
    ENGINE("max_concurrency", requests_at_once),
};
static const ms_members cache_table = MS_MEMBERS(ms_recorded_engine, cache_members);

static const ms_member engine_members[] = {
    ENGINE("name", name),
    ENGINE("version", version),
    ENGINE("model", model),
    ENGINE("dummy_weights", has_dummy_weights),
    MS_PART("settings", &settings_table),
    MS_PART("cache", &cache_table, .rules = MS_OR_NULL,
            .when = MS_PLACE(ms_recorded_engine, has_cache)),
    MS_ROWS(ms_recorded_engine, "workers", workers, worker_count, &workers_table, .most = 1024),
};
static const ms_members engine_table = MS_MEMBERS(ms_recorded_engine, engine_members);

/* ---- a program without PyTorch ---- */

#define DEVICE(type)                                                                               \
    MS_MEMBER(type, "device", device, .rules = MS_OR_NULL, .most = UINT32_MAX,                     \
              .when = MS_PLACE(type, is_on_device))
static const ms_member memory_members[] = {
    DEVICE(ms_recorded_memory),
    MS_MEMBER(ms_recorded_memory, "peak_bytes", peak_bytes),
    MS_MEMBER(ms_recorded_memory, "peak_used_bytes", used_bytes),
};
static const ms_members memories_table = MS_MEMBERS(ms_recorded_memory, memory_members);

#define BUFFER(...) MS_MEMBER(ms_recorded_buffer, __VA_ARGS__)
static const ms_member buffer_members[] = {
    DEVICE(ms_recorded_buffer),       BUFFER("kind", kind),
    BUFFER("count", count),           BUFFER("bytes", bytes),
    BUFFER("most_bytes", most_bytes),
};
static const ms_members buffers_table = MS_MEMBERS(ms_recorded_buffer, buffer_members);

#define REPORT(...) MS_MEMBER(ms_recorded, __VA_ARGS__)
static const ms_member ledger_members[] = {
    REPORT("program", ledger),
    MS_ROWS(ms_recorded, "memories", memories, memory_count, &memories_table),
    MS_ROWS(ms_recorded, "buffers", buffers, buffer_count, &buffers_table),
};
static const ms_members ledger_table = MS_MEMBERS(ms_recorded, ledger_members);

/* ---- the document ---- */

static const ms_member metadata_members[] = {
    REPORT("mode", mode),
    REPORT("device_title", device, .rules = MS_IF_ANY | MS_OR_NULL),
    REPORT("torch", torch, .rules = MS_IF_ANY | MS_OR_NULL),
    REPORT("device_bytes", device_bytes, .rules = MS_IF_ANY),
    REPORT("world_size", world_size, .rules = MS_IF_ANY),
    REPORT("rank", rank, .rules = MS_IF_ANY, .when = MS_PLACE(ms_recorded, has_rank)),
};
static const ms_members metadata_table = MS_MEMBERS(ms_recorded, metadata_members);

static const ms_member summary_members[] = {
    REPORT("start_bytes", start_bytes),
    REPORT("peak_memory_bytes", peak_bytes),
    REPORT("reserved_memory_bytes", reserved_bytes),
    REPORT("allocator_retries", retries),
    REPORT("managed_memory_bytes", managed_bytes, .rules = MS_IF_ANY),
    REPORT("peak_stage", peak_stage, .rules = MS_IF_ANY | MS_OR_NULL),
};
static const ms_members summary_table = MS_MEMBERS(ms_recorded, summary_members);

static const ms_member peak_members[] = {
    REPORT("module", peak_module, .rules = MS_IF_ANY | MS_OR_NULL),
    REPORT("file", peak_file, .rules = MS_IF_ANY | MS_OR_NULL),
    REPORT("line", peak_line, .rules = MS_IF_ANY),
    MS_ROWS(ms_recorded, "categories", categories, category_count, &categories_table,
            .rules = MS_IF_ANY, .most = 256),
};
static const ms_members peak_table = MS_MEMBERS(ms_recorded, peak_members);

#define LIST(...) MS_ROWS(ms_recorded, __VA_ARGS__, .rules = MS_IF_ANY)
static const ms_member document_members[] = {
    MS_PART("metadata", &metadata_table),
    REPORT("message", message, .rules = MS_IF_ANY | MS_OR_NULL),
    REPORT("hint", hint, .rules = MS_IF_ANY | MS_OR_NULL),
    MS_PART("summary", &summary_table, .rules = MS_IF_ANY,
            .when = MS_PLACE(ms_recorded, has_figures)),
    MS_PART("peak", &peak_table, .rules = MS_IF_ANY),
    REPORT("compiled", compiled, .rules = MS_IF_ANY, .inner = &compiled_table,
           .when = MS_PLACE(ms_recorded, compiled.is_there)),
    REPORT("engine", engine, .rules = MS_IF_ANY | MS_THROUGH, .inner = &engine_table),
    MS_PART("ledger", &ledger_table, .rules = MS_IF_ANY),
    LIST("phases", phases, phase_count, &phases_table, .most = 16384),
    LIST("timeline", timeline, point_count, &points_table),
    LIST("reads", reads, read_count, &reads_table),
    LIST("not_covered", calls, call_count, &calls_table),
    LIST("calls", tallies, tally_count, &tallies_table),
    LIST("answers", answers, answer_count, &answers_table),
};
const ms_members ms_recorded_table = MS_MEMBERS(ms_recorded, document_members);

/* What predictions have otherwise, or not at all. */
static const ms_member run_members[] = {REPORT("steps", steps)};
static const ms_members run_table = MS_MEMBERS(ms_recorded, run_members);
static const ms_member note_members[] = {LIST("notes", notes, note_count, &ms_plain_texts)};
static const ms_members notes_table = MS_MEMBERS(ms_recorded, note_members);
static const ms_member captured_members[] = {
    REPORT("outcome", outcome),
    MS_PART("metadata", &run_table),
};
const ms_members ms_captured_table = MS_MEMBERS(ms_recorded, captured_members);

/* ---- groups ---- */

/* The modules of a captured program, with those of equal layers merged. */

#define GROUP(...) MS_MEMBER(ms_recorded_group, __VA_ARGS__)
static const ms_member group_members[] = {
    GROUP("module", name),
    GROUP("peak_bytes", peak_bytes),
    GROUP("peak_bytes", rounded_bytes),
    GROUP("peak_rounded_bytes", rounded_bytes, .rules = MS_IF_ANY, .check = CHECK_ROUNDED),
    GROUP("saved_bytes", saved_bytes),
    GROUP("most_temporary_bytes", temporary_bytes),
};
static const ms_members groups_table = MS_MEMBERS(ms_recorded_group, group_members);
enum { OF_PREDICTED = 4 }; /* reports of a predicted run have only what modules hold at the peak */
static const ms_members predicted_groups_table = {
    .items = group_members, .count = OF_PREDICTED, .row_bytes = sizeof(ms_recorded_group)};

static const ms_member module_members[] = {LIST("modules", groups, group_count, &groups_table)};
static const ms_member predicted_module_members[] = {
    LIST("modules", groups, group_count, &predicted_groups_table)};
const ms_members ms_captured_modules_table = MS_MEMBERS(ms_recorded, module_members);
const ms_members ms_predicted_modules_table = MS_MEMBERS(ms_recorded, predicted_module_members);

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

static ms_status read_groups(const ms_members_reading *reading, ms_recorded *r, ms_json_value root)
{
    ms_status status = ms_members_read(
        reading, r->is_static ? &ms_predicted_modules_table : &ms_captured_modules_table, root, r);
    for (uint32_t i = 0; i < r->group_count && status == MS_OK; i++) {
        r->groups[i].name = alike(r->arena, r->groups[i].name);
        r->groups[i].count = 1;
        if (!r->groups[i].name)
            status = ms_fail(reading->err, MS_ERR_NOMEM, "out of memory for a report");
    }
    if (status != MS_OK || r->group_count == 0)
        return status;
    qsort(r->groups, r->group_count, sizeof *r->groups, by_name);
    r->group_count = join(r->groups, r->group_count);
    qsort(r->groups, r->group_count, sizeof *r->groups, by_bytes);
    return MS_OK;
}

/* ---- the first step ---- */

/* It also takes what compiling needs. */

typedef struct first_step {
    ms_recorded_phase *phases;
    uint32_t count;
} first_step;

static const ms_member first_step_members[] = {MS_ROWS(
    first_step, "first_step_phases", phases, count, &first_phases_table, .rules = MS_IF_ANY)};
static const ms_members first_steps_table = MS_MEMBERS(first_step, first_step_members);

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static ms_status read_first_step(const ms_members_reading *reading, ms_recorded *r,
                                 ms_json_value root)
{
    first_step first = {0};
    ms_recorded_first_step *most = &r->first_step;
    ms_status status = ms_members_read(reading, &first_steps_table, root, &first);
    for (uint32_t i = 0; i < first.count; i++) {
        most->peak_bytes = larger(most->peak_bytes, first.phases[i].peak_bytes);
        most->reserved_bytes = larger(most->reserved_bytes, first.phases[i].reserved_bytes);
    }
    return status;
}

/* ---- levels ---- */

typedef struct levels {
    uint64_t events, stride;
    ms_recorded_point *starts, *points;
    uint32_t start_count, point_count;
} levels;

static const ms_member level_members[] = {
    MS_MEMBER(levels, "events", events),
    MS_MEMBER(levels, "stride", stride, .least = 1, .most = UINT32_MAX),
    MS_ROWS(levels, "phases", starts, start_count, &starts_table),
    MS_ROWS(levels, "bytes", points, point_count, &level_points_table),
};
static const ms_members level_table = MS_MEMBERS(levels, level_members);

/* In place of the timeline, whose points are where it is lowest and highest. */
static ms_status read_levels(const ms_members_reading *reading, ms_recorded *r, ms_json_value root)
{
    levels l = {0};
    ms_json_value v;
    if (!ms_json_find(root, "levels", &v))
        return MS_OK;
    ms_status status = ms_members_read(reading, &level_table, v, &l);
    if (status != MS_OK)
        return status;
    r->events = l.events;
    r->timeline = l.points;
    r->point_count = l.point_count;
    for (uint32_t i = 0, phase = 0; i < l.point_count; i++) {
        uint64_t event = i * l.stride;
        while (phase + 1 < l.start_count && l.starts[phase + 1].event < event)
            phase++;
        r->timeline[i].event = event;
        r->timeline[i].phase = l.start_count > 0 ? l.starts[phase].phase : "";
    }
    return MS_OK;
}

/* ---- the whole ---- */

static ms_status check_member(const ms_members_reading *reading, const ms_member *m,
                              ms_json_value v, uint64_t count, const void *row)
{
    uint64_t bytes; /* the row before has read them into the same place */
    memcpy(&bytes, (const char *)row + m->at.offset, sizeof bytes);
    return ms_json_get_count(v, 0, bytes, &count, reading->err);
}

static ms_status check_version(ms_json_value root, ms_error *err)
{
    ms_json_value v;
    const char *version = NULL;
    ms_status status = ms_json_get_member(root, "schema_version", &v, err);
    if (status == MS_OK)
        status = ms_json_get_string(v, &version, err);
    if (status == MS_OK && strncmp(version, "1.", 2) != 0)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "unknown report version %.20s, expected 1", version);
    return status;
}

static ms_status read_root(ms_recorded *r, ms_json_value root, ms_error *err)
{
    const ms_members_reading reading = {
        .what = "a report", .arena = r->arena, .check = check_member, .err = err};
    ms_status status = check_version(root, err);
    if (status == MS_OK)
        status = ms_members_read(&reading, &ms_recorded_table, root, r);
    r->outcome = "stepped";
    r->is_static = status == MS_OK && strcmp(r->mode, "train") == 0;
    if (status == MS_OK && !r->is_static)
        status = ms_members_read(&reading, &ms_captured_table, root, r);
    if (status == MS_OK && r->ledger)
        status = ms_members_read(&reading, &notes_table, root, r);
    if (status == MS_OK && r->engine)
        r->engine->is_parallel = r->engine->tensor_ranks > 1 || r->engine->pipeline_ranks > 1;
    if (status == MS_OK)
        status = read_groups(&reading, r, root);
    if (status == MS_OK && !r->is_static)
        status = read_first_step(&reading, r, root);
    if (status == MS_OK)
        status = ms_recorded_read_step(r, root, err);
    return status == MS_OK ? read_levels(&reading, r, root) : status;
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
