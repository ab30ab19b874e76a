/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks of a program side by side.
 */
#ifndef MS_REPORT_RUNTIME_RANKS_H
#define MS_REPORT_RUNTIME_RANKS_H

#include <stdio.h>

#include "memscope/ranks.h"

typedef struct ms_ranks_view {
    const ms_rank *ranks;
    size_t count;
    uint64_t world_size;
    size_t worst; /* SIZE_MAX: none has figures */
    ms_style style;
} ms_ranks_view;

/* Which needs more: positive if the second does. Ranks without figures come last. */
int ms_rank_compare(const ms_rank *first, const ms_rank *second);

ms_status ms_ranks_console(const ms_ranks_view *view, FILE *out, ms_error *err);
void ms_ranks_json(const ms_ranks_view *view, FILE *out);

#endif
