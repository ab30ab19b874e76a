/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/optimizers/optimizer_row.h"

uint64_t ms_optimizer_state_count(const ms_optimizer_row *row)
{
    return (uint64_t)(row->states[0] != NULL) + (row->states[1] != NULL);
}

uint64_t ms_optimizer_passes(const ms_optimizer_row *row)
{
    return 3 + 2 * ms_optimizer_state_count(row);
}

void ms_optimizer_make_states(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    if (parameter->states_made)
        return;
    parameter->states_made = true;
    uint32_t previous = ms_scope_enter(tape, parameter->scope);
    row->make_states(tape, row, parameter);
    tape->scope = previous;
}
