/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/place.h"

/* Reads to the end; one byte more than allowed is enough to know. */
static ms_status read_stream(FILE *in, size_t most, char **text, size_t *length, ms_error *err)
{
    size_t capacity = 0;
    for (;;) {
        if (*length == capacity) {
            capacity = capacity ? 2 * capacity : (size_t)64 * 1024;
            char *grown = realloc(*text, capacity);
            if (!grown)
                return ms_fail(err, MS_ERR_NOMEM, "out of memory for %zu bytes", capacity);
            *text = grown;
        }
        size_t got = fread(*text + *length, 1, capacity - *length, in);
        *length += got;
        if (*length > most)
            return ms_fail(err, MS_ERR_LIMIT, "larger than %zu MiB", most >> 20);
        if (got == 0)
            break;
    }
    if (ferror(in))
        return ms_fail(err, MS_ERR_IO, "cannot read: %s", strerror(errno));
    return MS_OK;
}

static ms_status fail_file(ms_status status, const char *name, ms_error *err)
{
    if (err && !err->file[0])
        ms_json_place_file(name, err);
    return status;
}

ms_status ms_json_read_within(ms_inputs *inputs, const char *path, size_t most_bytes,
                              ms_json_source *source, char **text, ms_error *err)
{
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    ms_error reason = {.status = MS_OK};
    *text = NULL;
    FILE *in = ms_file_open(inputs, path, &reason);
    if (!in)
        return fail_file(ms_fail(err, reason.status, "cannot open: %s", reason.text), name, err);
    size_t length = 0;
    ms_status status = read_stream(in, most_bytes, text, &length, err);
    ms_file_close(in);
    if (status != MS_OK) {
        free(*text);
        *text = NULL;
        return fail_file(status, name, err);
    }
    *source = (ms_json_source){.name = name, .text = *text, .length = length};
    return MS_OK;
}

ms_status ms_json_read(ms_inputs *inputs, const char *path, ms_json_source *source, char **text,
                       ms_error *err)
{
    return ms_json_read_within(inputs, path, MS_JSON_MAX_BYTES, source, text, err);
}
