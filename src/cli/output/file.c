/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report replaces its previous version only once it is completely on disk.
 */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */

#include "cli/output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "memscope/error.h"

/* ---- place ---- */

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

/* ---- temporary ---- */

/* A temporary file beside the one it will replace. A signal that ends the program removes it
 * first. */

/* Signals that end a program and that somebody sends. SIGXFSZ is ignored: a write that fails is an
 * error like another one. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};

enum { ENDINGS = sizeof endings / sizeof endings[0] };

static struct sigaction before[ENDINGS];

static _Atomic(const char *) current;

/* The signal comes again when the handler returns, and ends the program as it would have. */
static void remove_and_end(int number)
{
    const char *name = atomic_load(&current);
    if (name)
        unlink(name);
    signal(number, SIG_DFL);
    raise(number);
}

/* Those that are ignored, or that somebody else takes, stay as they are. */
static void take_signals(void)
{
    struct sigaction wanted = {.sa_handler = remove_and_end};
    sigemptyset(&wanted.sa_mask);
    for (int i = 0; i < ENDINGS; i++)
        if (sigaction(endings[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
            sigaction(endings[i], &wanted, NULL);
}

/* Creates a file as mkstemp does, one at a time. `name` must stay valid until
 * cli_temporary_done. Returns a descriptor; on failure a negative number, with errno set. */
static int cli_temporary_make(char *name)
{
    sigset_t ending, mask;
    sigemptyset(&ending);
    for (int i = 0; i < ENDINGS; i++)
        sigaddset(&ending, endings[i]);
    sigprocmask(SIG_BLOCK, &ending, &mask); /* no file without a handler that knows it */
    int fd = mkstemp(name), reason = errno;
    if (fd >= 0) {
        atomic_store(&current, name);
        take_signals();
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = reason;
    return fd;
}

/* Call it when the file was renamed or removed. */
static void cli_temporary_done(void)
{
    int reason = errno;
    for (int i = 0; i < ENDINGS; i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(endings[i], &before[i], NULL);
    atomic_store(&current, NULL);
    errno = reason;
}

/* ---- file ---- */

enum { BUFFER_BYTES = 64 * 1024 };

/* Lets the source write into `out`. False: it failed, errno says why; or err does, when it is no
 * fault of the output. */
static bool fill(FILE *out, const ms_cli_source *source, ms_error *err)
{
    ms_error inner = {.status = MS_OK};
    errno = 0;
    ms_status status = source->write(out, source, &inner);
    bool is_output = status == MS_ERR_IO && ferror(out);
    if (status != MS_OK && !is_output && err->status == MS_OK)
        *err = inner;
    return status == MS_OK && fflush(out) == 0 && !ferror(out);
}

static ms_status write_stream(FILE *out, const char *name, const ms_cli_source *source,
                              ms_error *err)
{
    if (fill(out, source, err))
        return MS_OK;
    int reason = errno;
    clearerr(out); /* reported here, or no error */
    errno = reason;
    if (reason == EPIPE && err->status == MS_OK)
        return MS_OK;
    return cannot_write(err, name);
}

ms_status ms_cli_write_stderr(const ms_cli_source *source, ms_error *err)
{
    return write_stream(stderr, "to standard error", source, err);
}

/* Closes fd whatever happens; errno is of the first step that failed. */
static bool fill_and_close(int fd, const ms_cli_source *source, bool sync, ms_error *err)
{
    static char buffer[BUFFER_BYTES]; /* one file is written at a time */
    FILE *out = fdopen(fd, "w");
    if (!out) {
        int reason = errno;
        close(fd);
        errno = reason;
        return false;
    }
    setvbuf(out, buffer, _IOFBF, sizeof buffer);
    bool ok = fill(out, source, err) && (!sync || fsync(fd) == 0);
    int reason = errno;
    if (fclose(out) != 0 && ok)
        return false;
    errno = reason;
    return ok;
}

static ms_status write_in_place(const char *path, const ms_cli_source *source, ms_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !fill_and_close(fd, source, false, err))
        return cannot_write(err, path);
    return MS_OK;
}

ms_status ms_cli_append_file(const char *path, const ms_cli_source *source, ms_error *err)
{
    if (ms_cli_guard_output(path, err) != MS_OK)
        return err->status;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || !fill_and_close(fd, source, false, err))
        return cannot_write(err, path);
    return MS_OK;
}

/* So that the rename itself survives a crash; not every file system can, so failure is ignored. */
static void sync_directory_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* A link replaces nothing. Where the file system has none, an empty file takes the name first. */
static bool give_new_name(const char *temporary, const char *target)
{
    if (link(temporary, target) == 0) {
        (void)unlink(temporary);
        return true;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK)
        return false;
    int fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    close(fd);
    if (rename(temporary, target) == 0)
        return true;
    int reason = errno;
    (void)unlink(target);
    errno = reason;
    return false;
}

static bool give_name(const char *temporary, const char *target, bool is_new)
{
    return is_new ? give_new_name(temporary, target) : rename(temporary, target) == 0;
}

/* errno is of the first step that failed. */
static bool replace(const char *target, char *temporary, const ms_cli_place *place,
                    const ms_cli_source *source, ms_error *err)
{
    int fd = cli_temporary_make(temporary);
    if (fd < 0)
        return false;
    (void)fchmod(fd, place->mode); /* a file system without modes is fine */
    bool done = fill_and_close(fd, source, true, err) &&
                ms_cli_guard_output(target, err) == MS_OK &&
                give_name(temporary, target, place->is_new);
    int reason = errno;
    if (!done)
        unlink(temporary);
    cli_temporary_done();
    if (done)
        sync_directory_of(temporary);
    errno = reason;
    return done;
}

static ms_status replace_file(const char *path, const ms_cli_place *place,
                              const ms_cli_source *source, ms_error *err)
{
    const char *target = place->target;
    size_t length = strlen(target) + sizeof ".XXXXXX";
    char *temporary = malloc(length);
    if (!temporary)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory to write %s", path);
    snprintf(temporary, length, "%s.XXXXXX", target);
    ms_status status = MS_OK;
    if (!replace(target, temporary, place, source, err))
        status = cannot_write(err, path);
    free(temporary);
    return status;
}

static ms_status write_file(const char *path, bool is_new, const ms_cli_source *source,
                            ms_error *err)
{
    ms_cli_place place;
    ms_status status = ms_cli_find_place(path, &place, err);
    if (status != MS_OK)
        return status;
    place.is_new = is_new;
    if (place.is_stdout)
        return write_stream(stdout, "to standard output", source, err);
    errno = EEXIST;
    if (!place.target)
        return is_new ? cannot_write(err, path) : write_in_place(path, source, err);
    status = replace_file(path, &place, source, err);
    free(place.target);
    return status;
}

ms_status ms_cli_write_file(const char *path, const ms_cli_source *source, ms_error *err)
{
    return write_file(path, false, source, err);
}

ms_status ms_cli_write_new_file(const char *path, const ms_cli_source *source, ms_error *err)
{
    return write_file(path, true, source, err);
}
