/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/progress.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double seconds_between = 0.1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

ms_cli_progress ms_cli_progress_begin(bool quiet, uint64_t done)
{
    return (ms_cli_progress){
        .is_shown = !quiet && isatty(STDERR_FILENO) == 1, .first = done, .start_s = now_s()};
}

/* "[########            ]" */
static void put_bar(uint64_t done, uint64_t all)
{
    enum { WIDTH = 20 };
    char bar[WIDTH + 1];
    size_t filled = all ? (size_t)((double)done / (double)all * WIDTH) : WIDTH;
    memset(bar, ' ', WIDTH);
    memset(bar, '#', filled);
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %" PRIu64 " of %" PRIu64, bar, done, all);
}

void ms_cli_progress_show(ms_cli_progress *p, const ms_sweep_progress *state)
{
    double now = p->is_shown ? now_s() : 0;
    if (!p->is_shown || now - p->shown_s < seconds_between)
        return;
    p->shown_s = now;
    double rate = (double)(state->done - p->first) / (now - p->start_s + 1e-9);
    double left_s = rate > 0 ? (double)(state->rows - state->done) / rate : 0;
    uint64_t seconds = left_s < 1e9 ? (uint64_t)(left_s + 0.5) : 0;
    put_bar(state->done, state->rows);
    fprintf(stderr, ", %.0f a second, %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left", rate,
            seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (state->errors > 0)
        fprintf(stderr, ", %" PRIu64 " errors", state->errors);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void ms_cli_progress_end(const ms_cli_progress *p)
{
    if (p->is_shown)
        fputs("\r\033[K", stderr);
}
