/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is written and read is the same where the process has a locale whose decimal point is a
 * comma. localedef makes one; without it the tests are skipped.
 */
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "memscope/check.h"
#include "memscope/diff.h"
#include "memscope/fit.h"
#include "memscope/plan.h"
#include "memscope/sweep.h"
#include "unit/support.h"

static bool has_comma;

/* ---- what is written ---- */

static ms_run *make_run(void)
{
    static const char *const settings[][2] = {
        {"config", "smollm2-135m"},
        {"seq", "64"},
        {"lora", "r=8,targets=all-linear,dropout=0.125"},
        {"device", "rtx-4090"},
        {"clip", "0.5"},
        {"weight-decay", "0.1"},
        {"budget", "1.5GiB"},
    };
    ms_error err = {0};
    ms_run *run = ms_run_create();
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        assert_int_equal(ms_run_set(run, settings[i][0], settings[i][1], &err), MS_OK);
    return run;
}

static void write_analysis(FILE *out)
{
    ms_error err = {0};
    ms_run *run = make_run();
    ms_analysis *analysis = ms_analyze(run, &err);
    assert_non_null(analysis);
    for (size_t i = 0; ms_report_format_at(i); i++)
        assert_int_equal(ms_analysis_write(analysis, ms_report_format_at(i)->name, out, &err),
                         MS_OK);
    ms_analysis_free(analysis);
    ms_run_free(run);
}

static void write_fit(FILE *out)
{
    ms_error err = {0};
    ms_run *run = make_run();
    ms_fit *fit = ms_fit_find(run, "batch", 0, &err);
    assert_non_null(fit);
    for (size_t i = 0; ms_fit_format_at(i); i++)
        assert_int_equal(ms_fit_write(fit, ms_fit_format_at(i), out, &err), MS_OK);
    ms_fit_free(fit);
    ms_run_free(run);
}

static void write_formats(FILE *out, ms_plan *plan, const char *const *formats, size_t count)
{
    ms_error err = {0};
    assert_int_equal(ms_plan_solve(plan, &err), MS_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ms_plan_write(plan, formats[i], out, &err), MS_OK);
    ms_plan_free(plan);
}

static void write_file_plan(FILE *out)
{
    static const char *const formats[] = {"console", "json"};
    ms_error err = {0};
    ms_plan *plan = ms_plan_create();
    assert_int_equal(
        ms_plan_set(plan, "graph", "tests/golden/cli/plan/graph/files/modules.json", &err), MS_OK);
    assert_int_equal(ms_plan_set(plan, "budget", "1250B", &err), MS_OK);
    assert_int_equal(ms_plan_set(plan, "gap", "0.015625", &err), MS_OK);
    write_formats(out, plan, formats, COUNT_OF(formats));
}

static ms_plan *make_plan(void)
{
    ms_error err = {0};
    ms_plan *plan = ms_plan_create();
    assert_int_equal(ms_plan_set_run(plan, "config", "gpt2", &err), MS_OK);
    assert_int_equal(ms_plan_set_run(plan, "seq", "256", &err), MS_OK);
    assert_int_equal(ms_plan_set_run(plan, "batch", "8", &err), MS_OK);
    assert_int_equal(ms_plan_set_run(plan, "device", "rtx-4090", &err), MS_OK);
    return plan;
}

static void write_plan(FILE *out)
{
    static const char *const formats[] = {"console", "json", "md", "html"};
    ms_error err = {0};
    ms_plan *plan = make_plan();
    assert_int_equal(ms_plan_set(plan, "budget", "2.5GiB", &err), MS_OK);
    write_formats(out, plan, formats, COUNT_OF(formats));
}

static void write_curve(FILE *out)
{
    static const char *const formats[] = {"csv", "svg", "console", "json", "md"};
    ms_error err = {0};
    ms_plan *plan = make_plan();
    assert_int_equal(ms_plan_set(plan, "curve", "true", &err), MS_OK);
    assert_int_equal(ms_plan_set(plan, "points", "3", &err), MS_OK);
    write_formats(out, plan, formats, COUNT_OF(formats));
}

static ms_status take_row(void *out, const char *row, size_t length, ms_error *err)
{
    (void)err;
    return fwrite(row, 1, length, out) == length ? MS_OK : MS_ERR_IO;
}

static void write_sweep_as(FILE *out, const char *format)
{
    ms_error err = {0};
    ms_sweep *sweep = ms_sweep_create();
    assert_int_equal(ms_sweep_set(sweep, "format", format, &err), MS_OK);
    assert_int_equal(ms_sweep_set_run(sweep, "config", "smollm2-135m,gpt2", &err), MS_OK);
    assert_int_equal(ms_sweep_set_run(sweep, "seq", "64", &err), MS_OK);
    assert_int_equal(ms_sweep_set_run(sweep, "clip", "0.5,2", &err), MS_OK);
    assert_int_equal(ms_sweep_open(sweep, &err), MS_OK);
    fputs(ms_sweep_header(sweep), out);
    assert_int_equal(ms_sweep_run(sweep, take_row, out, &err), MS_OK);
    ms_sweep_free(sweep);
}

static void write_sweep(FILE *out)
{
    for (size_t i = 0; ms_sweep_format_at(i); i++)
        write_sweep_as(out, ms_sweep_format_at(i));
}

static void write_tables(FILE *out)
{
    ms_error err = {0};
    assert_int_equal(ms_write_devices(NULL, 0, out, &err), MS_OK);
    assert_int_equal(ms_write_models(NULL, 0, out, &err), MS_OK);
}

/* ---- what is said of values that are not taken ---- */

static void write_errors(FILE *out)
{
    static const char *const settings[][2] = {
        {"clip", "0,5"},           {"clip", "-1"},
        {"weight-decay", "x"},     {"budget", "1,5GiB"},
        {"lora", "r=8,dropout=2"}, {"lora", "r=8,dropout=0.5.5"},
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        ms_error err = {0};
        ms_run *run = ms_run_create();
        ms_run_set(run, "config", "gpt2", &err);
        ms_run_set(run, settings[i][0], settings[i][1], &err);
        ms_analysis *analysis = ms_analyze(run, &err);
        fprintf(out, "%d %s\n", err.status, err.text);
        ms_analysis_free(analysis);
        ms_run_free(run);
    }
}

/* ---- both ---- */

static const struct writer {
    const char *name;
    void (*write)(FILE *out); /* all formats, one behind the other */
} writers[] = {
    {"analysis", write_analysis}, {"fit", write_fit},        {"plan", write_plan},
    {"curve", write_curve},       {"file", write_file_plan}, {"sweep", write_sweep},
    {"tables", write_tables},     {"errors", write_errors},
};

static char *text_of(const struct writer *w)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    w->write(out);
    fclose(out);
    return text;
}

/* Times that a solver took are not the same twice: each number behind those words becomes 0. */
static void forget_times(char *text)
{
    static const char *const words[] = {" simulations,", " points,", "solve_ms"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (char *at = text; (at = strstr(at, words[i])) != NULL;) {
            at += strlen(words[i]);
            char *from = at + strcspn(at, "0123456789\n");
            char *rest = from + strspn(from, "0123456789.");
            if (rest > from) {
                *from = '0';
                memmove(from + 1, rest, strlen(rest) + 1);
            }
        }
}

static void test_comma(void **state)
{
    (void)state;
    if (!has_comma)
        skip();
    for (size_t i = 0; i < COUNT_OF(writers); i++) {
        assert_non_null(setlocale(LC_ALL, "C"));
        char *expected = text_of(&writers[i]);
        assert_non_null(setlocale(LC_ALL, "comma"));
        assert_string_equal(localeconv()->decimal_point, ",");
        char *text = text_of(&writers[i]);
        forget_times(expected);
        forget_times(text);
        if (strcmp(text, expected) != 0) {
            size_t at = 0;
            while (text[at] == expected[at])
                at++;
            print_error("%s: %.60s\n", writers[i].name, text + (at > 30 ? at - 30 : 0));
        }
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
}

/* A locale "comma" in a folder of its own. */
static void make_locale(char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/comma > %s/log 2>&1", folder,
             folder);
    int code = system(command); /* NOLINT: its argument is ours */
    has_comma = setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "comma") != NULL;
    if (!has_comma)
        print_message("skipped: localedef makes no locale here (%d)\n", code);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    char folder[] = "/tmp/memscope-locale.XXXXXX", command[64];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comma)};
    if (mkdtemp(folder))
        make_locale(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1; /* NOLINT: its argument is ours */
}
