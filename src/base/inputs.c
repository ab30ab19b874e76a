/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */

#include "base/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* ---- identity ---- */

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

/* ---- inputs ---- */

typedef struct input {
    dev_t device;
    ino_t inode;
    char name[];
} input;

struct ms_inputs {
    pthread_mutex_t lock;
    void *tree;             /* of struct input, by device and inode */
    char *root, *root_name; /* resolved, and as it was named; NULL: files may be anywhere */
};

static int compare(const void *a, const void *b)
{
    const input *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

ms_inputs *ms_inputs_create(void)
{
    ms_inputs *inputs = calloc(1, sizeof *inputs);
    if (inputs && pthread_mutex_init(&inputs->lock, NULL) == 0)
        return inputs;
    free(inputs);
    return NULL;
}

void ms_inputs_free(ms_inputs *inputs)
{
    if (!inputs)
        return;
    while (inputs->tree) {
        input *first = *(input **)inputs->tree;
        tdelete(first, &inputs->tree, compare);
        free(first);
    }
    pthread_mutex_destroy(&inputs->lock);
    free(inputs->root);
    free(inputs->root_name);
    free(inputs);
}

/* Takes the input; false when memory is short. */
static bool insert(ms_inputs *inputs, input *one)
{
    pthread_mutex_lock(&inputs->lock);
    input **found = tsearch(one, &inputs->tree, compare);
    pthread_mutex_unlock(&inputs->lock);
    if (!found || *found != one)
        free(one);
    return found != NULL;
}

ms_status ms_inputs_note(ms_inputs *inputs, const char *name, const struct stat *file,
                         ms_error *err)
{
    if (!inputs || !S_ISREG(file->st_mode))
        return MS_OK;
    input *one = malloc(sizeof *one + strlen(name) + 1);
    if (one) {
        one->device = file->st_dev;
        one->inode = file->st_ino;
        memcpy(one->name, name, strlen(name) + 1);
    }
    return one && insert(inputs, one)
               ? MS_OK
               : ms_fail(err, MS_ERR_NOMEM, "out of memory for the name of an input");
}

static bool look(const char *path, int stream, struct stat *file)
{
    return (strcmp(path, "-") == 0 ? fstat(stream, file) : stat(path, file)) == 0;
}

ms_status ms_inputs_add(ms_inputs *inputs, const char *path, ms_error *err)
{
    struct stat file;
    if (!inputs || !path)
        return ms_fail_null(err);
    return look(path, STDIN_FILENO, &file) ? ms_inputs_note(inputs, path, &file, err) : MS_OK;
}

const char *ms_inputs_find(ms_inputs *inputs, const char *path)
{
    struct stat file;
    if (!inputs || !path || !look(path, STDOUT_FILENO, &file) || !S_ISREG(file.st_mode))
        return NULL;
    const input wanted = {.device = file.st_dev, .inode = file.st_ino};
    pthread_mutex_lock(&inputs->lock);
    input **found = tfind(&wanted, &inputs->tree, compare);
    pthread_mutex_unlock(&inputs->lock);
    return found ? (*found)->name : NULL;
}

/* ---- where they may be ---- */

ms_status ms_inputs_set_root(ms_inputs *inputs, const char *folder, ms_error *err)
{
    struct stat facts;
    if (!inputs || !folder)
        return ms_fail_null(err);
    if (stat(folder, &facts) != 0)
        return ms_fail(err, MS_ERR_IO, "%.160s: %s", folder, strerror(errno));
    if (!S_ISDIR(facts.st_mode))
        return ms_fail(err, MS_ERR_IO, "%.160s is not a folder", folder);
    free(inputs->root);
    free(inputs->root_name);
    inputs->root = ms_file_resolve(folder);
    inputs->root_name = strdup(folder);
    return inputs->root && inputs->root_name
               ? MS_OK
               : ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
}

bool ms_inputs_has_root(const ms_inputs *inputs)
{
    return inputs && inputs->root;
}

ms_status ms_inputs_admit(const ms_inputs *inputs, const char *path, ms_error *err)
{
    if (!ms_inputs_has_root(inputs) || strcmp(path, "-") == 0)
        return MS_OK;
    char *resolved = ms_file_resolve(path);
    if (!resolved && errno == ENOMEM)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    bool is_within = resolved && ms_file_is_within(resolved, inputs->root);
    free(resolved);
    return is_within ? MS_OK
                     : ms_fail(err, MS_ERR_IO, "it is outside %.160s, the folder of --root",
                               inputs->root_name);
}

/* ---- names ---- */

static bool may_be_regular(const char *path)
{
    struct stat file;
    return stat(path, &file) != 0 || S_ISREG(file.st_mode);
}

bool ms_is_same_file(const char *a, const char *b)
{
    if (!a || !b || !may_be_regular(a) || !may_be_regular(b))
        return false;
    char *one = ms_file_identity(a), *other = ms_file_identity(b);
    bool is_same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return is_same;
}
