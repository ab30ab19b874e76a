/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Points whose truth is known give it back; few, bad or contradicting ones are refused or told.
 */
#include "unit/support.h"

#include <math.h>
#include <string.h>

#include "decide/calibrate/regression.h"
#include "unit/planted.h"

static const ms_device h100 = {.name = "h100-80gb", .context_expected_bytes = 512 << 20};

/* ---- least squares ---- */

typedef struct least_case {
    const char *label;
    ms_least_row rows[4];
    uint32_t count, wanted;
    double expected[MS_LEAST_COLUMNS];
    bool tells_apart;
} least_case;

static void check_least(void **state)
{
    const least_case *c = *state;
    double found[MS_LEAST_COLUMNS];
    ms_least_solve(c->rows, c->count, UINT32_MAX, c->wanted, found);
    for (int i = 0; i < MS_LEAST_COLUMNS; i++)
        assert_true(fabs(found[i] - c->expected[i]) < 1e-9);
    assert_int_equal(ms_least_tells_apart(c->rows, c->count, c->wanted), c->tells_apart);
}

static const least_case leasts[] = {
    {"exact", {{{1, 2}, 8}, {{1, 3}, 11}, {{1, 5}, 17}}, 3, 3, {2, 3}, true},
    {"three columns", {{{1, 0, 0}, 1}, {{0, 2, 0}, 4}, {{0, 0, 4}, 12}}, 3, 7, {1, 2, 3}, true},
    {"nothing is wanted", {{{1, 2}, 8}}, 1, 0, {0}, true},
    {"negative ones are 0", {{{1, 0}, -1}, {{0, 1}, 2}}, 2, 3, {0, 2}, true},
    {"all negative", {{{1, 0}, -1}, {{0, 1}, -2}}, 2, 3, {0}, true},
    /* The free best is (3, -1): without the second column 4*1 + 1*2 over 5. */
    {"the best within the bound", {{{2, 1}, 5}, {{1, 1}, 2}}, 2, 3, {12.0 / 5}, true},
    {"one column twice", {{{1, 1}, 2}, {{2, 2}, 4}}, 2, 3, {2}, false},
};

/* ---- planted truths ---- */

enum { COPY_MS = 2 };

static void near(const ms_fitted *fitted, double expected, double tolerance)
{
    assert_int_equal(fitted->points, POINTS);
    assert_true(fabs(fitted->value - expected) <= tolerance);
    assert_true(fitted->low <= fitted->value && fitted->value <= fitted->high);
}

static void recovers(void **state)
{
    const truth *t = *state;
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    plant(t, COPY_MS, &points);
    assert_int_equal(ms_calibration_fit(arena, &points, &h100, &r, &err), MS_OK);
    const ms_fitted *p = r.calibration.parameters;
    near(&p[MS_PARAMETER_WORKSPACE], t->workspace, 1024);
    near(&p[MS_PARAMETER_MARGIN], t->margin, 1e-7);
    near(&p[MS_PARAMETER_CONTEXT], t->context, 1024);
    near(&p[MS_PARAMETER_PRODUCT], t->product, 1e-6);
    near(&p[MS_PARAMETER_ATTENTION], t->attention, 1e-6);
    near(&p[MS_PARAMETER_OTHER], t->other, 1e-6);
    assert_int_equal(r.quality_count, 3);
    for (uint32_t i = 0; i < r.quality_count; i++) {
        assert_true(r.qualities[i].after.worst < 1e-6);
        assert_true(r.qualities[i].held_out.worst < 1e-6);
        assert_true(r.qualities[i].before.mean >= r.qualities[i].after.mean);
    }
    assert_int_equal(r.note_count, 0);
    ms_arena_free(arena);
    ms_vec_free(&points);
}

static const truth truths[] = {
    {"nothing to correct", 0, 0, 512 * 1048576.0, 1, 1, 1},
    {"everything", 200 * 1048576.0, 0.03, 487 * 1048576.0, 1.6, 2.25, 1.2},
    {"workspaces alone", 96 * 1048576.0, 0, 700 * 1048576.0, 1, 4, 1},
    {"margin alone", 0, 0.125, 300 * 1048576.0, 1.3, 1.3, 1.3},
};

/* A steady point and one that contradicts it: what is left out shows what is fitted does not. */
static void left_out_is_honest(void **state)
{
    (void)state;
    const truth t = {"x", 0, 0, 500 * mib, 1.5, 2, 1};
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    plant(&t, COPY_MS, &points);
    points.items[4].measured_ms *= 1.5;
    assert_int_equal(ms_calibration_fit(arena, &points, &h100, &r, &err), MS_OK);
    const ms_calibration_quality *times = &r.qualities[2];
    assert_string_equal(times->figure, "step_time_ms");
    assert_true(times->held_out.worst > times->after.worst);
    assert_true(times->held_out.mean > times->after.mean && times->after.mean > 0.01);
    ms_arena_free(arena);
    ms_vec_free(&points);
}

/* Only the last point shows the reserved memory of large steps: without it there is no margin, and
 * the figure of its device is predicted without one. */
static void left_out_of_the_device_too(void **state)
{
    (void)state;
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    for (int i = 0; i < 5; i++) {
        double told = (10.0 + i) * gib, measured = i == 4 ? told * 1.5 : told;
        ms_measured_point point = {.name = "x",
                                   .device = "h100-80gb",
                                   .predicted_reserved = told,
                                   .measured_reserved = measured,
                                   .measured_device = measured + 500 * mib};
        assert_true(ms_vec_push(&points, point));
    }
    assert_int_equal(ms_calibration_fit(arena, &points, &h100, &r, &err), MS_OK);
    const ms_calibration_quality *shown = &r.qualities[1];
    assert_string_equal(shown->figure, "expected_device_bytes");
    double measured = 21 * gib + 500 * mib, told = 14 * gib + 500 * mib;
    assert_true(fabs(shown->held_out.worst - (measured - told) / measured) < 1e-9);
    ms_arena_free(arena);
    ms_vec_free(&points);
}

/* ---- what is not fitted ---- */

typedef struct change_case {
    const char *label;
    void (*change)(ms_measured_points *points);
    ms_parameter_kind missing; /* MS_PARAMETER_COUNT: none */
    const char *note;          /* NULL: the fit fails with `message` */
    const char *message;
} change_case;

static void keep_three(ms_measured_points *points)
{
    points->count = 3;
}

static void keep_two(ms_measured_points *points)
{
    points->count = 2;
}

static void like_shares(ms_measured_points *points)
{
    for (uint32_t i = 0; i < points->count; i++) {
        ms_measured_point *p = &points->items[i];
        p->predicted_ms[MS_OP_ATTENTION] = p->predicted_ms[MS_OP_OTHER] =
            p->predicted_ms[MS_OP_PRODUCT] / 2;
        p->measured_ms = 3 * p->predicted_ms[MS_OP_PRODUCT] + 2;
    }
}

static void one_size(ms_measured_points *points)
{
    for (uint32_t i = 0; i < points->count; i++) {
        ms_measured_point *p = &points->items[i];
        p->predicted_reserved = 10 * gib;
        p->measured_reserved = 11 * gib;
        p->measured_device = 12 * gib;
    }
}

static void shows_less(ms_measured_points *points)
{
    points->items[1].measured_device = gib;
}

static void shows_less_than_told(ms_measured_points *points)
{
    points->items[1].measured_reserved = 0;
    points->items[1].measured_device = gib;
}

static void no_attention(ms_measured_points *points)
{
    for (uint32_t i = 0; i < points->count; i++)
        points->items[i].predicted_ms[MS_OP_ATTENTION] = 0;
}

static void check_change(void **state)
{
    const change_case *c = *state;
    const truth t = {"x", 100 * mib, 0.02, 500 * mib, 1.5, 2, 1.25};
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    plant(&t, COPY_MS, &points);
    c->change(&points);
    ms_status status = ms_calibration_fit(arena, &points, &h100, &r, &err);
    bool is_known = !c->note || !*c->note;
    if (c->message) {
        assert_int_equal(status, MS_ERR_CONFIG);
        assert_non_null(strstr(err.text, c->message));
    } else {
        assert_int_equal(status, MS_OK);
        if (c->missing < MS_PARAMETER_COUNT)
            assert_int_equal(r.calibration.parameters[c->missing].points, 0);
        for (uint32_t i = 0; i < r.note_count; i++)
            is_known = is_known || strstr(r.notes[i], c->note);
        assert_true(is_known);
    }
    ms_arena_free(arena);
    ms_vec_free(&points);
}

static const change_case changes[] = {
    {"three points tell the context", keep_three, MS_PARAMETER_MARGIN,
     "reserved memory: 3 points, and 4 are needed", NULL},
    {"two tell nothing", keep_two, MS_PARAMETER_COUNT, NULL, "too few points to fit anything"},
    {"one factor for classes in like shares", like_shares, MS_PARAMETER_COUNT,
     "one factor is fitted for all", NULL},
    {"all of one size", one_size, MS_PARAMETER_WORKSPACE, "all points have one size", NULL},
    {"less on the device than is reserved", shows_less, MS_PARAMETER_COUNT, NULL,
     "shows less than its reserved memory"},
    {"less on the device than is told to be reserved", shows_less_than_told, MS_PARAMETER_COUNT,
     "the context: without 1 point", NULL},
    {"a class that no point has", no_attention, MS_PARAMETER_ATTENTION, "", NULL},
};

/* ---- tables ---- */

typedef struct table_case {
    const char *label, *text, *message; /* NULL: it is read */
    uint32_t line, count;
} table_case;

static void check_table(void **state)
{
    const table_case *c = *state;
    ms_measured_points points = {0};
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    char *text = ms_arena_strdup(arena, c->text);
    ms_status status = ms_measured_points_read(arena, "p.csv", text, &points, &err);
    assert_int_equal(status, c->message ? MS_ERR_CONFIG : MS_OK);
    if (c->message) {
        assert_non_null(strstr(err.text, c->message));
        assert_string_equal(err.file, "p.csv");
        assert_int_equal(err.line, c->line);
    } else {
        assert_int_equal(points.count, c->count);
    }
    ms_vec_free(&points);
    ms_arena_free(arena);
}

static const table_case tables[] = {
    {"nothing", "", NULL, 0, 0},
    {"a head alone", "name,device\n", NULL, 0, 0},
    {"columns in any order", "device,name,measured_ms\r\na,b,1.5\r\n\r\na,\"c,d\",\r\n", NULL, 0,
     2},
    {"an unknown column", "name,devize\n", "column: found 'devize', expected one of name, device,",
     1, 0},
    {"all columns are listed", "devize\n", "host_link_gb_per_s, peer_link_gb_per_s", 1, 0},
    {"a column twice", "name,name\n", "each name only once", 1, 0},
    {"a word", "name,measured_ms\na,b\n", "measured_ms: found 'b'", 2, 0},
    {"a negative number", "measured_ms\n-1\n", "found '-1'", 2, 0},
    {"no finite number", "measured_ms\n1e999\n", "found '1e999'", 2, 0},
    {"nan", "measured_ms\nnan\n", "found 'nan'", 2, 0},
    {"a value short", "name,measured_ms\n\na\n", "as many values as columns", 3, 0},
    {"a value more", "name\na,b\n", "more values than columns", 2, 0},
    {"open quotes", "name\n\"a\n", "quotes", 2, 0},
};

static void devices_differ(void **state)
{
    (void)state;
    ms_measured_points points = {0};
    ms_error err = {0};
    const char *name;
    assert_true(ms_vec_push(&points, ((ms_measured_point){.name = "a", .device = "t4"})));
    assert_true(ms_vec_push(&points, ((ms_measured_point){.name = "b", .device = "a10"})));
    assert_int_equal(ms_calibration_device(&points, &name, &err), MS_ERR_CONFIG);
    assert_non_null(strstr(err.text, "b: the points are from t4 and a10"));
    points.items[1].name = "";
    points.items[1].file = "p.csv";
    points.items[1].line = 3;
    err = (ms_error){0};
    assert_int_equal(ms_calibration_device(&points, &name, &err), MS_ERR_CONFIG);
    assert_string_equal(err.text,
                        "the points are from t4 and a10: a calibration is for one device");
    assert_string_equal(err.file, "p.csv");
    assert_int_equal(err.line, 3);
    points.items[1].device = "";
    err = (ms_error){0};
    assert_int_equal(ms_calibration_device(&points, &name, &err), MS_ERR_CONFIG);
    assert_non_null(strstr(err.text, "its device is not given"));
    ms_vec_free(&points);
}

/* ---- calibration.json ---- */

#define FILE_OF(parameters)                                                                        \
    "{\"schema_version\":\"1.0\",\"device\":\"t4\",\"points\":5,\"parameters\":{" parameters "}}"
#define VALUE(name, value, low, high)                                                              \
    "\"" name "\":{\"value\":" value ",\"low\":" low ",\"high\":" high ",\"points\":5}"

typedef struct file_case {
    const char *label, *text, *pointer; /* NULL: it is read */
} file_case;

static void check_file(void **state)
{
    const file_case *c = *state;
    ms_json *document = NULL;
    ms_calibration calibration;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    const ms_json_source source = {"c.json", c->text, strlen(c->text)};
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    ms_status status = ms_calibration_read(arena, ms_json_root(document), &calibration, &err);
    assert_int_equal(status, c->pointer ? MS_ERR_CONFIG : MS_OK);
    if (c->pointer)
        assert_string_equal(err.pointer, c->pointer);
    ms_json_free(document);
    ms_arena_free(arena);
}

static const file_case files[] = {
    {"all there", FILE_OF(VALUE("context_bytes", "7", "6", "8") "," VALUE("margin", "0", "0", "0")),
     NULL},
    {"none", FILE_OF(""), NULL},
    {"a report", "{\"schema_version\":\"1.0\",\"metadata\":{}}", ""},
    {"a list", "[]", ""},
    {"a later one", "{\"schema_version\":\"2.0\",\"parameters\":{}}", "/schema_version"},
    {"an unknown parameter", FILE_OF(VALUE("contxt", "7", "6", "8")), "/parameters/contxt"},
    {"a negative value", FILE_OF(VALUE("margin", "-1", "-1", "0")), "/parameters/margin/value"},
    {"a margin beyond reason", FILE_OF(VALUE("margin", "1e9", "0", "1e9")),
     "/parameters/margin/value"},
    {"faster than the roofline", FILE_OF(VALUE("product_slowdown", "0.5", "0.5", "2")),
     "/parameters/product_slowdown/value"},
    {"a link of 0", FILE_OF(VALUE("host_link_bytes_per_s", "0", "0", "0")),
     "/parameters/host_link_bytes_per_s/value"},
    {"outside its range", FILE_OF(VALUE("margin", "0.3", "0.1", "0.2")), "/parameters/margin"},
    {"without points", FILE_OF("\"margin\":{\"value\":0,\"low\":0,\"high\":0}"),
     "/parameters/margin"},
};

/* ---- what it does to a device ---- */

static void applied(void **state)
{
    (void)state;
    ms_device device = h100;
    ms_calibration c = {.device = "h100-80gb", .points = 8};
    ms_calibration_note note;
    ms_arena *arena = ms_arena_create(0);
    assert_false(ms_calibration_note_at(arena, &c, 0, &note));
    c.parameters[MS_PARAMETER_CONTEXT] = (ms_fitted){8, 400 * mib, 380 * mib, 420 * mib};
    c.parameters[MS_PARAMETER_WORKSPACE] = (ms_fitted){8, 100 * mib, 90 * mib, 110 * mib};
    c.parameters[MS_PARAMETER_MARGIN] = (ms_fitted){8, 0.05, 0.04, 0.06};
    c.parameters[MS_PARAMETER_ATTENTION] = (ms_fitted){8, 2.5, 2, 3};
    ms_calibration_apply(&c, &device);
    assert_int_equal(device.context_low_bytes, 470 << 20);
    assert_int_equal(device.context_expected_bytes, 500 << 20);
    assert_int_equal(device.context_high_bytes, 530 << 20);
    assert_int_equal(device.margin_ppm, 50000);
    assert_true(device.slowdown[MS_OP_ATTENTION] == 2.5 && device.slowdown[MS_OP_PRODUCT] == 0);
    assert_int_equal(ms_device_used_bytes(&device, 1000000, 7), 1050007);
    assert_true(ms_calibration_note_at(arena, &c, 0, &note));
    assert_string_equal(note.text, "bytes on the device are calibrated with 8 measured steps on "
                                   "h100-80gb: context 400 MiB, workspaces 100 MiB, margin on "
                                   "reserved memory 5.00 %");
    assert_non_null(strstr(note.figures, "expected_device_bytes"));
    assert_true(ms_calibration_note_at(arena, &c, 1, &note));
    assert_non_null(strstr(note.text, "attention, times the roofline 2.50"));
    assert_false(ms_calibration_note_at(arena, &c, 2, &note));
    ms_arena_free(arena);
}

/* The most that may be reserved is held within the budget, and hardly more would not be. */
static void reservable_is_inverse(void **state)
{
    (void)state;
    const uint64_t margins[] = {0, 1, 33333, 1000000};
    for (size_t m = 0; m < COUNT_OF(margins); m++)
        for (uint64_t budget = 1; budget < UINT64_C(1) << 45; budget = budget * 3 + 7) {
            ms_device device = {.margin_ppm = margins[m], .context_expected_bytes = 1000};
            uint64_t most = ms_device_reservable_bytes(&device, budget);
            assert_true(most == 0 || ms_device_used_bytes(&device, most, 1000) <= budget);
            if (budget > 1000)
                assert_true(ms_device_used_bytes(&device, most + 3, 1000) > budget);
        }
}

int main(void)
{
    enum { OTHERS = 5 };
    struct CMUnitTest tests[COUNT_OF(leasts) + COUNT_OF(truths) + COUNT_OF(changes) +
                            COUNT_OF(tables) + COUNT_OF(files) + OTHERS] = {
        cmocka_unit_test(left_out_is_honest), cmocka_unit_test(left_out_of_the_device_too),
        cmocka_unit_test(devices_differ), cmocka_unit_test(applied),
        cmocka_unit_test(reservable_is_inverse)};
    size_t count = OTHERS;
    count += ADD_ROWS(tests + count, check_least, leasts);
    count += ADD_ROWS(tests + count, recovers, truths);
    count += ADD_ROWS(tests + count, check_change, changes);
    count += ADD_ROWS(tests + count, check_table, tables);
    count += ADD_ROWS(tests + count, check_file, files);
    return _cmocka_run_group_tests("calibrate", tests, count, NULL, NULL);
}
