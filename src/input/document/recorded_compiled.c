/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_compiled.h"

#include "input/document/recorded_members.h"

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
        status = ms_recorded_count(object, members[i].key, members[i].count, err);
    c->is_there = status == MS_OK;
    return status;
}

static ms_status read_highest(ms_json_value phase, const char *key, uint64_t *most, ms_error *err)
{
    uint64_t bytes = 0;
    ms_status status = ms_recorded_count(phase, key, &bytes, err);
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

ms_status ms_recorded_read_compiled(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    if (ms_json_find(root, "compiled", &v))
        status = read_compiled(&r->compiled, v, err);
    if (status == MS_OK && !r->is_static && ms_json_find(root, "first_step_phases", &v))
        status = read_first_step(&r->first_step, v, err);
    return status;
}
