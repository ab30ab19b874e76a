/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows are written as they are computed, to a part file beside the requested one, which is replaced
 * only when all rows are written.
 */
#define _DEFAULT_SOURCE /* for flock; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "cli/output/rows_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/guard.h"
#include "cli/output/message.h"

static const char *name_of(const ms_cli_rows *rows)
{
    return rows->part ? rows->part : rows->path ? rows->path : "to standard output";
}

static ms_status cannot_write(const ms_cli_rows *rows, ms_error *err)
{
    return ms_cli_fail_errno(err, "write", name_of(rows));
}

/* ---- opening ---- */

enum { MOST_TRIES = 100 };

static ms_status fail_locked(const ms_cli_rows *rows, ms_error *err)
{
    return ms_cli_fail(err, MS_ERR_IO, "another memscope is writing %s", rows->part);
}

/* Hours of rows, or a file of something else: nobody asked to delete it. */
static ms_status refuse_rows(ms_cli_rows *rows, ms_error *err)
{
    struct stat there;
    if (fstat(rows->fd, &there) != 0 || there.st_size == 0)
        return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "%s already exists: continue it with --resume, or remove it", rows->part);
}

static bool is_there(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0;
}

/* Whether the open file is still the one of that name: between opening and locking it another
 * program may have ended, which gives its file another name. */
static bool has_name(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Two programs that append to one file would mix their rows. Not every file system has locks. What
 * is made anew may be read by whom the file could be read by. *again: the file went away. */
static ms_status try_part(ms_cli_rows *rows, bool resume, bool *again, ms_error *err)
{
    bool has_part = is_there(rows->part);
    rows->is_whole = resume && !has_part && is_there(rows->place.target);
    const char *name = rows->is_whole ? rows->place.target : rows->part;
    rows->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (rows->fd < 0)
        return cannot_write(rows, err);
    if (flock(rows->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail_locked(rows, err);
    *again = !has_name(rows->fd, name);
    if (*again)
        close(rows->fd);
    else if (!has_part && !rows->is_whole)
        (void)fchmod(rows->fd, rows->place.mode); /* a file system without modes is fine */
    return MS_OK;
}

static ms_status open_part(ms_cli_rows *rows, bool resume, ms_error *err)
{
    const char *target = rows->place.target;
    size_t length = strlen(target) + sizeof ".part";
    rows->part = malloc(length);
    if (!rows->part)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory to write %s", rows->path);
    snprintf(rows->part, length, "%s.part", target);
    ms_status status = ms_cli_guard_output(rows->part, err);
    bool again = true;
    for (int i = 0; i < MOST_TRIES && again && status == MS_OK; i++) {
        rows->fd = -1;
        again = false;
        status = try_part(rows, resume, &again, err);
    }
    if (status == MS_OK && again) {
        rows->fd = -1;
        status = fail_locked(rows, err);
    }
    if (status != MS_OK || resume)
        return status;
    status = refuse_rows(rows, err);
    return status == MS_OK ? ms_cli_rows_cut(rows, 0, err) : status;
}

static ms_status open_in_place(ms_cli_rows *rows, bool resume, ms_error *err)
{
    if (resume)
        return ms_cli_fail(err, MS_ERR_USAGE, "--resume continues a file: name it with -o FILE");
    rows->fd = rows->path ? open(rows->path, O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
    return rows->fd >= 0 ? MS_OK : cannot_write(rows, err);
}

ms_status ms_cli_rows_open(ms_cli_rows *rows, const char *path, bool resume, ms_error *err)
{
    *rows = (ms_cli_rows){.path = path, .fd = -1};
    ms_status status = ms_cli_find_place(path, &rows->place, err);
    if (status != MS_OK)
        return status;
    if (rows->place.is_stdout)
        rows->path = NULL;
    return rows->place.target ? open_part(rows, resume, err) : open_in_place(rows, resume, err);
}

FILE *ms_cli_rows_read(const ms_cli_rows *rows, ms_error *err)
{
    FILE *file = fopen(rows->is_whole ? rows->place.target : rows->part, "r");
    if (!file)
        ms_cli_fail_errno(err, "read", rows->path);
    return file;
}

/* ---- writing ---- */

ms_status ms_cli_rows_cut(ms_cli_rows *rows, uint64_t bytes, ms_error *err)
{
    rows->whole_bytes = bytes;
    if (rows->is_whole && rename(rows->place.target, rows->part) != 0)
        return cannot_write(rows, err);
    rows->is_whole = false;
    if (ftruncate(rows->fd, (off_t)bytes) != 0 || lseek(rows->fd, (off_t)bytes, SEEK_SET) < 0)
        return cannot_write(rows, err);
    return MS_OK;
}

/* What was written of a row that did not get through is taken back where that can be. */
static ms_status take_back(ms_cli_rows *rows, size_t written, ms_error *err)
{
    int reason = errno;
    off_t end = written ? lseek(rows->fd, 0, SEEK_CUR) : -1;
    if (end >= (off_t)written && ftruncate(rows->fd, end - (off_t)written) == 0)
        (void)lseek(rows->fd, end - (off_t)written, SEEK_SET);
    errno = reason;
    if (reason == EPIPE && !rows->path) {
        rows->is_closed = true;
        return ms_cli_fail(err, MS_ERR_IO, "the program that read the rows has exited");
    }
    return cannot_write(rows, err);
}

ms_status ms_cli_rows_add(void *context, const char *text, size_t length, ms_error *err)
{
    ms_cli_rows *rows = context;
    for (size_t written = 0; written < length;) {
        ssize_t bytes = write(rows->fd, text + written, length - written);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return take_back(rows, written, err);
        written += (size_t)bytes;
    }
    rows->whole_bytes += length;
    return MS_OK;
}

ms_status ms_cli_rows_finish(ms_cli_rows *rows, ms_error *err)
{
    if (!rows->part || rows->is_whole)
        return MS_OK;
    if (ms_cli_guard_output(rows->path, err) != MS_OK) /* a point may have read it */
        return err->status;
    if (!has_name(rows->fd, rows->part))
        return ms_cli_fail(err, MS_ERR_IO, "%s was removed or replaced while it was written",
                           rows->part);
    bool done = fsync(rows->fd) == 0 && rename(rows->part, rows->place.target) == 0;
    return done ? MS_OK : cannot_write(rows, err);
}

void ms_cli_rows_close(ms_cli_rows *rows)
{
    if (rows->fd >= 0 && rows->fd != STDOUT_FILENO)
        close(rows->fd);
    free(rows->part);
    free(rows->place.target);
    *rows = (ms_cli_rows){.fd = -1};
}
