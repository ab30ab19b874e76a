/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE /* for flock; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "cli/capture/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/message.h"

enum { MOST_TRIES = 8, MOST_DEPTH = 64, WAIT_NS = 20000000 };
static const char prefix[] = ".capture.", lock_name[] = ".lock";
static const char mark[] = "memscope capture works in this folder\n"; /* in the lock file */

/* ---- removing ---- */

static bool is_itself_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes what is in the folder but `kept`; links are not followed. Closes the folder. */
static void remove_contents(int folder, const char *kept, int depth)
{
    DIR *dir = fdopendir(folder);
    const struct dirent *entry;
    if (!dir) {
        close(folder);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (is_itself_or_parent(entry->d_name) || (kept && strcmp(entry->d_name, kept) == 0))
            continue;
        if (unlinkat(folder, entry->d_name, 0) == 0 || depth >= MOST_DEPTH)
            continue;
        int inner = open_folder(folder, entry->d_name);
        if (inner < 0)
            continue;
        remove_contents(inner, NULL, depth + 1);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

static bool holds_lock_alone(int parent, const char *name)
{
    int folder = open_folder(parent, name);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;
    bool alone = true;
    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL)
        alone =
            alone && (is_itself_or_parent(entry->d_name) || strcmp(entry->d_name, lock_name) == 0);
    closedir(dir);
    return alone;
}

/* The lock file goes last: a folder that is still written into stays, to be removed later. */
static void remove_folder(int parent, const char *name)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        int folder = open_folder(parent, name);
        if (folder < 0)
            return;
        remove_contents(folder, lock_name, 0);
        if (holds_lock_alone(parent, name))
            break;
        nanosleep(&(const struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    int folder = holds_lock_alone(parent, name) ? open_folder(parent, name) : -1;
    if (folder < 0)
        return;
    unlinkat(folder, lock_name, 0);
    close(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- what ended runs left ---- */

static bool has_mark(int lock)
{
    char text[sizeof mark] = "";
    struct stat file;
    return fstat(lock, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
           file.st_nlink == 1 && file.st_size == sizeof mark - 1 &&
           pread(lock, text, sizeof text, 0) == sizeof mark - 1 && strcmp(text, mark) == 0;
}

/* A file system without locks reports that, and nothing is removed there. */
static void remove_if_left(int place, const char *name)
{
    int folder = open_folder(place, name);
    int lock = folder < 0 ? -1 : openat(folder, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
    if (lock < 0)
        return;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 && has_mark(lock))
        remove_folder(place, name);
    close(lock);
}

static bool is_ours(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && strlen(name) == sizeof prefix - 1 + 6;
}

static void remove_left(const char *place)
{
    DIR *dir = opendir(place);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        if (is_ours(entry->d_name))
            remove_if_left(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

/* ---- making ---- */

/* Another run may come between the file and its lock, to look whether the folder was left. */
static bool take_lock(ms_cli_scratch *scratch)
{
    char path[MS_CLI_SCRATCH_BYTES + sizeof lock_name];
    snprintf(path, sizeof path, "%s/%s", scratch->path, lock_name);
    scratch->lock = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (scratch->lock < 0)
        return false;
    if ((flock(scratch->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
        write(scratch->lock, mark, sizeof mark - 1) == sizeof mark - 1)
        return true;
    int reason = errno;
    close(scratch->lock);
    unlink(path);
    errno = reason;
    return false;
}

ms_status ms_cli_scratch_make(const char *place, ms_cli_scratch *scratch, ms_error *err)
{
    remove_left(place);
    for (int i = 0; i < MOST_TRIES; i++) {
        int length = snprintf(scratch->path, sizeof scratch->path, "%s/%sXXXXXX", place, prefix);
        if (length < 0 || (size_t)length >= sizeof scratch->path)
            return ms_cli_fail(err, MS_ERR_USAGE, "--out: the name is too long");
        if (!mkdtemp(scratch->path))
            break;
        if (take_lock(scratch))
            return MS_OK;
        int reason = errno;
        rmdir(scratch->path);
        errno = reason;
    }
    return ms_cli_fail(err, MS_ERR_IO, "cannot write to %.100s: %s", place, strerror(errno));
}

void ms_cli_scratch_remove(ms_cli_scratch *scratch)
{
    remove_folder(AT_FDCWD, scratch->path);
    close(scratch->lock);
}
