/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/terminal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- progress ---- */

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

/* ---- terminal ---- */

enum { DEFAULT_COLUMNS = 80, MOST_COLUMNS = 1000 };

uint32_t ms_cli_columns(void)
{
    const char *text = getenv("COLUMNS");
    long asked = text ? strtol(text, NULL, 10) : 0;
    if (asked > 0)
        return asked < MOST_COLUMNS ? (uint32_t)asked : MOST_COLUMNS;
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

const char *ms_cli_color_name(size_t index)
{
    static const char *const names[] = {
        [MS_COLOR_AUTO] = "auto", [MS_COLOR_ALWAYS] = "always", [MS_COLOR_NEVER] = "never"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

static bool wants_color(ms_cli_color color)
{
    if (color != MS_COLOR_AUTO)
        return color == MS_COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(STDOUT_FILENO) == 1;
}

/* The locale's name says it; loading the locale for one question would take memory for good. */
static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *locale = getenv(names[i]);
        if (!locale || !*locale)
            continue;
        const char *codeset = strchr(locale, '.');
        return codeset && (strncasecmp(codeset + 1, "utf-8", 5) == 0 ||
                           strncasecmp(codeset + 1, "utf8", 4) == 0);
    }
    return false;
}

ms_style ms_cli_style(ms_cli_color color)
{
    uint32_t columns = ms_cli_columns();
    return (ms_style){.columns = columns ? columns : DEFAULT_COLUMNS,
                      .color = wants_color(color),
                      .unicode = has_utf8()};
}
