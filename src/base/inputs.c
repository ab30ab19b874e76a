/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/inputs.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/identity.h"

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
        return ms_fail(err, MS_ERR_IO, "%.160s is no folder", folder);
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
                     : ms_fail(err, MS_ERR_IO, "it is outside of %.160s, the folder of --root",
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
