/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks of a program side by side, each of which `memscope capture` ran alone.
 *
 *     ms_rank ranks[2] = {{.rank = 0}, {.rank = 1}};
 *     ms_rank_read(first, &ranks[0]);
 *     ms_rank_read(second, &ranks[1]);
 *     ms_ranks_write(ranks, 2, 2, "console", NULL, stdout, &err);
 */
#ifndef MEMSCOPE_RANKS_H
#define MEMSCOPE_RANKS_H

#include "memscope/recorded.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_RANKS_SCHEMA_VERSION "1.0"

typedef struct ms_rank {
    uint64_t rank, peak_bytes, reserved_bytes;
    bool has_figures;
    char outcome[24], peak_stage[24]; /* as in the report; "" for no stage */
} ms_rank;

/* Fills all but the rank's number from its report. */
void ms_rank_read(const ms_recorded *recorded, ms_rank *rank);

/* The index of the rank that needs the most: one that ran out of memory, else the highest peak,
 * else the highest reserved memory, else the first. SIZE_MAX: none has figures. */
size_t ms_ranks_worst(const ms_rank *ranks, size_t count);

/* Writes them, the worst one first. The format is "console" or "json"
 * (schemas/ranks_report.schema.json); `world_size` is the number of ranks, of which some may be
 * missing. `style` may be NULL. */
ms_status ms_ranks_write(const ms_rank *ranks, size_t count, uint64_t world_size,
                         const char *format, const ms_style *style, FILE *out, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
