/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_engine.h"

#include <inttypes.h>

#include "base/error.h"
#include "input/document/recorded_members.h"
#include "base/json/read.h"

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
    ms_status status = ms_recorded_count(v, "rank", &w->rank, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "requested_bytes", &w->requested_bytes, err);
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
    status =
        ms_recorded_rows(r, list, sizeof *e->workers, &rows, &e->worker_count, read_worker, err);
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
        status = ms_recorded_count(settings, members[i].key, members[i].count, err);
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
    status = ms_recorded_count(cache, "tokens", &e->cache_tokens, err);
    return status == MS_OK ? get_number(cache, "max_concurrency", &e->requests_at_once, err)
                           : status;
}

ms_status ms_recorded_read_engine(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value engine, dummy;
    if (!ms_json_find(root, "engine", &engine))
        return MS_OK;
    ms_recorded_engine *e = ms_arena_alloc(r->arena, 1, sizeof *e);
    if (!e)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    *e = (ms_recorded_engine){0};
    ms_status status = ms_recorded_text(engine, "name", &e->name, err);
    if (status == MS_OK)
        status = ms_recorded_text(engine, "version", &e->version, err);
    if (status == MS_OK)
        status = ms_recorded_text(engine, "model", &e->model, err);
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
