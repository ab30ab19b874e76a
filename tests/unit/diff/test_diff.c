/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports are read as what they say, and compared; figures of the small ones are worked out by
 * hand.
 */
#include "unit/support.h"

#include <string.h>

#include "decide/diff/diff.h"

#define HEAD "{\"schema_version\":\"1.0\",\"metadata\":{},\"summary\":{"
#define FIGURES                                                                                    \
    "\"peak_memory_bytes\":9,\"reserved_memory_bytes\":9,\"host_memory_bytes\":0,"                 \
    "\"low_device_bytes\":9,\"expected_device_bytes\":9,\"high_device_bytes\":9},"
#define PEAK "\"peak\":{\"categories\":[],\"layers\":[]},\"phases\":[],"

typedef struct reading {
    ms_arena *arena;
    ms_json *document;
    ms_report report;
    ms_error err;
    ms_status status;
} reading;

static reading read_text(const char *text)
{
    reading r = {.arena = ms_arena_create(0)};
    const ms_json_source source = {"r.json", text, strlen(text)};
    assert_int_equal(ms_json_parse(&source, &r.document, &r.err), MS_OK);
    r.status = ms_report_read(r.arena, ms_json_root(r.document), &r.report, &r.err);
    return r;
}

static void drop(reading *r)
{
    ms_json_free(r->document);
    ms_arena_free(r->arena);
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *label, *text, *pointer, *message;
} refusal;

static void check_refusal(void **state)
{
    const refusal *c = *state;
    reading r = read_text(c->text);
    assert_int_not_equal(r.status, MS_OK);
    assert_string_equal(r.err.pointer, c->pointer);
    assert_non_null(strstr(r.err.text, c->message));
    drop(&r);
}

static const refusal refusals[] = {
    {"no object", "[]", "", "expected"},
    {"no version", "{\"metadata\":{}}", "", "schema_version"},
    {"newer", "{\"schema_version\":\"2.0\",\"metadata\":{}}", "/schema_version",
     "version 2.0 is newer"},
    {"much newer", "{\"schema_version\":\"10.1\"}", "/schema_version", "version 10.1 is newer"},
    {"before the first", "{\"schema_version\":\"0.9\"}", "/schema_version", "0.9 is not supported"},
    {"no minor", "{\"schema_version\":\"1\"}", "/schema_version", "not a schema version"},
    {"a letter", "{\"schema_version\":\"1.x\"}", "/schema_version", "not a schema version"},
    {"a number", "{\"schema_version\":1.0}", "/schema_version", "expected"},
    {"no metadata", "{\"schema_version\":\"1.0\"}", "", "metadata"},
    {"no summary", "{\"schema_version\":\"1.0\",\"metadata\":{}}", "", "summary"},
    {"a negative figure", HEAD "\"peak_memory_bytes\":-1}}", "/summary/peak_memory_bytes", ""},
    {"a fraction", HEAD "\"peak_memory_bytes\":1.5}}", "/summary/peak_memory_bytes", ""},
    {"no operators", HEAD FIGURES PEAK "\"x\":1}", "", "operators"},
    {"an operator without a name", HEAD FIGURES PEAK "\"operators\":[{}]}", "/operators/0", ""},
};

/* ---- what operators come to ---- */

typedef struct folding {
    const char *label, *operators, *name, *where;
    uint64_t bytes;
    uint32_t count; /* of rows */
} folding;

static void check_folding(void **state)
{
    const folding *c = *state;
    char text[2048];
    snprintf(text, sizeof text, HEAD FIGURES PEAK "\"operators\":[%s]}", c->operators);
    reading r = read_text(text);
    assert_int_equal(r.status, MS_OK);
    assert_int_equal(r.report.operators.count, c->count);
    assert_string_equal(r.report.operators.items[0].name, c->name);
    assert_string_equal(r.report.operators.items[0].where, c->where);
    assert_int_equal(r.report.operators.items[0].bytes, c->bytes);
    drop(&r);
}

#define OP(name, phase, memory, extra)                                                             \
    "{\"name\":\"" name "\",\"phase\":\"" phase "\",\"memory_bytes\":" memory                      \
    ",\"persistent\":false,\"extra\":{" extra "}}"
#define WEIGHT(memory, extra)                                                                      \
    "{\"name\":\"w\",\"phase\":\"build\",\"memory_bytes\":" memory                                 \
    ",\"persistent\":true,\"extra\":{" extra "}}"

/* clang-format off */
static const folding foldings[] = {
    /* 40 saved in each of 3 layers; 50 - 40 made and 5 held beside it once */
    {"layers that are alike", OP("l.*.mm", "forward", "50", "\"layers\":\"0-2\",\"saved_bytes\":40,\"temporary_bytes\":5"), "l.*.mm", "forward", 135, 1},
    /* and 30 saved in a layer on its own, which holds nothing else */
    {"and one on its own", OP("l.*.mm", "forward", "50", "\"layers\":\"0,2\",\"saved_bytes\":40") "," OP("l.13.mm", "forward", "30", "\"layers\":\"13\",\"saved_bytes\":30"), "l.*.mm", "forward", 120, 1},
    {"a number that is no layer", OP("e.5.mm", "forward", "7", "\"layers\":\"3\""), "e.5.mm", "forward", 7, 1},
    {"the layer, not its start", OP("e.31.3.mm", "forward", "7", "\"layers\":\"3\""), "e.31.*.mm", "forward", 7, 1},
    {"computed again", OP("mm", "backward", "7", "\"pass\":\"recompute\""), "mm", "recompute", 7, 1},
    {"two phases", OP("mm", "backward", "7", "") "," OP("mm", "forward", "9", ""), "mm", "backward", 7, 2},
    {"weights", WEIGHT("100", "\"count\":4,\"layers\":\"0-3\""), "w", "build", 400, 1},
    {"more than there can be", WEIGHT("18446744073709551615", "\"count\":4"), "w", "build", UINT64_MAX, 1},
    {"an escape", OP("a\\u001b[1m", "forward", "1", ""), "a?[1m", "forward", 1, 1},
};
/* clang-format on */

/* ---- what two differ in ---- */

static const ms_report_part was[] = {
    {"gone", "", 5}, {"same", "", 7}, {"less", "", 100}, {"more", "", 10}};
static const ms_report_part is[] = {
    {"more", "", 60}, {"less", "", 20}, {"new", "", 50}, {"same", "", 7}};

static void test_order(void **state)
{
    (void)state;
    const ms_report a = {.is_plan = true, .categories = {was, 4}};
    const ms_report b = {.is_plan = true, .categories = {is, 4}};
    static const struct row {
        const char *name;
        ms_diff_kind change;
    } expected[] = {{"less", MS_DIFF_CHANGED},
                    {"more", MS_DIFF_CHANGED}, /* 50, as the next: by name */
                    {"new", MS_DIFF_NEW},
                    {"gone", MS_DIFF_GONE}};
    ms_arena *arena = ms_arena_create(0);
    ms_diff diff;
    ms_error err = {0};
    assert_int_equal(ms_diff_make(arena, &a, &b, &diff, &err), MS_OK);
    assert_int_equal(diff.tables[MS_DIFF_CATEGORIES].count, COUNT_OF(expected));
    for (uint32_t i = 0; i < COUNT_OF(expected); i++) {
        assert_string_equal(diff.tables[MS_DIFF_CATEGORIES].items[i].name, expected[i].name);
        assert_int_equal(diff.tables[MS_DIFF_CATEGORIES].items[i].change, expected[i].change);
    }
    assert_false(diff.is_same);
    ms_arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(refusals) + COUNT_OF(foldings) + 1];
    size_t count = ADD_ROWS(tests, check_refusal, refusals);
    count += ADD_ROWS(tests + count, check_folding, foldings);
    tests[count] = (struct CMUnitTest){"order", test_order, NULL, NULL, NULL};
    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
