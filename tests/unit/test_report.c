/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures for people: bytes become GiB and shares without a detour through floating point.
 */
#include "support.h"

#include "memscope/memscope.h"
#include "report/view.h"

typedef struct gib_case {
    const char *label;
    uint64_t bytes;
    const char *text;
} gib_case;

#define GIB (UINT64_C(1) << 30)

static const gib_case gib_cases[] = {
    {"nothing", 0, "0.00"},
    {"a byte", 1, "0.00"},
    {"1023 bytes", 1023, "0.00"},
    {"1 KiB", 1024, "0.00"},
    {"5 MiB round down", 5 << 20, "0.00"},
    {"6 MiB round up", 6 << 20, "0.01"},
    {"a byte less than 1 GiB", GIB - 1, "1.00"},
    {"1 GiB", GIB, "1.00"},
    {"1.5 GiB", GIB + GIB / 2, "1.50"},
    {"rounds into the next GiB", 2 * GIB - 1, "2.00"},
    {"1024 GiB", 1024 * GIB, "1024.00"},
    {"all 64 bits", UINT64_MAX, "17179869184.00"},
};

static void check_gib(void **state)
{
    const gib_case *c = *state;
    char text[MS_GIB_TEXT];
    assert_string_equal(ms_gib(c->bytes, text), c->text);
}

typedef struct share_case {
    const char *label;
    uint64_t part, whole;
    uint32_t permille;
} share_case;

static const share_case share_cases[] = {
    {"nothing of nothing", 0, 0, 0},
    {"nothing", 0, 10, 0},
    {"all", 10, 10, 1000},
    {"a third", 1, 3, 333},
    {"two thirds round up", 2, 3, 667},
    {"half of 64 bits", UINT64_MAX / 2, UINT64_MAX, 500},
    {"all of 64 bits", UINT64_MAX, UINT64_MAX, 1000},
    {"little of 64 bits", 1, UINT64_MAX, 0},
};

static void check_share(void **state)
{
    const share_case *c = *state;
    assert_int_equal(ms_permille(c->part, c->whole), c->permille);
}

/* A format that --help lists can be written, and has a file name of its own. */
static void check_formats(void **state)
{
    (void)state;
    size_t count = 0;
    for (const ms_report_format *f; (f = ms_report_format_at(count)) != NULL; count++) {
        assert_true(*f->name && *f->help && *f->file_name);
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(f->file_name, ms_report_format_at(i)->file_name);
    }
    assert_int_equal(count, 4);
    assert_null(ms_report_format_at(SIZE_MAX));
}

static ms_analysis *analyze(ms_error *err)
{
    ms_run *run = ms_run_create();
    ms_run_set(run, "config", "smollm2-135m", err);
    ms_run_set(run, "seq", "64", err);
    ms_analysis *analysis = ms_analyze(run, err);
    ms_run_free(run);
    return analysis;
}

/* The first failure wins, and later calls leave it alone. */
static void check_errors(void **state)
{
    (void)state;
    ms_error err = {0};
    ms_analysis *analysis = analyze(&err);
    assert_int_equal(err.status, MS_OK);
    assert_int_equal(ms_analysis_write(analysis, "yaml", stdout, &err), MS_ERR_USAGE);
    assert_int_equal(err.status, MS_ERR_USAGE);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(ms_analysis_write(analysis, "csv", full, NULL), MS_ERR_IO);
    fclose(full);
    assert_int_equal(ms_analysis_write(NULL, "csv", stdout, NULL), MS_ERR_USAGE);
    ms_analysis_free(analysis);
    ms_analysis_free(NULL);
    ms_run_free(NULL);
}

static void check_unrolled_twice(void **state)
{
    (void)state;
    ms_error err = {0};
    ms_analysis *analysis = analyze(&err);
    uint64_t peak_bytes = ms_analysis_summary(analysis)->peak_memory_bytes;
    assert_int_equal(ms_analysis_unroll(analysis, &err), MS_OK);
    assert_int_equal(ms_analysis_unroll(analysis, &err), MS_OK);
    assert_int_equal(ms_analysis_summary(analysis)->peak_memory_bytes, peak_bytes);
    ms_analysis_free(analysis);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(gib_cases) + COUNT_OF(share_cases) + 3];
    size_t count = ADD_ROWS(tests, check_gib, gib_cases);
    count += ADD_ROWS(tests + count, check_share, share_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_formats);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_errors);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_unrolled_twice);
    return _cmocka_run_group_tests("report", tests, count, NULL, NULL);
}
