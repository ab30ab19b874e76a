/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which figures of a probe have a prediction: times only on the device that they were predicted
 * for, and where all of the step ran.
 */
#include <string.h>

#include "report/runtime/probe_view.h"
#include "unit/support.h"

/* Two micro-steps, of which the second stands for two. */
static ms_profile_span spans[] = {
    {.phase = MS_PHASE_FORWARD, .repeats = 1, .compute_ms = 4, .exposed_ms = 1},
    {.phase = MS_PHASE_BACKWARD, .repeats = 1, .compute_ms = 8},
    {.phase = MS_PHASE_FORWARD, .repeats = 2, .compute_ms = 4},
    {.phase = MS_PHASE_BACKWARD, .repeats = 2, .compute_ms = 8},
    {.phase = MS_PHASE_OPTIMIZER, .repeats = 1, .compute_ms = 2},
};
static ms_replay_phase phases[] = {
    {.phase = MS_PHASE_FORWARD, .step = 1, .repeats = 1, .ms = 1000}, /* not of the steady step */
    {.phase = MS_PHASE_FORWARD, .step = 2, .repeats = 1, .ms = 6},
    {.phase = MS_PHASE_BACKWARD, .step = 2, .repeats = 1, .ms = 9},
    {.phase = MS_PHASE_FORWARD, .step = 2, .repeats = 2, .ms = 9},
    {.phase = MS_PHASE_BACKWARD, .step = 2, .repeats = 2, .ms = 15},
    {.phase = MS_PHASE_OPTIMIZER, .step = 2, .repeats = 1, .ms = 2},
    {.phase = MS_PHASE_ZERO_GRAD, .step = 2, .repeats = 1, .ms = 0.5},
};

typedef struct time_case {
    const char *label;
    bool is_same_device, has_times;
    uint64_t skipped_flops;
    double rate;   /* of the device's memory; 0: its rates are not known */
    uint32_t rows; /* with a time */
} time_case;

static const time_case cases[] = {
    {"the device itself", true, true, 0, 1e12, 5},
    {"another device", false, true, 0, 1e12, 0},
    {"no times", true, false, 0, 1e12, 0},
    {"not all of the step", true, true, 1, 1e12, 0},
    {"a device without rates", true, true, 0, 0, 0},
};

static const ms_probe_row *find(const ms_probe_row *rows, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

static void times_have_predictions(void **state)
{
    const time_case *c = *state;
    const ms_device device = {.memory_bytes_per_s = c->rate,
                              .fp32_flops = c->rate,
                              .bf16_flops = c->rate,
                              .fp16_flops = c->rate,
                              .host_link_bytes_per_s = c->rate};
    const ms_run_config run = {.device = &device};
    const ms_profile profile = {.spans = {spans, COUNT_OF(spans), COUNT_OF(spans)},
                                .time = {.step_ms = 39, .exposed_ms = 1}};
    const ms_replay_result result = {.phases = {phases, COUNT_OF(phases), COUNT_OF(phases)},
                                     .first_steady_phase = 1,
                                     .has_times = c->has_times,
                                     .skipped_flops = c->skipped_flops,
                                     .step_ms = 41.5};
    const ms_backend_facts facts = {.is_host = true};
    const ms_usage predicted = {.peak_bytes = 0};
    const ms_probe_view view = {.run = &run,
                                .profile = &profile,
                                .predicted = &predicted,
                                .result = &result,
                                .facts = &facts,
                                .is_same_device = c->is_same_device};
    ms_probe_row rows[MS_PROBE_ROWS];
    uint32_t count = ms_probe_rows(&view, rows), times = 0;
    for (uint32_t i = 0; i < count; i++)
        times += rows[i].is_time;
    assert_int_equal(times, c->rows);
    if (times == 0)
        return;
    const ms_probe_row *forward = find(rows, count, "forward_ms");
    const ms_probe_row *backward = find(rows, count, "backward_ms");
    assert_true(forward->predicted == 13 && forward->measured == 15);
    assert_true(backward->predicted == 24 && backward->measured == 24);
    assert_true(find(rows, count, "optimizer_ms")->predicted == 2);
    assert_true(find(rows, count, "step_time_ms")->measured == 41.5);
    assert_ptr_equal(ms_probe_most(rows, count), find(rows, count, "exposed_copy_ms"));
}

typedef struct title_case {
    const char *label, *run, *file, *title, *name;
} title_case;

static const title_case titles[] = {
    {"what it is of", "gpt2: a step", "/a/b.jsonl", "gpt2: a step", "b.jsonl"},
    {"its file", NULL, "b.jsonl", "b.jsonl", "b.jsonl"},
    {"nothing said", "", "a/b.jsonl", "b.jsonl", "b.jsonl"},
};

static void traces_have_titles(void **state)
{
    const title_case *c = *state;
    const ms_trace_facts facts = {.run = c->run};
    const ms_probe_view view = {.trace_file = c->file, .trace = &facts};
    assert_string_equal(ms_probe_title(&view), c->title);
    assert_string_equal(ms_probe_trace_name(&view), c->name);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + COUNT_OF(titles)];
    size_t count = ADD_ROWS(tests, times_have_predictions, cases);
    ADD_ROWS(tests + count, traces_have_titles, titles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
