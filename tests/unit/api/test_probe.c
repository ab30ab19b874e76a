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

/* ---- offload ---- */

static const char *const mlp[] = {"mlp"}, *const halves[] = {"attention=0.5", "mlp=0.5"};

typedef struct offload_case {
    const char *label;
    ms_probe_options options;
    ms_status status;
    const char *text; /* of the message, else of the report */
} offload_case;

static const offload_case offloads[] = {
    {"predicted", {.offload_ratio = "0:1:0.5"}, MS_OK, "\"backend\": null"},
    {"on a backend",
     {.backend = "host", .capacity = "1GiB", .memory_only = true, .offload_ratio = "0:1:0.5"},
     MS_OK,
     "\"backend\": \"host\""},
    {"of tags",
     {.offload_tags = halves, .offload_tag_count = COUNT_OF(halves)},
     MS_OK,
     "\"ratio\": null"},
    {"no ratio", {.offload_ratio = NULL}, MS_ERR_USAGE, "no ratio"},
    {"no ratio of a tag",
     {.offload_tags = mlp, .offload_tag_count = COUNT_OF(mlp)},
     MS_ERR_USAGE,
     "no ratio"},
    {"no such backend", {.backend = "gpu", .offload_ratio = "1"}, MS_ERR_USAGE, "no backend"},
};

static void offloads_are_measured(void **state)
{
    const offload_case *c = *state;
    static char text[1 << 16];
    ms_run *run = small_run();
    ms_probe *probe = ms_probe_create();
    ms_error err = {0};
    assert_int_equal(ms_run_set(run, "seq", "64", &err), MS_OK);
    assert_int_equal(ms_probe_offload(probe, run, &c->options, &err), c->status);
    assert_int_equal(ms_probe_has_figures(probe), c->status == MS_OK);
    for (size_t i = 0; c->status == MS_OK && ms_probe_offload_format_at(i); i++) {
        FILE *out = tmpfile();
        assert_non_null(out);
        assert_int_equal(ms_probe_write(probe, ms_probe_offload_format_at(i), out, &err), MS_OK);
        rewind(out);
        text[fread(text, 1, sizeof text - 1, out)] = '\0';
        fclose(out);
        assert_true(strcmp(ms_probe_offload_format_at(i), "json") != 0 || strstr(text, c->text));
    }
    assert_true(c->status == MS_OK || strstr(err.text, c->text));
    ms_probe_free(probe);
    ms_run_free(run);
}

static void an_offload_is_stopped(void **state)
{
    const ms_probe_options options = {.offload_ratio = "0:1:0.5"};
    ms_run *run = small_run();
    ms_probe *probe = ms_probe_create();
    ms_error err = {0};
    (void)state;
    ms_probe_stop(probe);
    assert_int_equal(ms_probe_offload(probe, run, &options, &err), MS_ERR_STOPPED);
    assert_false(ms_probe_has_figures(probe));
    ms_probe_free(probe);
    ms_run_free(run);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(refused) + COUNT_OF(offloads) + 2] = {
        cmocka_unit_test(a_probe_measures_once), cmocka_unit_test(an_offload_is_stopped)};
    size_t count = 2;
    count += ADD_ROWS(tests + count, offloads_are_measured, offloads);
    count += ADD_ROWS(tests + count, options_are_refused, refused);
    return _cmocka_run_group_tests("the library's probe", tests, count, NULL, NULL);
}
