/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two reports side by side; what they differ by is worked out by hand.
 */
#include "unit/support.h"

#include <math.h>
#include <string.h>

#include "unit/pairs.h"

#define STATIC                                                                                     \
    "{\"schema_version\":\"1.3\",\"metadata\":{\"mode\":\"train\",\"device_title\":\"A\","         \
    "\"torch\":\"2.11\"},\"summary\":{\"start_bytes\":100,\"peak_memory_bytes\":10000,"            \
    "\"reserved_memory_bytes\":20000,\"allocator_retries\":0,\"peak_stage\":\"forward\"},"
#define RUNTIME(mode, peak, reserved)                                                              \
    "{\"schema_version\":\"1.0\",\"outcome\":\"stepped\",\"message\":null,\"metadata\":{"          \
    "\"mode\":\"" mode "\",\"device_title\":\"A\",\"torch\":\"2.11.0+cu130\",\"steps\":3},"        \
    "\"summary\":{\"start_bytes\":100,\"peak_memory_bytes\":" peak                                 \
    ",\"reserved_memory_bytes\":" reserved ",\"allocator_retries\":0,\"peak_stage\":\"forward\"},"
#define NOTHING "\"x\":0}"
#define PHASE(name, step, repeats, peak)                                                           \
    "{\"phase\":\"" name "\",\"micro_step\":" step ",\"repeats\":" repeats                         \
    ",\"start_bytes\":0,\"peak_bytes\":" peak ",\"end_bytes\":0,\"peak_reserved_bytes\":0}"
#define LEVELS(events, stride, bytes)                                                              \
    "\"levels\":{\"events\":" events ",\"stride\":" stride                                         \
    ",\"phases\":[{\"phase\":\"forward\",\"event\":0},{\"phase\":\"backward\",\"event\":4}],"      \
    "\"bytes\":[" bytes "]}}"

/* ---- verdicts ---- */

typedef struct verdict_case {
    const char *label, *first, *second, *words;
    int64_t residual;
    bool is_equal, is_near;
} verdict_case;

static void check_verdict(void **state)
{
    const verdict_case *c = *state;
    pair *p = compare(c->first, c->second);
    assert_non_null(strstr(p->view.verdict, c->words));
    assert_true(p->view.residual == c->residual);
    assert_int_equal(p->view.is_equal, c->is_equal);
    assert_int_equal(p->view.is_near, c->is_near);
    drop(p);
}

static const verdict_case verdicts[] = {
    {"equal", STATIC NOTHING, RUNTIME("null", "10000", "20000") NOTHING, "Equal to the byte", 0,
     true, true},
    {"equal but for reserved", STATIC NOTHING, RUNTIME("null", "10000", "20512") NOTHING,
     "reserved memory differs by +512 B", 0, false, true},
    {"above", STATIC NOTHING, RUNTIME("cuda", "11024", "20000") NOTHING,
     "The GPU is 10.24 % (1.00 KiB) above the prediction", 1024, false, false},
    {"below, the other way round", RUNTIME("null", "10000", "1") NOTHING, STATIC NOTHING,
     "reserved memory differs by +19.53 KiB", 0, false, true},
    {"two of a kind", RUNTIME("null", "10000", "1") NOTHING, RUNTIME("null", "9960", "1") NOTHING,
     "The second is 0.40 % (40 B) below the first", -40, false, true},
    {"half a percent is not near", STATIC NOTHING, RUNTIME("null", "10050", "20000") NOTHING,
     "0.50 % (50 B) above", 50, false, false},
};

/* ---- phases ---- */

static void phases_by_micro_step(void **state)
{
    (void)state;
    pair *p = compare(
        STATIC "\"phases\":[" PHASE("forward", "0", "1", "5") "," PHASE(
            "forward", "1", "2", "7") "," PHASE("clip", "0", "1", "3") "]}",
        RUNTIME("null", "10000", "20000") "\"phases\":[" PHASE("forward", "0", "1", "5") "," PHASE(
            "forward", "1", "1", "7") "," PHASE("forward", "2", "1", "9") "," PHASE("between", "0",
                                                                                    "1", "4") "]}");
    const ms_compare_rows *rows = &p->view.tables[MS_COMPARE_PHASES];
    assert_int_equal(rows->count, 5);
    assert_true(rows->items[0].residual == 0 && rows->items[1].residual == 0);
    assert_true(rows->items[2].residual == 2); /* the second of those that the static row means */
    assert_int_equal(rows->items[2].first_bytes, 7);
    assert_false(rows->items[3].is_known); /* between: the program's own */
    assert_false(rows->items[3].has_first);
    assert_string_equal(rows->items[4].name, "clip");
    assert_false(rows->items[4].is_known || rows->items[4].has_second);
    assert_true(isnan(rows->items[0].of_residual));
    drop(p);
}

/* ---- categories and modules ---- */

static const ms_compare_row *row_of(const pair *p, ms_compare_table table, const char *name)
{
    for (uint32_t i = 0; i < p->view.tables[table].count; i++)
        if (strcmp(p->view.tables[table].items[i].name, name) == 0)
            return &p->view.tables[table].items[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void categories_are_brought_together(void **state)
{
    (void)state;
    pair *p = compare(
        STATIC "\"peak\":{\"categories\":["
               "{\"category\":\"input\",\"count\":1,\"bytes\":512,\"rounded_bytes\":512},"
               "{\"category\":\"workspace\",\"count\":1,\"bytes\":1024,\"rounded_bytes\":1024},"
               "{\"category\":\"activation\",\"count\":3,\"bytes\":5000,\"rounded_bytes\":4000}]}}",
        RUNTIME("null", "10600", "20000") "\"peak\":{\"categories\":["
                                          "{\"category\":\"input\",\"count\":2,\"bytes\":1636},"
                                          "{\"category\":\"activation\",\"count\":3,\"bytes\":4300}"
                                          ",{\"category\":\"rounding\",\"count\":0,\"bytes\":1200}"
                                          "]}}");
    assert_int_equal(p->view.tables[MS_COMPARE_CATEGORIES].count, 3);
    assert_true(row_of(p, MS_COMPARE_CATEGORIES, "input")->residual == 100);
    assert_true(row_of(p, MS_COMPARE_CATEGORIES, "rounding")->residual == 200);
    const ms_compare_row *activation = row_of(p, MS_COMPARE_CATEGORIES, "activation");
    assert_true(activation->residual == 300);
    assert_true(fabs(activation->of_residual - 0.5) < 1e-12);
    assert_true(fabs(activation->of_peak - 0.03) < 1e-12);
    assert_ptr_equal(p->view.cause, activation);
    assert_non_null(strstr(p->view.why, "Largest cause: activation, +300 B (50 % of the"));
    assert_null(p->view.module);
    drop(p);
}

#define ZEROES ",\"saved_bytes\":0,\"most_temporary_bytes\":0"

static void modules_are_folded(void **state)
{
    (void)state;
    pair *p =
        compare(STATIC "\"modules\":["
                       "{\"module\":\"model.layers.*.mlp\",\"count\":2,\"peak_bytes\":900,"
                       "\"peak_rounded_bytes\":800},"
                       "{\"module\":\"lm_head\",\"count\":1,\"peak_bytes\":50}]}",
                RUNTIME("null", "10600", "20000") "\"modules\":["
                                                  "{\"module\":\"model.layers.0.mlp\","
                                                  "\"peak_bytes\":400" ZEROES "},"
                                                  "{\"module\":\"model.layers.1.mlp\","
                                                  "\"peak_bytes\":700" ZEROES "},"
                                                  "{\"module\":\"\",\"peak_bytes\":10" ZEROES "},"
                                                  "{\"module\":\"lm_head\","
                                                  "\"peak_bytes\":50" ZEROES "}]}");
    const ms_compare_rows *rows = &p->view.tables[MS_COMPARE_MODULES];
    assert_int_equal(rows->count, 3);
    assert_string_equal(rows->items[0].name, "model.layers.*.mlp");
    assert_true(rows->items[0].residual == 300); /* 1100 less what is told without ends of blocks */
    assert_string_equal(rows->items[1].name, "(no module)");
    assert_true(rows->items[1].residual == 10);
    assert_false(rows->items[1].has_first);
    assert_ptr_equal(p->view.module, &rows->items[0]);
    drop(p);
}

/* ---- where they part ---- */

typedef struct parting_case {
    const char *label, *first, *second;
    bool is_known, has_parted;
    int64_t from_start;
    uint64_t same_event, event;
    const char *phase;
} parting_case;

static void check_parting(void **state)
{
    const parting_case *c = *state;
    pair *p = compare(c->first, c->second);
    const ms_compare_parting *found = &p->view.parting;
    assert_int_equal(found->is_known, c->is_known);
    assert_int_equal(found->has_parted, c->has_parted);
    assert_true(found->from_start == c->from_start);
    assert_int_equal(found->same_event, c->same_event);
    assert_int_equal(found->event, c->event);
    assert_string_equal(found->phase, c->phase);
    drop(p);
}

#define MEASURED RUNTIME("null", "10000", "20000")
static const parting_case partings[] = {
    {"not told", STATIC NOTHING, MEASURED NOTHING, false, false, 0, 0, 0, ""},
    {"equal", STATIC LEVELS("3", "1", "1,2,3,4"), MEASURED LEVELS("3", "1", "1,2,3,4"), true, false,
     0, 3, 0, ""},
    {"at the third event", STATIC LEVELS("3", "1", "1,2,3,4"), MEASURED LEVELS("3", "1", "1,2,3,5"),
     true, true, 0, 2, 3, "forward"},
    {"other strides", STATIC LEVELS("8", "2", "1,3,5,7,9"), MEASURED LEVELS("8", "4", "1,5,8"),
     true, true, 0, 4, 8, "backward"},
    {"a difference from the start is none", STATIC LEVELS("2", "1", "1,2,3"),
     MEASURED LEVELS("2", "1", "11,12,13"), true, false, 10, 2, 0, ""},
    {"a difference that changes", STATIC LEVELS("2", "1", "1,2,3"),
     MEASURED LEVELS("2", "1", "11,12,3"), true, true, 10, 1, 2, "forward"},
    {"points of a timeline", STATIC LEVELS("4", "1", "1,2,3,4,5"),
     MEASURED "\"timeline\":[{\"event\":0,\"phase\":\"forward\",\"bytes\":1},"
              "{\"event\":3,\"phase\":\"backward\",\"bytes\":9}]}",
     true, true, 0, 0, 3, "backward"},
};

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
    {"a stride of 0", STATIC LEVELS("2", "0", "1"), "/levels/stride"},
    {"a level that is no count", STATIC LEVELS("2", "1", "1,-2"), "/levels/bytes/1"},
    {"levels that are no object", STATIC "\"levels\":1}", "/levels"},
    {"a module without bytes", STATIC "\"modules\":[{\"module\":\"x\"}]}", "/modules/0"},
    {"an input without a shape",
     RUNTIME("null", "1", "1") "\"step\":{\"inputs\":[{\"name\":\"x\"}]}}", "/step/inputs/0"},
    {"a size that is no count",
     RUNTIME("null", "1", "1") "\"step\":{\"inputs\":[{\"shape\":[1,-1]}]}}",
     "/step/inputs/0/shape/1"},
    {"more rounded than there is",
     STATIC "\"modules\":[{\"module\":\"x\",\"peak_bytes\":1,\"peak_rounded_bytes\":2}]}",
     "/modules/0/peak_rounded_bytes"},
};

int main(void)
{
    enum { OTHERS = 3 };
    struct CMUnitTest tests[COUNT_OF(verdicts) + COUNT_OF(partings) + COUNT_OF(refusals) + OTHERS] =
        {cmocka_unit_test(phases_by_micro_step), cmocka_unit_test(categories_are_brought_together),
         cmocka_unit_test(modules_are_folded)};
    size_t count = OTHERS;
    count += ADD_ROWS(tests + count, check_verdict, verdicts);
    count += ADD_ROWS(tests + count, check_parting, partings);
    count += ADD_ROWS(tests + count, check_refusal, refusals);
    return _cmocka_run_group_tests("compare", tests, count, NULL, NULL);
}
