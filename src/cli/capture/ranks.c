/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "cli/capture/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture/records.h"
#include "cli/capture/scratch.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"

enum { PATH_BYTES = 4096 };
static const char table_name[] = "ranks_report.json", worst_stem[] = "worst";

/* ---- which rank ---- */

/* A number of the environment; false if it is not set. */
static bool read_number(const char *name, uint64_t *number, ms_error *err)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text)
        return false;
    errno = 0;
    *number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end != '\0' || errno != 0)
        ms_cli_fail(err, MS_ERR_USAGE, "%s is '%.40s', expected a number: unset it", name, text);
    return true;
}

static ms_status check_rank(const ms_cli_settings *s, const ms_cli_ranks *ranks, bool has_rank,
                            uint64_t rank, ms_error *err)
{
    if (ranks->world == 0 && (s->has_rank || s->all_ranks))
        return ms_cli_fail(err, MS_ERR_USAGE, "--rank needs --world N, the number of ranks");
    if (has_rank && s->all_ranks)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "RANK is %" PRIu64 ", but --rank all runs every rank: unset RANK", rank);
    if (has_rank && s->has_rank && rank != s->rank)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "RANK is %" PRIu64 ", but --rank is %" PRIu64 ": leave one out", rank,
                           s->rank);
    if (ranks->world > 0 && ranks->rank >= ranks->world)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "there is no rank %" PRIu64 " of %" PRIu64 ": ranks count from 0",
                           ranks->rank, ranks->world);
    return MS_OK;
}

ms_status ms_cli_find_ranks(const ms_cli_settings *s, ms_cli_ranks *ranks, ms_error *err)
{
    uint64_t world = 0, rank = 0;
    *ranks = (ms_cli_ranks){.world = s->ranks, .rank = s->rank, .all = s->all_ranks};
    if (s->is_real) /* the program's own affair */
        return MS_OK;
    bool has_world = read_number("WORLD_SIZE", &world, err);
    bool has_rank = read_number("RANK", &rank, err);
    bool is_asked = s->ranks || s->has_rank || s->all_ranks;
    if (err->status != MS_OK)
        return err->status;
    if (s->ranks && has_world && world != s->ranks)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "WORLD_SIZE is %" PRIu64 ", but --world is %" PRIu64 ": leave one out",
                           world, s->ranks);
    if (!s->ranks && world > 1 && (is_asked || has_rank))
        ranks->world = world;
    if (ranks->world > 0 && has_rank && !s->has_rank)
        ranks->rank = rank;
    return check_rank(s, ranks, has_rank && ranks->world > 0, rank, err);
}

/* ---- each of them ---- */

/* One of them, and how it ended when it ran last. */
typedef struct run {
    ms_cli_attempt *attempt;
    ms_rank *ranks;
    ms_error *endings;
    size_t count;
    uint64_t world;
} run;

static ms_status write_table(FILE *out, const ms_cli_source *source, ms_error *err)
{
    const run *r = source->data;
    ms_style style = ms_cli_style(r->attempt->settings->color);
    return ms_ranks_write(r->ranks, r->count, r->world, source->format, &style, out, err);
}

/* One that was interrupted, then one without memory: the higher, the worse. */
static int gravity(ms_status status)
{
    return status == MS_ERR_STOPPED       ? 3
           : status == MS_ERR_OVER_BUDGET ? 2
           : status != MS_OK              ? 1
                                          : 0;
}

/* How the worst of those that failed ended. */
static ms_status fail_as_worst(const run *r, ms_error *err)
{
    const ms_rank *rank = NULL;
    const ms_error *worst = NULL;
    for (size_t i = 0; i < r->count; i++)
        if (gravity(r->endings[i].status) > (worst ? gravity(worst->status) : 0)) {
            worst = &r->endings[i];
            rank = &r->ranks[i];
        }
    return worst ? ms_cli_fail(err, worst->status, "rank %" PRIu64 ": %.400s", rank->rank,
                               worst->text)
                 : MS_OK;
}

/* Where a rank writes the name of what another one has not given it yet:
 * scripts/memscope_torch/exchange.py. */
static void name_wish(const run *r, uint64_t rank, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.4000s/waits-%" PRIu64, r->attempt->request.kept, rank);
}

static bool waits(const run *r, uint64_t rank)
{
    char path[PATH_BYTES];
    name_wish(r, rank, path);
    return access(path, F_OK) == 0;
}

/* Whether what a rank waits for is there by now; it then waits no longer. */
static bool can_go_on(const run *r, uint64_t rank)
{
    char path[PATH_BYTES], wished[128] = "", found[2 * PATH_BYTES];
    name_wish(r, rank, path);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(wished, sizeof wished, file) != NULL;
    fclose(file);
    snprintf(found, sizeof found, "%s/%s", r->attempt->request.kept, wished);
    return is_read && access(found, F_OK) == 0 && unlink(path) == 0;
}

static void say_rank(const run *r, const ms_rank *rank)
{
    if (r->attempt->settings->quiet)
        return;
    if (waits(r, rank->rank))
        fprintf(stderr,
                "rank %" PRIu64 " of %" PRIu64 ": is waiting for objects from another rank\n",
                rank->rank, r->world);
    else if (rank->has_figures)
        fprintf(stderr, "rank %" PRIu64 " of %" PRIu64 ": peak %" PRIu64 " bytes in %s\n",
                rank->rank, r->world, rank->peak_bytes,
                rank->peak_stage[0] ? rank->peak_stage : "no step");
    else
        fprintf(stderr, "rank %" PRIu64 " of %" PRIu64 ": no figures\n", rank->rank, r->world);
}

static void name_folder(const run *r, uint64_t rank, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.4000s/rank-%" PRIu64, r->attempt->out, rank);
}

/* Its paths are off the stack while others run. False when no further rank is to be run: it was
 * interrupted, or already the first one failed. */
__attribute__((noinline)) static bool run_rank(run *r, uint64_t number)
{
    char folder[PATH_BYTES];
    ms_error *err = &r->endings[number];
    ms_cli_attempt one = *r->attempt;
    name_folder(r, number, folder);
    one.out = folder;
    one.request.rank = number;
    one.rank = &r->ranks[number];
    *one.rank = (ms_rank){.rank = number};
    *err = (ms_error){0};
    if (ms_cli_make_directory(folder, err) == MS_OK)
        ms_cli_attempt_run(&one, err);
    say_rank(r, one.rank);
    return err->status == MS_OK || err->status == MS_ERR_OVER_BUDGET ||
           (err->status == MS_ERR_USAGE && (number > 0 || waits(r, number)));
}

/* In order, so that a rank has what earlier ones gave. One that is given something by a later one
 * runs again when that has run; the last of those first, as along a pipeline backward. */
static void run_all(run *r)
{
    bool go_on = true, again = true;
    while (go_on && r->count < r->world)
        go_on = run_rank(r, r->count++);
    while (go_on && again) {
        again = false;
        for (uint64_t rank = r->count; go_on && rank-- > 0;)
            if (can_go_on(r, rank)) {
                again = true;
                go_on = run_rank(r, rank);
            }
    }
}

/* The worst one's record is in its folder; a copy of it becomes the main one. */
__attribute__((noinline)) static ms_status keep_worst(run *r, size_t worst, const char *scratch,
                                                      ms_error *err)
{
    char from[PATH_BYTES];
    name_folder(r, r->ranks[worst].rank, from);
    ms_status status = ms_cli_copy_record(from, scratch, worst_stem, err);
    if (status == MS_OK)
        status = ms_cli_keep_record(scratch, worst_stem, r->attempt->out, err);
    r->attempt->kept = status == MS_OK;
    return status;
}

__attribute__((noinline)) static ms_status show(run *r, ms_error *err)
{
    char path[2 * PATH_BYTES];
    const ms_cli_settings *s = r->attempt->settings;
    const ms_cli_source table = {.write = write_table, .data = r, .format = "console"};
    snprintf(path, sizeof path, "%s/%s", r->attempt->out, MS_CLI_REPORT_NAME);
    ms_status status = s->quiet ? MS_OK : ms_cli_write_file("-", &table, err);
    ms_recorded *report = status == MS_OK ? ms_recorded_load(path, err) : NULL;
    if (report && !s->quiet)
        fputc('\n', stdout);
    if (report)
        (void)ms_cli_show_record(s, report, err);
    ms_recorded_free(report);
    return err->status;
}

static ms_status finish(run *r, const char *scratch, ms_error *err)
{
    char path[2 * PATH_BYTES];
    const ms_cli_source table = {.write = write_table, .data = r, .format = "json"};
    size_t worst = ms_ranks_worst(r->ranks, r->count);
    ms_status status = worst != SIZE_MAX ? keep_worst(r, worst, scratch, err) : MS_OK;
    snprintf(path, sizeof path, "%s/%s", r->attempt->out, table_name);
    if (status == MS_OK && worst != SIZE_MAX)
        status = ms_cli_write_file(path, &table, err);
    if (status == MS_OK && worst != SIZE_MAX)
        status = show(r, err);
    return status == MS_OK ? fail_as_worst(r, err) : status;
}

ms_status ms_cli_run_ranks(ms_cli_attempt *attempt, ms_error *err)
{
    ms_cli_scratch scratch;
    uint64_t world = attempt->request.ranks;
    run r = {.attempt = attempt,
             .world = world,
             .ranks = calloc((size_t)world, sizeof *r.ranks),
             .endings = calloc((size_t)world, sizeof *r.endings)};
    if (!r.ranks || !r.endings) {
        free(r.endings);
        free(r.ranks);
        return ms_cli_fail(err, MS_ERR_NOMEM, "out of memory for ranks");
    }
    ms_status status = ms_cli_scratch_make(attempt->out, &scratch, err);
    if (status == MS_OK) {
        char *kept = realpath(scratch.path, NULL);
        attempt->request.kept = kept;
        if (kept)
            run_all(&r);
        status = kept ? finish(&r, scratch.path, err)
                      : ms_cli_fail(err, MS_ERR_IO, "cannot write to %.100s: %s", attempt->out,
                                    strerror(errno));
        free(kept);
        ms_cli_scratch_remove(&scratch);
    }
    free(r.endings);
    free(r.ranks);
    return status;
}
