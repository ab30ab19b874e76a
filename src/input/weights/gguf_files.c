/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/gguf_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/place.h"

enum { MAX_SPLITS = 4096 };

static ms_status fail_file(const char *path, ms_status status, const char *why, ms_error *err)
{
    ms_error_set(err, status, "%s", why);
    ms_json_place_file(path, err);
    return status;
}

typedef struct opened {
    FILE *file;
    const char *path;
} opened;

static ms_status read_at(const void *from, uint64_t at, void *to, size_t bytes, ms_error *err)
{
    const opened *o = from;
    for (size_t done = 0; done < bytes;) {
        ssize_t more = pread(fileno(o->file), (char *)to + done, bytes - done, (off_t)(at + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return fail_file(o->path, MS_ERR_IO, more < 0 ? strerror(errno) : "it became shorter",
                             err);
        done += (size_t)more;
    }
    return MS_OK;
}

static ms_status open_one(ms_arena *arena, const char *path, ms_gguf *gguf, ms_error *err)
{
    struct stat facts;
    ms_error reason = {.status = MS_OK};
    opened o = {.path = path};
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a pipe waits for a writer */
        return fail_file(path, MS_ERR_CONFIG, "no GGUF file", err);
    o.file = ms_file_open(ms_arena_inputs(arena), path, &reason);
    if (!o.file)
        return fail_file(path, reason.status, reason.text, err);
    ms_status status = MS_OK;
    if (fstat(fileno(o.file), &facts) != 0)
        status = fail_file(path, MS_ERR_IO, strerror(errno), err);
    const ms_gguf_source source = {
        .name = path, .bytes = (uint64_t)facts.st_size, .from = &o, .read = read_at};
    if (status == MS_OK)
        status = ms_gguf_read(arena, &source, gguf, err);
    ms_file_close(o.file);
    return status;
}

bool ms_gguf_files_is_one(ms_inputs *inputs, const char *path)
{
    struct stat facts;
    char magic[4] = "";
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    FILE *file = ms_file_open(inputs, path, NULL);
    bool is_one = file && fread(magic, 1, sizeof magic, file) == sizeof magic &&
                  memcmp(magic, "GGUF", sizeof magic) == 0;
    ms_file_close(file);
    return is_one;
}

/* ---- a split model ---- */

/* "model-00002-of-00003.gguf" beside "model-00001-of-00003.gguf"; NULL: the first is not named so,
 * or there is no memory. */
static const char *path_of(ms_arena *arena, const char *first, uint32_t split, uint32_t count)
{
    char ending[48];
    snprintf(ending, sizeof ending, "-%05d-of-%05" PRIu32 ".gguf", 1, count);
    size_t length = strlen(first), cut = strlen(ending);
    if (length <= cut || strcmp(first + length - cut, ending) != 0)
        return NULL;
    return ms_arena_printf(arena, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)(length - cut),
                           first, split + 1, count);
}

static ms_status add_split(ms_arena *arena, const char *path, uint32_t split, ms_gguf *gguf,
                           ms_error *err)
{
    ms_gguf more = {0};
    ms_status status = open_one(arena, path, &more, err);
    if (status != MS_OK)
        return status;
    const ms_gguf_value *number = ms_gguf_find(&more, "split.no");
    if (!number || number->number != (int64_t)split)
        status = fail_file(path, MS_ERR_CONFIG, "its split.no is not the number in its name", err);
    for (uint32_t i = 0; i < more.tensors.count && status == MS_OK; i++) {
        more.tensors.items[i].file = split;
        if (!ms_vec_push(&gguf->tensors, more.tensors.items[i]))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the tensors of a model");
    }
    gguf->header_bytes += more.header_bytes;
    gguf->file_bytes += more.file_bytes;
    ms_gguf_free(&more);
    return status;
}

static ms_status add_splits(ms_arena *arena, const char *path, uint32_t count, ms_gguf *gguf,
                            ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t split = 1; split < count && status == MS_OK; split++) {
        const char *other = path_of(arena, path, split, count);
        status = other ? add_split(arena, other, split, gguf, err)
                       : fail_file(path, MS_ERR_CONFIG,
                                   "a split model is given by its first file, whose name ends "
                                   "with -00001-of-N.gguf",
                                   err);
    }
    return status;
}

ms_status ms_gguf_files_open(ms_arena *arena, const char *path, ms_gguf *gguf, uint32_t *splits,
                             ms_error *err)
{
    ms_status status = open_one(arena, path, gguf, err);
    *splits = 1;
    if (status != MS_OK)
        return status;
    const ms_gguf_value *count = ms_gguf_find(gguf, "split.count");
    const ms_gguf_value *number = ms_gguf_find(gguf, "split.no");
    if (count && count->number > 1) {
        if (count->number > MAX_SPLITS)
            status = fail_file(path, MS_ERR_CONFIG, "its split.count is above 4096", err);
        else if (number && number->number != 0)
            status = fail_file(path, MS_ERR_CONFIG,
                               "it is a later part of a split model: name the first", err);
        *splits = (uint32_t)count->number;
        if (status == MS_OK)
            status = add_splits(arena, path, *splits, gguf, err);
    }
    if (status != MS_OK)
        ms_gguf_free(gguf);
    return status;
}
