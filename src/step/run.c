/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/run.h"

typedef struct state {
    const ms_run_config *run;
} state;

static const ms_state_kind kind = {.bytes = sizeof(state)};

bool ms_step_set_run(ms_tape *tape, const ms_run_config *run)
{
    state *s = ms_hooks_state(tape, &kind);
    if (s)
        s->run = run;
    return s != NULL;
}

const ms_run_config *ms_step_run(const ms_tape *tape)
{
    const state *s = ms_hooks_find_state(tape, &kind);
    return s->run;
}
