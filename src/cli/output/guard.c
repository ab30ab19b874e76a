/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/output/message.h"
#include "memscope/memscope.h"

/* ---- interrupt ---- */

/* What the handler may look at. Whoever runs the program may pass one Ctrl-C on twice, so only a
 * later one counts as the second. */
static _Atomic(ms_cli_stop) stop_running;

static _Atomic(void *) running;

static atomic_long first_second;

static void on_interrupt(int number)
{
    struct timespec now = {.tv_sec = 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    long second = (long)now.tv_sec + 1, first = 0;
    ms_cli_stop stop = atomic_load(&stop_running);
    if (atomic_compare_exchange_strong(&first_second, &first, second)) {
        if (stop)
            stop(atomic_load(&running));
    } else if (second > first + 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what)
{
    struct sigaction now = {.sa_handler = SIG_DFL}, wanted = {.sa_handler = SIG_DFL};
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_IGN)
        return;
    atomic_store(&running, what);
    atomic_store(&stop_running, stop);
    if (stop)
        wanted.sa_handler = on_interrupt;
    sigemptyset(&wanted.sa_mask);
    sigaction(number, &wanted, NULL);
}

/* ---- guard ---- */

static ms_inputs *inputs;

ms_inputs *ms_cli_guard_begin(void)
{
    return inputs = ms_inputs_create();
}

void ms_cli_guard_end(void)
{
    ms_inputs_free(inputs);
    inputs = NULL;
}

ms_inputs *ms_cli_inputs(void)
{
    return inputs;
}

ms_status ms_cli_guard_input(const char *path, ms_error *err)
{
    return inputs ? ms_inputs_add(inputs, path, err) : MS_OK;
}

ms_status ms_cli_guard_output(const char *path, ms_error *err)
{
    const char *read = ms_inputs_find(inputs, path);
    bool is_stdout = strcmp(path, "-") == 0;
    if (!read)
        return MS_OK;
    if (!is_stdout && strcmp(path, read) == 0)
        return ms_cli_fail(err, MS_ERR_USAGE, "cannot write %.300s, because this run reads it",
                           path);
    return ms_cli_fail(err, MS_ERR_USAGE, "cannot write %.150s: it is %.150s, which this run reads",
                       is_stdout ? "to standard output" : path,
                       strcmp(read, "-") == 0 ? "standard input" : read);
}

ms_status ms_cli_refuse_link_to_nothing(const char *path, ms_error *err)
{
    struct stat there;
    if (stat(path, &there) == 0 || errno != ENOENT || lstat(path, &there) != 0 ||
        !S_ISLNK(there.st_mode))
        return MS_OK;
    return ms_cli_fail(err, MS_ERR_IO, "cannot write %s: it is a broken link", path);
}

/* ---- several outputs ---- */

void ms_cli_targets_add(ms_cli_targets *targets, const char *folder, const char *name)
{
    size_t length = (folder ? strlen(folder) + 1 : 0) + strlen(name) + 1;
    char *path = targets->count < MS_CLI_MOST_TARGETS ? malloc(length) : NULL;
    targets->has_failed = targets->has_failed || !path;
    if (!path)
        return;
    snprintf(path, length, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    targets->paths[targets->count++] = path;
}

static ms_status refuse_twins(const ms_cli_targets *targets, size_t index, ms_error *err)
{
    const char *path = targets->paths[index];
    for (size_t i = 0; i < index; i++) {
        const char *other = targets->paths[i];
        bool is_stdout = strcmp(path, "-") == 0, is_other_stdout = strcmp(other, "-") == 0;
        if (is_stdout && is_other_stdout)
            return ms_cli_fail(err, MS_ERR_USAGE,
                               "two outputs go to standard output, so nothing was written");
        if (is_stdout || is_other_stdout || !ms_is_same_file(path, other))
            continue;
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "two outputs name the same file, %.150s%s%.150s, so nothing was written",
                           other, strcmp(path, other) == 0 ? "" : " and ",
                           strcmp(path, other) == 0 ? "" : path);
    }
    return MS_OK;
}

ms_status ms_cli_targets_check(ms_cli_targets *targets, ms_error *err)
{
    ms_status status = MS_OK;
    if (targets->has_failed)
        status = ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a file name");
    for (size_t i = 0; i < targets->count && status == MS_OK; i++) {
        const char *path = targets->paths[i];
        status = ms_cli_guard_output(path, err);
        if (status == MS_OK && strcmp(path, "-") != 0)
            status = ms_cli_refuse_link_to_nothing(path, err);
        if (status == MS_OK)
            status = refuse_twins(targets, i, err);
    }
    for (size_t i = 0; i < targets->count; i++)
        free(targets->paths[i]);
    targets->count = 0;
    return status;
}
