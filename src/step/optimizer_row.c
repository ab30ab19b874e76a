/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/optimizer_row.h"

uint64_t ms_optimizer_state_count(const ms_optimizer_row *row)
{
    return (uint64_t)(row->states[0] != NULL) + (row->states[1] != NULL);
}

uint64_t ms_optimizer_passes(const ms_optimizer_row *row)
{
    return 3 + 2 * ms_optimizer_state_count(row);
}
