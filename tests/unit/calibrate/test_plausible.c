/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measurements that cannot be are refused, what is nearly so is not; and what is unusual is told.
 */
#include "unit/support.h"

#include <string.h>

#include "decide/calibrate/plausible.h"
#include "unit/planted.h"

static const ms_device h100 = {.name = "h100-80gb",
                               .driver_bytes = UINT64_C(80) << 30,
                               .cuda_bytes = UINT64_C(79) << 30,
                               .context_expected_bytes = 512 << 20};

/* ---- what is refused ---- */

typedef struct change_case {
    const char *label;
    void (*change)(ms_measured_points *points);
    const char *message; /* NULL: it is fitted */
} change_case;

static void swapped(ms_measured_points *points)
{
    for (uint32_t i = 0; i < points->count; i++) {
        ms_measured_point *p = &points->items[i];
        double told = p->predicted_reserved;
        p->predicted_reserved = p->measured_reserved;
        p->measured_reserved = told;
        p->measured_device = told + 500 * mib;
    }
}

static void swapped_but_one(ms_measured_points *points)
{
    swapped(points);
    points->items[4].predicted_reserved = points->items[4].measured_reserved;
}

static void few_bytes(ms_measured_points *points)
{
    points->items[2].measured_reserved = 40;
}

static void more_than_there_is(ms_measured_points *points)
{
    points->items[8].predicted_reserved = 81 * gib;
}

static void all_that_there_is(ms_measured_points *points)
{
    points->items[8].measured_device = 80 * gib;
    points->items[8].measured_reserved = 79 * gib;
}

static void large_context(ms_measured_points *points)
{
    points->items[1].measured_device = points->items[1].measured_reserved + 10.5 * gib;
}

static void own_large_context(ms_measured_points *points)
{
    points->items[1].measured_context = 11 * gib;
}

static void in_seconds(ms_measured_points *points)
{
    points->items[1].measured_ms /= 1000;
}

static void check_change(void **state)
{
    const change_case *c = *state;
    const truth t = {"x", 100 * mib, 0.02, 500 * mib, 1.5, 2, 1.25};
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    plant(&t, 0, &points);
    c->change(&points);
    ms_status status = ms_calibration_fit(arena, &points, &h100, &r, &err);
    assert_int_equal(status, c->message ? MS_ERR_CONFIG : MS_OK);
    if (c->message)
        assert_non_null(strstr(err.text, c->message));
    ms_arena_free(arena);
    ms_vec_free(&points);
}

static const change_case changes[] = {
    {"told and measured swapped", swapped, "the two are swapped"},
    {"swapped but for one", swapped_but_one, NULL},
    {"too few to be bytes", few_bytes, "is 40 B, and no step takes less"},
    {"more than the device has", more_than_there_is,
     "x: the predicted reserved memory is 81.00 GiB, more than the 80.00 GiB of h100-80gb"},
    {"all that the device has", all_that_there_is, NULL},
    {"a context of tens of GiB", large_context, "a context of 10.50 GiB"},
    {"one that was measured alone", own_large_context, "a context of 11.00 GiB"},
    {"seconds for milliseconds", in_seconds, "milliseconds are expected"},
};

/* ---- what is out of the usual range ---- */

typedef struct unusual_case {
    const char *label;
    truth truth;
    const char *words; /* of the only remark; NULL: none */
} unusual_case;

static void check_unusual(void **state)
{
    const unusual_case *c = *state;
    ms_measured_points points = {0};
    ms_calibration_result r;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    plant(&c->truth, 0, &points);
    points.count = 8; /* the largest would not fit with a margin */
    assert_int_equal(ms_calibration_fit(arena, &points, &h100, &r, &err), MS_OK);
    assert_int_equal(r.remark_count, c->words ? 1 : 0);
    if (c->words)
        assert_non_null(strstr(r.remarks[0], c->words));
    ms_arena_free(arena);
    ms_vec_free(&points);
}

static const unusual_case unusuals[] = {
    {"nothing", {"", 0, 0.09, 600 * 1048576.0, 1.5, 2, 1.5}, NULL},
    {"a large context", {"", 0, 0, 3 * 1073741824.0, 1.5, 2, 1.5}, "context: 3.00 GiB, usually"},
    {"a small one", {"", 0, 0, 100 * 1048576.0, 1.5, 2, 1.5}, "context: 100.00 MiB, usually"},
    {"a margin", {"", 0, 0.12, 600 * 1048576.0, 1.5, 2, 1.5}, "margin: 12.0 %, usually"},
    {"workspaces", {"", 1.5 * 1073741824.0, 0, 600 * 1048576.0, 1.5, 2, 1.5}, "workspaces: 1.50"},
    {"a slowdown", {"", 0, 0, 600 * 1048576.0, 1.5, 12, 1.5}, "attention, times the roofline: 12"},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(changes) + COUNT_OF(unusuals)];
    size_t count = ADD_ROWS(tests, check_change, changes);
    count += ADD_ROWS(tests + count, check_unusual, unusuals);
    return _cmocka_run_group_tests("plausible", tests, count, NULL, NULL);
}
