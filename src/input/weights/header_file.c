/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/header_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/place.h"
#include "input/weights/safetensors.h"

ms_status ms_header_file_fail(const char *path, ms_status status, const char *why, ms_error *err)
{
    ms_error_set(err, status, "%s", why);
    ms_json_place_file(path, err);
    return status;
}

static ms_status read_bytes(const ms_header_file *f, void *to, uint64_t bytes, uint64_t at,
                            ms_error *err)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t more =
            pread(fileno(f->file), (char *)to + done, (size_t)(bytes - done), (off_t)(at + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return ms_header_file_fail(f->path, MS_ERR_IO,
                                       more < 0 ? strerror(errno) : "it became shorter", err);
        done += (uint64_t)more;
    }
    return MS_OK;
}

static ms_status read_header(ms_header_file *f, ms_error *err)
{
    uint8_t first[MS_SAFETENSORS_LENGTH_BYTES];
    uint64_t length = 0;
    if (f->bytes < sizeof first)
        return ms_header_file_fail(f->path, MS_ERR_CONFIG, "no safetensors file: it is too short",
                                   err);
    ms_status status = read_bytes(f, first, sizeof first, 0, err);
    if (status == MS_OK)
        status = ms_safetensors_length(f->path, first, f->bytes, &length, err);
    if (status != MS_OK)
        return status;
    if (length > f->room) {
        free(f->text);
        f->text = malloc((size_t)length);
        f->room = f->text ? (size_t)length : 0;
    }
    f->length = (size_t)length;
    if (!f->text)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for files of weights");
    return read_bytes(f, f->text, length, sizeof first, err);
}

ms_status ms_header_file_open(ms_arena *arena, const char *path, ms_header_file *f, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    struct stat facts;
    f->path = path;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a pipe waits for a writer */
        return ms_header_file_fail(path, MS_ERR_CONFIG, "no safetensors file", err);
    f->file = ms_file_open(ms_arena_inputs(arena), path, &reason);
    if (!f->file)
        return ms_header_file_fail(path, reason.status, reason.text, err);
    if (fstat(fileno(f->file), &facts) != 0)
        return ms_header_file_fail(path, MS_ERR_IO, strerror(errno), err);
    if (!S_ISREG(facts.st_mode) || facts.st_size <= 0)
        return ms_header_file_fail(path, MS_ERR_CONFIG, "no safetensors file", err);
    f->bytes = (uint64_t)facts.st_size;
    return read_header(f, err);
}

void ms_header_file_close(ms_header_file *f)
{
    ms_file_close(f->file);
    f->file = NULL;
}

void ms_header_file_free(ms_header_file *f)
{
    ms_header_file_close(f);
    free(f->text);
    *f = (ms_header_file){.text = NULL};
}
