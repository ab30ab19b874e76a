/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures for people: bytes become GiB and shares without a detour through floating point.
 */
#include "unit/support.h"

#include <math.h>

#include "memscope/memscope.h"
#include "report/pictures/picture.h"
#include "report/kit/pickle.h"
#include "report/pictures/treemap.h"
#include "report/view/view.h"

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

typedef struct bytes_case {
    const char *label;
    uint64_t bytes;
    const char *text;
} bytes_case;

static const bytes_case bytes_cases[] = {
    {"no bytes", 0, "0 B"},
    {"below a KiB", 1023, "1023 B"},
    {"a KiB", 1024, "1.00 KiB"},
    {"just below a MiB", (1 << 20) - 1, "1024.00 KiB"},
    {"a MiB and a half", 3 << 19, "1.50 MiB"},
    {"a GiB in units", GIB, "1.00 GiB"},
    {"all 64 bits in units", UINT64_MAX, "17179869184.00 GiB"},
};

static void check_bytes(void **state)
{
    const bytes_case *c = *state;
    char text[MS_BYTES_TEXT];
    assert_string_equal(ms_bytes_text(c->bytes, text), c->text);
}

typedef struct treemap_case {
    const char *label;
    uint32_t count;
    double sizes[8]; /* of a frame of 60 by 40 */
} treemap_case;

static const treemap_case treemap_cases[] = {
    {"one area", 1, {2400}},
    {"two halves", 2, {1200, 1200}},
    {"six, as published", 7, {600, 600, 400, 300, 200, 200, 100}},
    {"one large, many small", 8, {2330, 10, 10, 10, 10, 10, 10, 10}},
    {"some of nothing", 4, {2000, 400, 0, 0}},
};

/* Areas keep their sizes, stay within the frame and meet nowhere. */
static void check_treemap(void **state)
{
    const treemap_case *c = *state;
    const ms_rectangle frame = {10, 20, 60, 40};
    ms_rectangle f[8];
    const double slack = 1e-6;
    ms_treemap(c->sizes, c->count, frame, f);
    for (uint32_t i = 0; i < c->count; i++) {
        assert_true(fabs(f[i].width * f[i].height - c->sizes[i]) < slack);
        assert_true(f[i].x > frame.x - slack && f[i].x + f[i].width < 70 + slack);
        assert_true(f[i].y > frame.y - slack && f[i].y + f[i].height < 60 + slack);
        for (uint32_t k = 0; k < i; k++) {
            double across = fmin(f[i].x + f[i].width, f[k].x + f[k].width) - fmax(f[i].x, f[k].x);
            double down = fmin(f[i].y + f[i].height, f[k].y + f[k].height) - fmax(f[i].y, f[k].y);
            assert_true(across < slack || down < slack);
        }
    }
}

typedef struct text_case {
    const char *label, *text, *written;
} text_case;

static const text_case text_cases[] = {
    {"plain text", "a-b_c.9", "a-b_c.9"},
    {"what XML has for itself", "<b a=\"1\" c='2'>&",
     "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;"},
    {"control characters", "a\001\033[31m\177b", "a\\x01\\x1b[31m\\x7fb"},
    {"not UTF-8", "a\xff\xc3z\xe2\x82", "a\\xff\\xc3z\\xe2\\x82"},
    {"other letters", "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac"},
};

static void check_text(void **state)
{
    const text_case *c = *state;
    char text[200] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    ms_xml_text(out, c->text);
    fclose(out);
    assert_string_equal(text, c->written);
}

typedef struct pickle_case {
    const char *label;
    uint64_t value;
    size_t length;
    const char *bytes;
} pickle_case;

static const pickle_case pickle_cases[] = {
    {"a byte of pickle", 255, 2, "K\xff"},
    {"two bytes of pickle", 256, 3, "M\x00\x01"},
    {"four bytes of pickle", 65536, 5, "J\x00\x00\x01\x00"},
    {"the largest of four", INT32_MAX, 5, "J\xff\xff\xff\x7f"},
    {"past four bytes", UINT64_C(1) << 31, 10, "\x8a\x08\x00\x00\x00\x80\x00\x00\x00\x00"},
    {"no sign in the eighth", INT64_MAX, 10, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"},
    {"a ninth byte", UINT64_MAX, 11, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"},
};

static void check_pickle(void **state)
{
    const pickle_case *c = *state;
    char bytes[32];
    FILE *out = fmemopen(bytes, sizeof bytes, "w");
    assert_non_null(out);
    ms_pickle p = {.out = out};
    ms_pickle_uint(&p, c->value);
    assert_int_equal(ftell(out), c->length);
    fclose(out);
    assert_memory_equal(bytes, c->bytes, c->length);
}

/* A text's length is that of what is written, also where a byte is replaced. */
static void check_pickle_text(void **state)
{
    (void)state;
    char bytes[32];
    FILE *out = fmemopen(bytes, sizeof bytes, "w");
    assert_non_null(out);
    ms_pickle p = {.out = out};
    ms_pickle_text(&p, "a\xff");
    assert_int_equal(ftell(out), 6);
    fclose(out);
    assert_memory_equal(bytes,
                        "\x8c\x04"
                        "a\xef\xbf\xbd",
                        6);
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
    assert_true(count > 0);
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
    struct CMUnitTest tests[COUNT_OF(gib_cases) + COUNT_OF(share_cases) + COUNT_OF(bytes_cases) +
                            COUNT_OF(treemap_cases) + COUNT_OF(text_cases) +
                            COUNT_OF(pickle_cases) + 4];
    size_t count = ADD_ROWS(tests, check_gib, gib_cases);
    count += ADD_ROWS(tests + count, check_share, share_cases);
    count += ADD_ROWS(tests + count, check_bytes, bytes_cases);
    count += ADD_ROWS(tests + count, check_treemap, treemap_cases);
    count += ADD_ROWS(tests + count, check_text, text_cases);
    count += ADD_ROWS(tests + count, check_pickle, pickle_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_pickle_text);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_formats);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_errors);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_unrolled_twice);
    return _cmocka_run_group_tests("report", tests, count, NULL, NULL);
}
