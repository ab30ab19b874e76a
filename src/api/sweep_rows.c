/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of finished sweeps: joining shards, and the Pareto front.
 */
#include "decide/sweep/frontier.h"
#include "decide/sweep/rows.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "memscope/sweep.h"
#include "decide/sweep/settings.h"

static ms_status open_shards(const char *const *paths, size_t count, ms_rows *shards, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        ms_error reason = {.status = MS_OK};
        FILE *file = ms_file_open(NULL, paths[i], &reason);
        if (!file)
            return ms_fail(err, reason.status, "cannot read %s: %s", paths[i], reason.text);
        status = ms_rows_open(&shards[i], file, paths[i], err);
    }
    return status;
}

ms_status ms_sweep_merge(const char *const *paths, size_t count, FILE *out, ms_error *err)
{
    if (!paths || !out)
        return ms_fail_null(err);
    ms_rows *shards = calloc(count ? count : 1, sizeof *shards);
    if (!shards)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %zu files", count);
    ms_status status = open_shards(paths, count, shards, err);
    if (status == MS_OK)
        status = ms_rows_merge(shards, count, out, err);
    for (size_t i = 0; i < count; i++) {
        ms_rows_free(&shards[i]);
        if (shards[i].file)
            fclose(shards[i].file);
    }
    free(shards);
    return status;
}

ms_status ms_sweep_frontier(FILE *rows, const char *name, const char *objectives, FILE *out,
                            ms_error *err)
{
    if (!rows || !name || !out)
        return ms_fail_null(err);
    return ms_rows_frontier(rows, name, objectives ? objectives : ms_sweep_usual_objectives(), out,
                            err);
}
