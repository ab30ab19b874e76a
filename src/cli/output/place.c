/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "cli/output/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/guard.h"
#include "cli/output/message.h"

static ms_status cannot_write(ms_error *err, const char *path)
{
    return ms_cli_fail(err, errno == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot write %s: %s", path,
                       strerror(errno));
}

const char *ms_cli_path(const char *path)
{
    static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1",
                                        "/proc/thread-self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return "-";
    return path;
}

/* What a new file may be: all but what the umask takes away. */
static mode_t default_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return (mode_t)(0666 & ~mask);
}

static bool is_link(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);
}

static ms_status find_new_place(const char *path, ms_cli_place *place, ms_error *err)
{
    if (errno != ENOENT)
        return cannot_write(err, path);
    if (ms_cli_refuse_link_to_nothing(path, err) != MS_OK)
        return err->status;
    place->mode = default_mode();
    place->target = strdup(path);
    return place->target ? MS_OK : cannot_write(err, path);
}

ms_status ms_cli_find_place(const char *path, ms_cli_place *place, ms_error *err)
{
    struct stat there;
    *place = (ms_cli_place){.is_stdout = !path || strcmp(path, "-") == 0};
    if (ms_cli_guard_output(place->is_stdout ? "-" : path, err) != MS_OK)
        return err->status;
    if (place->is_stdout)
        return MS_OK;
    if (stat(path, &there) != 0)
        return find_new_place(path, place, err);
    if (S_ISDIR(there.st_mode))
        return ms_cli_fail(err, MS_ERR_IO, "cannot write %s: it is a directory", path);
    if (!S_ISREG(there.st_mode))
        return MS_OK;
    if (access(path, W_OK) != 0) /* a rename would get around what its owner forbade */
        return cannot_write(err, path);
    place->mode = there.st_mode & 0777;
    place->target = is_link(path) ? realpath(path, NULL) : strdup(path); /* a link stays a link */
    return place->target ? MS_OK : cannot_write(err, path);
}

static ms_status check_folder(const char *path, ms_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = malloc(length + sizeof ".");
    if (!folder)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory to write %s", path);
    memcpy(folder, path, length);
    memcpy(folder + length, ".", sizeof ".");
    ms_status status = access(folder, W_OK) == 0 ? MS_OK : cannot_write(err, path);
    free(folder);
    return status;
}

ms_status ms_cli_check_place(const char *path, ms_error *err)
{
    ms_cli_place place = {.target = NULL};
    ms_status status = ms_cli_find_place(path, &place, err);
    if (status == MS_OK && place.target)
        status = check_folder(place.target, err);
    free(place.target);
    return status;
}

ms_status ms_cli_make_directory(const char *path, ms_error *err)
{
    size_t length = strlen(path);
    char *part = malloc(length + 1);
    if (!part)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory to make %s", path);
    ms_status status = MS_OK;
    for (size_t i = 1; i <= length && status == MS_OK; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        struct stat there;
        if (mkdir(part, 0777) != 0 && !(stat(part, &there) == 0 && S_ISDIR(there.st_mode)))
            status = ms_cli_fail(err, MS_ERR_IO, "cannot make the directory %s: %s", part,
                                 strerror(errno == EEXIST ? ENOTDIR : errno));
    }
    free(part);
    return status;
}
