/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runs/runs_verdict.h"

#include <string.h>

const char *ms_runs_verdict(const ms_runs_row *row)
{
    return row->error ? "error" : row->verdict;
}

bool ms_runs_fits(const ms_runs_row *row)
{
    return !row->error && !ms_runs_are_unknown(row) && strcmp(row->verdict, "no") != 0;
}

bool ms_runs_are_unknown(const ms_runs_row *row)
{
    return !row->error && strcmp(row->verdict, "unknown") == 0;
}

bool ms_runs_are_safe(const ms_runs_row *row)
{
    return ms_runs_fits(row) && (strcmp(row->verdict, "fits") == 0 || row->safe_value > 0);
}

uint32_t ms_runs_fit_count(const ms_runs_view *v)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++)
        count += ms_runs_fits(&v->rows[i]);
    return count;
}

uint32_t ms_runs_unknown_count(const ms_runs_view *v)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++)
        count += ms_runs_are_unknown(&v->rows[i]);
    return count;
}
