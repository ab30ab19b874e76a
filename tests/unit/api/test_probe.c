/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library's probe: what it refuses, and that it measures once.
 */
#include <string.h>

#include "memscope/probe.h"
#include "unit/support.h"

static ms_run *small_run(void)
{
    ms_error err = {0};
    ms_run *run = ms_run_create();
    assert_non_null(run);
    assert_int_equal(ms_run_set(run, "config", "tests/oom/llama.json", &err), MS_OK);
    assert_int_equal(ms_run_set(run, "seq", "32", &err), MS_OK);
    return run;
}

static void a_probe_measures_once(void **state)
{
    const ms_probe_options options = {.backend = "host", .capacity = "1GiB", .memory_only = true};
    ms_run *run = small_run();
    ms_probe *probe = ms_probe_create();
    ms_error err = {0}, second = {0}, third = {0};
    (void)state;
    assert_int_equal(ms_probe_step(probe, run, &options, &err), MS_OK);
    assert_int_equal(ms_probe_step(probe, run, &options, &second), MS_ERR_USAGE);
    assert_non_null(strstr(second.text, "measures once"));
    assert_int_equal(ms_probe_links(probe, run, &options, &third), MS_ERR_USAGE);
    assert_true(ms_probe_has_figures(probe));
    ms_probe_free(probe);
    ms_run_free(run);
}

typedef struct refused_case {
    const char *label;
    ms_probe_options options;
    const char *text;
} refused_case;

static const refused_case refused[] = {
    {"a capacity of a GPU", {.backend = "cuda", .capacity = "1GiB"}, "only the backend host"},
    {"another host", {.backend = "host", .device_index = 1}, "only this machine"},
    {"no such backend", {.backend = "gpu"}, "no backend"},
    {"too small", {.backend = "host", .capacity = "1MiB"}, "minimum"},
};

static void options_are_refused(void **state)
{
    const refused_case *c = *state;
    ms_run *run = small_run();
    for (int links = 0; links < 2; links++) {
        ms_probe *probe = ms_probe_create();
        ms_error err = {0};
        ms_status status = links ? ms_probe_links(probe, run, &c->options, &err)
                                 : ms_probe_step(probe, run, &c->options, &err);
        assert_true(status == MS_ERR_USAGE || status == MS_ERR_CONFIG);
        assert_non_null(strstr(err.text, c->text));
        assert_false(ms_probe_has_figures(probe));
        ms_probe_free(probe);
    }
    ms_run_free(run);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(refused) + 1] = {cmocka_unit_test(a_probe_measures_once)};
    size_t count = 1;
    count += ADD_ROWS(tests + count, options_are_refused, refused);
    return _cmocka_run_group_tests("the library's probe", tests, count, NULL, NULL);
}
