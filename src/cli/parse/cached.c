/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/cached.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memscope/memscope.h"

enum { PATH_BYTES = 4096, COMMIT_BYTES = 64, SIDES = 2 };

/* False: there is none, or no room for it. */
static bool write_folder(const char *owner, int owner_bytes, const char *name, char *folder)
{
    const char *hub = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME"), *user = getenv("HOME");
    const char *base = hub && *hub ? hub : home && *home ? home : user;
    const char *below = base == hub ? "" : base == home ? "/hub" : "/.cache/huggingface/hub";
    if (!base || !*base)
        return false;
    int length = snprintf(folder, PATH_BYTES, "%s%s/models--%.*s--%s", base, below, owner_bytes,
                          owner, name);
    return length > 0 && length < PATH_BYTES - COMMIT_BYTES - 64;
}

/* A file with something in it, not a pipe or a device, which may have nothing for ever. */
static FILE *open_plain(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* The commit that "main" is at, which names the folder of its files. */
static bool read_commit(const char *folder, char commit[COMMIT_BYTES])
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/refs/main", folder);
    FILE *file = open_plain(path);
    bool is_read = file && fgets(commit, COMMIT_BYTES, file) != NULL;
    if (file)
        fclose(file);
    if (!is_read)
        return false;
    commit[strcspn(commit, "\n")] = '\0';
    return *commit && !commit[strspn(commit, "0123456789abcdef")];
}

const char *ms_cli_cached(const char *model)
{
    static char paths[SIDES][PATH_BYTES];
    static unsigned used;
    char folder[PATH_BYTES], commit[COMMIT_BYTES];
    struct stat info;
    const char *slash = strchr(model, '/');
    bool is_id = slash && slash != model && slash[1] && !strchr(slash + 1, '/') && *model != '.';
    if (!is_id || ms_model_is_named(model) ||
        !write_folder(model, (int)(slash - model), slash + 1, folder) ||
        !read_commit(folder, commit))
        return model;
    char *path = paths[used++ % SIDES];
    snprintf(path, PATH_BYTES, "%.3900s/snapshots/%s/config.json", folder, commit);
    return stat(path, &info) == 0 ? path : model;
}
