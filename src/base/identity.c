/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "base/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the last word of a path begins, with the slashes after it: "a/b//" has "b//". */
static size_t last_word(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

/* Whether the first `length` bytes of a path are a folder; `copy` has room for them and a dot. */
static bool is_folder(const char *path, size_t length, char *copy, struct stat *facts)
{
    memcpy(copy, length ? path : ".", length ? length : 1);
    copy[length ? length : 1] = '\0';
    return stat(copy, facts) == 0;
}

/* Adds the words of a path, without empty ones and dots. */
static void add_words(const char *path, char *to)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length > 0 && !(length == 1 && *path == '.'))
            to += sprintf(to, "/%.*s", (int)length, path);
        path += length + (path[length] == '/');
    }
}

char *ms_file_identity(const char *path)
{
    enum { NUMBERS = 64 };
    struct stat facts = {0};
    size_t length = strlen(path);
    char *text = malloc(2 * length + NUMBERS + 2), *copy = text;
    if (!text)
        return NULL;
    size_t known = stat(path, &facts) == 0 ? length : last_word(path, length);
    while (known < length && !is_folder(path, known, copy, &facts) && known > 0)
        known = last_word(path, known);
    int used =
        sprintf(text, "%" PRIuMAX ":%" PRIuMAX, (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    add_words(path + known, text + used);
    return text;
}

/* ---- where a path leads ---- */

/* Adds words to a path of `length` bytes that has room for them. */
static void follow_words(const char *words, char *path, size_t length)
{
    while (*words) {
        size_t bytes = strcspn(words, "/");
        if (bytes == 2 && memcmp(words, "..", 2) == 0)
            while (length > 0 && path[--length] != '/')
                ;
        else if (bytes > 0 && !(bytes == 1 && *words == '.'))
            length += (size_t)sprintf(path + length, "/%.*s", (int)bytes, words);
        words += bytes + (words[bytes] == '/');
    }
    path[length] = '\0';
}

/* Adds words to a resolved folder; frees it where there is no memory. */
static char *append(char *folder, const char *words)
{
    size_t length = strlen(folder);
    char *text = realloc(folder, length + strlen(words) + 2);
    if (!text)
        free(folder);
    else
        follow_words(words, text, length > 1 ? length : 0);
    if (text && !*text)
        memcpy(text, "/", sizeof "/");
    return text;
}

/* The longest part of a path that exists, resolved; `copy` has room for the path and a dot. */
static char *resolve_known(const char *path, size_t *known, char *copy)
{
    struct stat facts;
    while (true) {
        if (is_folder(path, *known, copy, &facts))
            return realpath(copy, NULL);
        bool may_be_new = errno == ENOENT || errno == ENOTDIR;
        if (*known == 0 || !may_be_new || lstat(copy, &facts) == 0)
            return NULL;
        *known = last_word(path, *known);
    }
}

char *ms_file_resolve(const char *path)
{
    size_t known = strlen(path);
    char *copy = malloc(known + 2), *found = NULL;
    errno = 0;
    if (copy)
        found = resolve_known(path, &known, copy);
    bool is_short = !copy || (!found && errno == ENOMEM);
    free(copy);
    found = found ? append(found, path + known) : NULL;
    if (is_short)
        errno = ENOMEM;
    return found;
}

bool ms_file_is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    if (length == 1) /* the root of all */
        return *path == '/';
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}
