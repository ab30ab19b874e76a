/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which traces of files can be run.
 */
#include <string.h>

#include "hardware/replay/replay.h"
#include "core/trace/build.h"
#include "unit/support.h"

enum { MOST_MARKS = 4 };

typedef struct check_case {
    const char *label;
    uint32_t streams;       /* how many; those that every trace has come first */
    uint8_t kind_of_second; /* ms_stream_kind */
    ms_mark marks[MOST_MARKS];
    uint32_t mark_count;
    const char *text; /* of the message; NULL: it can be run */
} check_case;

#define BUILD(begin)                                                                               \
    {                                                                                              \
        begin, MS_PHASE_BUILD, 0, 0, 1                                                             \
    }
#define STEP(begin)                                                                                \
    {                                                                                              \
        begin, MS_PHASE_FORWARD, 1, 0, 1                                                           \
    }

static const check_case cases[] = {
    {"a step", 4, MS_STREAM_COPY, {BUILD(true), BUILD(false), STEP(true), STEP(false)}, 4, NULL},
    {"more streams", 64, MS_STREAM_COPY, {STEP(true), STEP(false)}, 2, NULL},
    {"too many streams", 65, MS_STREAM_COPY, {STEP(true), STEP(false)}, 2, "more than 64"},
    {"too few streams", 3, MS_STREAM_COPY, {STEP(true), STEP(false)}, 2, "first 4 streams"},
    {"other streams", 4, MS_STREAM_COMPUTE, {STEP(true), STEP(false)}, 2, "first 4 streams"},
    {"no phases", 4, MS_STREAM_COPY, {{0}}, 0, "no complete step"},
    {"a build alone", 4, MS_STREAM_COPY, {BUILD(true), BUILD(false)}, 2, "no complete step"},
    {"a phase without an end", 4, MS_STREAM_COPY, {STEP(true)}, 1, "no complete step"},
};

static void check(void **state)
{
    const check_case *c = *state;
    ms_trace trace;
    ms_error err = {0};
    assert_true(ms_trace_init(&trace));
    while (trace.streams.count < c->streams)
        assert_int_not_equal(ms_trace_add_stream(&trace, (ms_stream){0}), MS_NONE);
    trace.streams.count = c->streams;
    trace.streams.items[MS_STREAM_TO_DEVICE].kind = c->kind_of_second;
    for (uint32_t i = 0; i < c->mark_count; i++)
        assert_int_not_equal(ms_trace_add_mark(&trace, c->marks[i]), MS_NONE);
    assert_int_equal(ms_replay_check(&trace, &err), c->text ? MS_ERR_CONFIG : MS_OK);
    assert_true(!c->text || strstr(err.text, c->text));
    ms_trace_free(&trace);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases)];
    ADD_ROWS(tests, check, cases);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
