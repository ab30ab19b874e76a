/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of runs on several ranks: the steady step of one rank as PyTorch's own code and caching
 * allocator ran it, or a part of the sentence that refuses the run.
 */
#ifndef UNIT_RANK_STEPS_H
#define UNIT_RANK_STEPS_H

#include <string.h>

#include "input/config/model/model_config.h"
#include "run/simulate/simulate.h"
#include "unit/fixtures.h"

enum { MOST_SETTINGS = 10 };

typedef struct rank_step {
    const char *label;
    ms_run_setting settings[MOST_SETTINGS]; /* ends where a field is NULL */
    const char *refused;                    /* a part of the sentence; NULL: it is predicted */
    uint64_t start, peak, reserved;         /* of the steady step */
} rank_step;

static inline void check_rank_step(const ms_job *job, ms_simulate_detail detail, const rank_step *c)
{
    ms_simulated s;
    ms_error err = {0};
    assert_int_equal(ms_simulate(job, detail, &s, &err), MS_OK);
    assert_int_equal(s.usage.start_bytes, c->start);
    assert_int_equal(s.usage.peak_bytes, c->peak);
    assert_int_equal(s.usage.peak_reserved_bytes, c->reserved);
    ms_simulated_free(&s);
}

static inline void step_is_as_measured(void **state)
{
    const rank_step *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_run_setting settings[MOST_SETTINGS + 1] = {{"device", "a100-80gb"}};
    size_t count = 1;
    for (size_t i = 0; i < MOST_SETTINGS && c->settings[i].field; i++)
        settings[count++] = c->settings[i];
    ms_model_config model;
    ms_run_config run;
    ms_notes notes = {0};
    ms_error err = {0};
    ms_status status = ms_run_load(arena, settings, count, &model, &run, &notes, &err);
    const ms_job job = {.model = &model, .run = &run};
    if (c->refused && (status == MS_OK || !strstr(err.text, c->refused)))
        fail_msg("%d: %s", (int)status, err.text);
    if (!c->refused && status != MS_OK)
        fail_msg("%s", err.text);
    if (!c->refused) {
        check_rank_step(&job, MS_SIMULATE_ALL, c);
        check_rank_step(&job, MS_SIMULATE_USAGE, c);
    }
    ms_arena_free(arena);
}

#endif
