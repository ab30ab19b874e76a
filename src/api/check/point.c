/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/check/point.h"

#include <string.h>

#include "base/error.h"
#include "input/config/model/input.h"

/* A file, or one in a folder that is named. */
static bool leads_to(const char *named, const char *file)
{
    size_t length = named ? strlen(named) : 0;
    return length > 0 && strncmp(named, file, length) == 0 &&
           (!file[length] || file[length] == '/' || named[length - 1] == '/');
}

/* The first text at or below a value that names the file. */
static bool find_text(ms_arena *arena, const char *path, const char *file, ms_json_value value,
                      ms_json_value *found)
{
    ms_json_value v;
    ms_error ignored = {.status = MS_OK};
    const char *text = NULL;
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        *found = value;
        return ms_json_get_string(value, &text, &ignored) == MS_OK && *text &&
               leads_to(ms_path_beside(arena, path, text), file);
    }
    if (ms_json_kind_of(value) != MS_JSON_OBJECT)
        return false;
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v))
        if (find_text(arena, path, file, v, found))
            return true;
    return false;
}

static const ms_error *place_of_file(ms_arena *arena, const char *path, const ms_budget *b,
                                     const char *file)
{
    ms_json_value top = b->infer.document ? b->infer : b->run, found;
    return *file && top.document && find_text(arena, path, file, top, &found)
               ? ms_place_of(arena, found, MS_JSON_AT_VALUE)
               : NULL;
}

void ms_budget_point(ms_arena *arena, const char *path, const ms_budget *b, const ms_error *place,
                     ms_error *err)
{
    if (err->status == MS_OK || (err->file[0] && err->line))
        return;
    ms_error said = *err;
    const ms_error *nearer = place_of_file(arena, path, b, said.file);
    *err = (ms_error){0};
    ms_error_set(err, said.status, "%s%s%.200s", said.file, said.file[0] ? ": " : "", said.text);
    ms_error_copy_place(err, nearer ? nearer : place);
    memcpy(err->more, said.more, sizeof err->more);
}
