/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "text/formats.h"

#include <errno.h>
#include <string.h>

const void *ms_formats_at(const ms_formats *formats, size_t index)
{
    const char *rows = formats->rows;
    return index < formats->count ? rows + index * formats->row_bytes : NULL;
}

const char *ms_formats_name_at(const ms_formats *formats, size_t index)
{
    const char *const *name = ms_formats_at(formats, index);
    return name ? *name : NULL;
}

enum { MOST_NAMES = 160 };

/* "console, json and md" */
static const char *list_names(const ms_formats *formats, char text[MOST_NAMES])
{
    int length = 0;
    for (size_t i = 0; i < formats->count && length < MOST_NAMES; i++)
        length += snprintf(text + length, (size_t)(MOST_NAMES - length), "%s%s",
                           i == 0                   ? ""
                           : i + 1 < formats->count ? ", "
                                                    : " and ",
                           ms_formats_name_at(formats, i));
    return text;
}

const void *ms_formats_find(const ms_formats *formats, const char *name, ms_error *err)
{
    for (size_t i = 0; i < formats->count; i++)
        if (strcmp(name, ms_formats_name_at(formats, i)) == 0)
            return ms_formats_at(formats, i);
    ms_error_set(err, MS_ERR_USAGE, "no format \"%.40s\" of %s; there are %s", name,
                 formats->document, list_names(formats, (char[MOST_NAMES]){0}));
    return NULL;
}

ms_status ms_formats_finish(FILE *out, const char *what, ms_error *err)
{
    if (fflush(out) == 0 && !ferror(out))
        return MS_OK;
    return ms_fail(err, errno == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot write %s: %s", what,
                   errno ? strerror(errno) : "the output failed");
}
