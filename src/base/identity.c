/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/identity.h"

#include <inttypes.h>
#include <stdbool.h>
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
