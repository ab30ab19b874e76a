/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joining shards. Each has its rows in the order of the points, so a merge needs only one line of
 * each in memory.
 */
#include "decide/sweep/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "decide/sweep/rows.h"

typedef struct merge {
    ms_rows *shards;
    size_t count;
    const ms_rows *first; /* what the others are compared with: the first that has a row */
    FILE *out;
    ms_error *err;
} merge;

static ms_status check_shard(const merge *m, const ms_rows *rows)
{
    const ms_rows *first = m->first;
    if (rows->is_cut)
        return ms_fail(m->err, MS_ERR_CONFIG,
                       "%s:%" PRIu64 ": its last row is incomplete: resume the sweep", rows->name,
                       rows->line_number);
    if (!rows->has_row)
        return MS_OK;
    bool has_same_header = !rows->header || !first->header
                               ? rows->header == first->header
                               : strcmp(rows->header, first->header) == 0;
    if (rows->sweep != first->sweep || rows->point_count != first->point_count || !has_same_header)
        return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": a row of a different sweep than %s",
                       rows->name, rows->line_number, first->name);
    return MS_OK;
}

/* The shard whose next row is that point. Shards take turns, so the one after the last is looked at
 * first. */
static ms_status find_shard(const merge *m, uint64_t point, size_t *shard)
{
    for (size_t i = 1; i <= m->count; i++) {
        size_t index = (*shard + i) % m->count;
        const ms_rows *rows = &m->shards[index];
        if (rows->has_row && rows->point < point)
            return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": point %" PRIu64 " appears twice",
                           rows->name, rows->line_number, rows->point);
        if (rows->has_row && rows->point == point) {
            *shard = index;
            return MS_OK;
        }
    }
    return ms_fail(m->err, MS_ERR_CONFIG,
                   "point %" PRIu64 " of %" PRIu64 " is in none of the files", point,
                   m->first->point_count);
}

static ms_status write_row(const merge *m, ms_rows *rows)
{
    if (fwrite(rows->line, 1, rows->length, m->out) != rows->length)
        return ms_fail(m->err, MS_ERR_IO, "writing rows: %s", strerror(errno));
    ms_status status = ms_rows_next(rows, m->err);
    return status == MS_OK ? check_shard(m, rows) : status;
}

/* Nothing may be left when every point was found. */
static ms_status check_ends(const merge *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->shards[i].has_row)
            return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": point %" PRIu64 " appears twice",
                           m->shards[i].name, m->shards[i].line_number, m->shards[i].point);
    return MS_OK;
}

ms_status ms_rows_merge(ms_rows *shards, size_t count, FILE *out, ms_error *err)
{
    merge m = {shards, count, NULL, out, err};
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && !m.first; i++)
        m.first = shards[i].has_row ? &shards[i] : NULL;
    if (!m.first)
        return ms_fail(err, MS_ERR_CONFIG, "the files contain no rows");
    const ms_rows first = *m.first; /* it moves on */
    m.first = &first;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = check_shard(&m, &shards[i]);
    if (status == MS_OK && first.header)
        fputs(first.header, out);
    size_t shard = count - 1;
    for (uint64_t point = 0; point < first.point_count && status == MS_OK; point++) {
        status = find_shard(&m, point, &shard);
        if (status == MS_OK)
            status = write_row(&m, &shards[shard]);
    }
    return status == MS_OK ? check_ends(&m) : status;
}
