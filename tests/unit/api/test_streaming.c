/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library's streams: that a run needs a prediction, that either happens once and a run can be
 * stopped, and what is refused.
 */
#include <string.h>

#include "memscope/stream.h"
#include "unit/support.h"

static ms_status simulate(ms_streaming *streaming, const char *prefetch, ms_error *err)
{
    const ms_streaming_options how = {.prefetch = prefetch, .phase = "decode"};
    ms_run *run = ms_run_create();
    assert_non_null(run);
    assert_int_equal(ms_run_set(run, "config", "tests/oom/llama.json", err), MS_OK);
    assert_int_equal(ms_run_set(run, "seq", "16", err), MS_OK);
    ms_status status = ms_streaming_simulate(streaming, run, &how, err);
    ms_run_free(run);
    return status;
}

static ms_streaming *simulated(const char *prefetch)
{
    ms_error err = {0};
    ms_streaming *streaming = ms_streaming_create();
    assert_non_null(streaming);
    assert_int_equal(simulate(streaming, prefetch, &err), MS_OK);
    return streaming;
}

static const char *json_of(const ms_streaming *streaming)
{
    static char text[16384];
    ms_error err = {0};
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(ms_streaming_write(streaming, "json", out, &err), MS_OK);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    return text;
}

static void it_runs_once(void **state)
{
    const ms_streaming_run_options how = {.backend = "host", .capacity = "64MiB"};
    ms_error err = {0}, second = {0};
    ms_streaming *s = simulated("1");
    (void)state;
    assert_null(strstr(json_of(s), "\"run\""));
    assert_false(ms_streaming_has_run(s));
    assert_int_equal(ms_streaming_run(s, &how, &err), MS_OK);
    assert_true(ms_streaming_has_run(s));
    assert_non_null(strstr(json_of(s), "\"outcome\": \"ran\""));
    assert_int_equal(ms_streaming_run(s, &how, &second), MS_ERR_USAGE);
    assert_non_null(strstr(second.text, "runs once"));
    ms_streaming_free(s);
}

static void it_is_simulated_once(void **state)
{
    ms_error err = {0}, second = {0};
    ms_streaming *s = ms_streaming_create();
    (void)state;
    assert_non_null(s);
    assert_int_equal(simulate(s, "0", &err), MS_ERR_USAGE);
    assert_int_equal(simulate(s, "1", &err), MS_OK);
    assert_int_equal(simulate(s, "1", &second), MS_ERR_USAGE);
    assert_non_null(strstr(second.text, "simulated once"));
    assert_non_null(strstr(json_of(s), "\"rows\""));
    ms_streaming_free(s);
}

static void a_stop_is_partial(void **state)
{
    const ms_streaming_run_options how = {.backend = "host", .capacity = "64MiB"};
    ms_error err = {0};
    ms_streaming *s = simulated("1");
    (void)state;
    ms_streaming_stop(s);
    assert_int_equal(ms_streaming_run(s, &how, &err), MS_ERR_STOPPED);
    assert_true(ms_streaming_has_run(s));
    assert_non_null(strstr(json_of(s), "\"outcome\": \"interrupted\""));
    assert_non_null(strstr(json_of(s), "\"partial\": true"));
    ms_streaming_free(s);
}

typedef struct refused_case {
    const char *label;
    ms_streaming_run_options options;
    const char *text;
} refused_case;

static const refused_case refused[] = {
    {"a capacity of a GPU", {.backend = "cuda", .capacity = "1GiB"}, "only the backend host"},
    {"another host", {.backend = "host", .device_index = 1}, "only this machine"},
    {"no such backend", {.backend = "gpu"}, "no backend"},
    {"too small", {.backend = "host", .capacity = "1MiB"}, "minimum"},
    {"no weights", {.backend = "host", .capacity = "64MiB", .weights = "no/such"}, "No such file"},
};

static void options_are_refused(void **state)
{
    const refused_case *c = *state;
    ms_error err = {0};
    ms_streaming *s = simulated("1");
    assert_int_not_equal(ms_streaming_run(s, &c->options, &err), MS_OK);
    assert_non_null(strstr(err.text, c->text));
    assert_false(ms_streaming_has_run(s));
    assert_null(strstr(json_of(s), "\"run\""));
    ms_streaming_free(s);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(refused) + 3] = {cmocka_unit_test(it_runs_once),
                                                      cmocka_unit_test(it_is_simulated_once),
                                                      cmocka_unit_test(a_stop_is_partial)};
    size_t count = 3;
    count += ADD_ROWS(tests + count, options_are_refused, refused);
    return _cmocka_run_group_tests("the library's streams", tests, count, NULL, NULL);
}
