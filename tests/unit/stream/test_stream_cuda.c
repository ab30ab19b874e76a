/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streamed passes by the CUDA backend on the null device: models that are larger than the device
 * take what is predicted, to the byte, in the calls that the schedule has, and everything is given
 * back.
 */
#include "input/config/model/model_config.h"
#include "serve/stream/execute.h"
#include "unit/fixtures.h"
#include "unit/null_device.h"

typedef struct null_case {
    const char *label;
    const char *device, *environment;
    ms_run_setting settings[5];
    ms_inference_phase phase;
    uint64_t prefetch;
    bool is_larger; /* the layers' weights than the device */
} null_case;

static const null_case cases[] = {
    {"llama-3.1-70b, a100",
     A100,
     {{"config", "llama-3.1-70b"}, {"seq", "512"}},
     MS_INFERENCE_DECODE,
     2,
     true},
    {"llama-3.1-70b, h100, prefill, expandable",
     H100,
     {{"config", "llama-3.1-70b"}, {"seq", "512"}, {"allocator", "cuda-expandable"}},
     MS_INFERENCE_PREFILL,
     1,
     true},
    {"opt-30b, rtx 4090",
     RTX,
     {{"config", "opt-30b"}, {"seq", "256"}},
     MS_INFERENCE_DECODE,
     4,
     true},
    {"all layers stay, rtx 4090",
     RTX,
     {{"config", "smollm2-135m"}, {"seq", "64"}},
     MS_INFERENCE_DECODE,
     99,
     false},
};

enum { TIMED = 2, CHECKED = 1 };

/* One copy and its two events for each fetch, one wait of the host for each buffer used again. */
static void require_calls(const ms_stream_measured *m)
{
    uint64_t layers = m->measured.layers.count,
             buffers = ms_stream_buffers(&m->measured, m->places);
    uint64_t fetches = m->places == layers ? layers : layers * (TIMED + CHECKED);
    require_returned();
    REQUIRE(calls_of("cudaEventSynchronize") == fetches - buffers);
    REQUIRE(calls_of("cudaStreamWaitEvent") >= layers * (TIMED + CHECKED));
    REQUIRE(m->result.copies == fetches);
    REQUIRE(m->pinned_bytes == buffers * m->measured.slot_bytes);
}

static void stream_on_null(const void *row)
{
    const null_case *c = row;
    ms_backend *b = open_device(c->environment);
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_stream_measured m;
    ms_error err = {0};
    uint64_t left = 1;
    load_run_on(c->device, arena, c->settings, COUNT_OF(c->settings), &model, &run);
    listen();
    const ms_stream_execution asked = {.model = &model,
                                       .run = &run,
                                       .phase = c->phase,
                                       .prefetch = c->prefetch,
                                       .timed_passes = TIMED,
                                       .checked_passes = CHECKED};
    const ms_stream_source source = ms_stream_source_memory();
    if (ms_stream_execute(&asked, &source, b, &m, &err) != MS_OK)
        fprintf(stderr, "%s\n", err.text);
    REQUIRE(*err.text == '\0' && !m.predicted.out_of_memory && !m.is_timed && m.checks == 0);
    REQUIRE(m.result.played_events == m.result.event_count);
    REQUIRE(m.result.peak_bytes == m.predicted.peak_bytes);
    REQUIRE(m.result.peak_reserved_bytes == m.predicted.peak_reserved_bytes);
    REQUIRE(m.result.most_used_bytes - m.result.before_used_bytes - m.result.landing_bytes ==
            m.predicted.most_reserved_bytes);
    REQUIRE(!c->is_larger || m.measured.layers_bytes > b->facts.total_bytes);
    REQUIRE(b->calls->used(b, &left, &err) == MS_OK && left == 0);
    b->calls->close(b);
    require_calls(&m);
    ms_stream_measured_free(&m);
    ms_arena_free(arena);
}

static void check_stream(void **state)
{
    run_apart(stream_on_null, *state);
}

int main(void)
{
    find_library();
    return run_rows("streams on the null device", check_stream, cases);
}
