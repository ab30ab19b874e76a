/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for tee; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/deadline.h"

enum { LOOK_NS = 20000000, FIRST_BYTES = 256 };

static FILE *fail(ms_error *err)
{
    int reason = errno;
    ms_error_set(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "%s", strerror(reason));
    return NULL;
}

/* ---- pipes ---- */

/* Whether something is in the pipe, or somebody has its other end open. A copy of the first byte
 * tells: reading it would take it away. */
static bool has_writer(int pipe_end)
{
    int ends[2];
    if (pipe(ends) != 0)
        return true;
    ssize_t copied = tee(pipe_end, ends[1], 1, SPLICE_F_NONBLOCK);
    close(ends[0]);
    close(ends[1]);
    return copied != 0;
}

static bool wait_for_writer(int pipe_end)
{
    const ms_deadline limit = ms_deadline_begin(MS_PIPE_WAIT_S, NULL);
    while (!has_writer(pipe_end)) {
        if (ms_deadline_reached(&limit))
            return false;
        nanosleep(&(const struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return true;
}

/* ---- opening ---- */

/* From here on reading waits. */
static bool let_wait(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

static FILE *open_stream(int fd, ms_inputs *inputs, const char *path, ms_error *err)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return fail(err);
    if (S_ISFIFO(facts.st_mode) && !wait_for_writer(fd)) {
        ms_error_set(err, MS_ERR_IO, "it is a pipe, and nothing was written to it for %d s",
                     MS_PIPE_WAIT_S);
        return NULL;
    }
    if (ms_inputs_note(inputs, path, &facts, err) != MS_OK)
        return NULL;
    FILE *file = let_wait(fd) ? fdopen(fd, "r") : NULL;
    return file ? file : fail(err);
}

FILE *ms_file_open(ms_inputs *inputs, const char *path, ms_error *err)
{
    if (strcmp(path, "-") == 0)
        return !inputs || ms_inputs_add(inputs, path, err) == MS_OK ? stdin : NULL;
    if (ms_inputs_admit(inputs, path, err) != MS_OK)
        return NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return fail(err);
    FILE *file = open_stream(fd, inputs, path, err);
    if (!file)
        close(fd);
    return file;
}

bool ms_file_is_pipe(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

void ms_file_close(FILE *file)
{
    if (file && file != stdin)
        fclose(file);
}

/* ---- lines ---- */

static bool make_room(char **line, size_t *bytes, size_t length)
{
    if (length + 2 <= *bytes)
        return true;
    size_t wanted = *bytes ? 2 * *bytes : FIRST_BYTES;
    char *grown = realloc(*line, wanted);
    if (!grown)
        return false;
    *line = grown;
    *bytes = wanted;
    return true;
}

ssize_t ms_file_line(FILE *file, char **line, size_t *bytes)
{
    size_t length = 0;
    int c = 0;
    flockfile(file);
    while (c != '\n' && (c = getc_unlocked(file)) != EOF) {
        if (length == MS_LINE_BYTES)
            errno = EFBIG;
        if (length == MS_LINE_BYTES || !make_room(line, bytes, length)) {
            funlockfile(file);
            return -1;
        }
        (*line)[length++] = (char)c;
    }
    funlockfile(file);
    if (length == 0)
        return -1;
    (*line)[length] = '\0';
    return (ssize_t)length;
}

const char *ms_file_reason(int reason)
{
    return reason == EFBIG ? "a line is longer than 1 MiB" : strerror(reason);
}
