/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a report says of an inference engine, as it is read: engines differ in what they know.
 */
#include "unit/support.h"

#include <string.h>

#include "input/document/recorded.h"

#define SETTINGS(tensor)                                                                           \
    "\"settings\":{\"tensor_parallel_size\":" tensor ",\"pipeline_parallel_size\":1,"              \
    "\"max_num_batched_tokens\":8192,\"max_num_seqs\":16,\"max_model_len\":4096,"                  \
    "\"gpu_memory_utilization\":0.5},"
#define ENGINE(settings, cache, workers)                                                           \
    "{\"schema_version\":\"1.5\",\"outcome\":\"ready\",\"message\":null,\"metadata\":{"            \
    "\"mode\":\"null\",\"steps\":0},\"engine\":{\"name\":\"sglang\",\"version\":\"1\","            \
    "\"model\":\"m\",\"dummy_weights\":true," settings "\"cache\":" cache ",\"workers\":[" workers \
    "]}}"
#define CACHE "{\"tokens\":2000,\"max_concurrency\":0.5}"
#define WORKER(rank, members) "{\"rank\":" rank ",\"requested_bytes\":100" members "}"
#define LOADED ",\"weights_bytes\":40,\"buffers_bytes\":2"
#define PROFILED LOADED ",\"activation_bytes\":0,\"non_torch_bytes\":3"
#define READY LOADED ",\"graphs_bytes\":5,\"cache_bytes\":50,\"free_bytes\":70"

/* ---- what is read ---- */

typedef struct reading {
    const char *label, *text;
    uint32_t workers;
    uint64_t tokens, weights_bytes, graphs_bytes, cache_bytes, free_bytes; /* of the last worker */
    bool has_cache, has_profile, is_parallel;
} reading;

static void check_reading(void **state)
{
    const reading *c = *state;
    ms_recorded r = {0};
    ms_error err = {0};
    const ms_json_source source = {"r.json", c->text, strlen(c->text)};
    assert_int_equal(ms_recorded_parse(&r, &source, &err), MS_OK);
    const ms_recorded_engine *e = r.engine;
    assert_non_null(e);
    assert_int_equal(e->worker_count, c->workers);
    assert_int_equal(e->cache_tokens, c->tokens);
    assert_int_equal(e->has_cache, c->has_cache);
    assert_int_equal(e->is_parallel, c->is_parallel);
    assert_int_equal(e->max_requests, 16);
    assert_true(e->utilization == 0.5);
    if (c->workers > 0) {
        const ms_recorded_worker *w = &e->workers[c->workers - 1];
        assert_int_equal(w->rank, c->workers - 1);
        assert_int_equal(w->requested_bytes, 100);
        assert_int_equal(w->weights_bytes, c->weights_bytes);
        assert_int_equal(w->graphs_bytes, c->graphs_bytes);
        assert_int_equal(w->cache_bytes, c->cache_bytes);
        assert_int_equal(w->free_bytes, c->free_bytes);
        assert_int_equal(w->has_profile, c->has_profile);
    }
    ms_recorded_close(&r);
}

static const reading readings[] = {
    {"no worker", ENGINE(SETTINGS("1"), "null", ""), 0, 0, 0, 0, 0, 0, false, false, false},
    {"before it has loaded", ENGINE(SETTINGS("1"), "null", WORKER("0", "")), 1, 0, 0, 0, 0, 0,
     false, false, false},
    {"loaded", ENGINE(SETTINGS("1"), "null", WORKER("0", LOADED)), 1, 0, 40, 0, 0, 0, false, false,
     false},
    {"a profile run that took nothing", ENGINE(SETTINGS("1"), "null", WORKER("0", PROFILED)), 1, 0,
     40, 0, 0, 0, false, true, false},
    {"ready without a profile run", ENGINE(SETTINGS("1"), CACHE, WORKER("0", READY)), 1, 2000, 40,
     5, 50, 70, true, false, false},
    {"two devices", ENGINE(SETTINGS("2"), CACHE, WORKER("0", PROFILED) "," WORKER("1", READY)), 2,
     2000, 40, 5, 50, 70, true, false, true},
};

static void no_engine_is_none(void **state)
{
    (void)state;
    static const char text[] = "{\"schema_version\":\"1.5\",\"outcome\":\"stepped\","
                               "\"metadata\":{\"mode\":\"null\",\"steps\":1}}";
    ms_recorded r = {0};
    ms_error err = {0};
    const ms_json_source source = {"r.json", text, sizeof text - 1};
    assert_int_equal(ms_recorded_parse(&r, &source, &err), MS_OK);
    assert_null(r.engine);
    ms_recorded_close(&r);
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *label, *text, *pointer;
} refusal;

static void check_refusal(void **state)
{
    const refusal *c = *state;
    ms_recorded r = {0};
    ms_error err = {0};
    const ms_json_source source = {"r.json", c->text, strlen(c->text)};
    assert_int_equal(ms_recorded_parse(&r, &source, &err), MS_ERR_CONFIG);
    assert_string_equal(err.pointer, c->pointer);
    ms_recorded_close(&r);
}

static const refusal refusals[] = {
    {"no settings", ENGINE("", CACHE, WORKER("0", READY)), "/engine"},
    {"tokens that are no count",
     ENGINE(SETTINGS("1"), "{\"tokens\":-1,\"max_concurrency\":1}", WORKER("0", READY)),
     "/engine/cache/tokens"},
    {"no requests at once", ENGINE(SETTINGS("1"), "{\"tokens\":1}", WORKER("0", READY)),
     "/engine/cache"},
    {"free bytes that are no count",
     ENGINE(SETTINGS("1"), CACHE, WORKER("0", ",\"free_bytes\":-1")),
     "/engine/workers/0/free_bytes"},
    {"a worker without a budget", ENGINE(SETTINGS("1"), CACHE, "{\"rank\":0}"),
     "/engine/workers/0"},
};

int main(void)
{
    enum { OTHERS = 1 };
    struct CMUnitTest tests[COUNT_OF(readings) + COUNT_OF(refusals) + OTHERS] = {
        cmocka_unit_test(no_engine_is_none)};
    size_t count = OTHERS;
    count += ADD_ROWS(tests + count, check_reading, readings);
    count += ADD_ROWS(tests + count, check_refusal, refusals);
    return _cmocka_run_group_tests("recorded engine", tests, count, NULL, NULL);
}
