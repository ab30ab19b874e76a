/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/writers.h"

#include <errno.h>
#include <string.h>

#include "base/text/output.h"

/* Each writer with its view's type, as functions of one type. */
#define DEFINE(document, function, ...)                                                            \
    static bool write_##function(FILE *out, const void *view)                                      \
    {                                                                                              \
        return function(out, view);                                                                \
    }
MS_WRITER_LIST(DEFINE)

#define ROW(document, function, name, needs, help, file)                                           \
    {{name, help, file}, MS_DOCUMENT_##document, MS_NEEDS_##needs, write_##function},
static const ms_writer writers[] = {MS_WRITER_LIST(ROW)};
enum { WRITERS = sizeof writers / sizeof writers[0] };

#define NAME(document, view, name) [MS_DOCUMENT_##document] = name,
static const char *const documents[] = {MS_DOCUMENT_LIST(NAME)};

/* ---- names ---- */

static const ms_writer *writer_at(ms_document document, size_t index)
{
    for (size_t i = 0; i < WRITERS; i++)
        if (writers[i].document == document && index-- == 0)
            return &writers[i];
    return NULL;
}

const ms_report_format *ms_writer_format_at(ms_document document, size_t index)
{
    const ms_writer *writer = writer_at(document, index);
    return writer ? &writer->format : NULL;
}

const char *ms_writer_name_at(ms_document document, size_t index)
{
    const ms_writer *writer = writer_at(document, index);
    return writer ? writer->format.name : NULL;
}

const char *ms_writer_names(ms_document document, unsigned without, const char *last,
                            char text[MS_WRITER_NAMES_TEXT])
{
    const char *names[WRITERS] = {NULL};
    size_t count = 0, used = 0;
    for (size_t i = 0; i < WRITERS; i++)
        if (writers[i].document == document && !(writers[i].needs & without))
            names[count++] = writers[i].format.name;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < MS_WRITER_NAMES_TEXT; i++) {
        bool is_last = i + 1 == count;
        used +=
            (size_t)snprintf(text + used, MS_WRITER_NAMES_TEXT - used, "%s%s%s%s",
                             i == 0    ? ""
                             : is_last ? " "
                                       : ", ",
                             i > 0 && is_last ? last : "", i > 0 && is_last ? " " : "", names[i]);
    }
    return text;
}

const ms_writer *ms_writer_find(ms_document document, const char *format, ms_error *err)
{
    char names[MS_WRITER_NAMES_TEXT];
    const ms_writer *writer;
    for (size_t i = 0; (writer = writer_at(document, i)) != NULL; i++)
        if (strcmp(format, writer->format.name) == 0)
            return writer;
    ms_error_set(err, MS_ERR_USAGE, "no format \"%.40s\" of %s; there are %s", format,
                 documents[document], ms_writer_names(document, MS_NEEDS_NOTHING, "and", names));
    return NULL;
}

/* ---- writing ---- */

ms_status ms_writer_write(const ms_writer *writer, const void *view, const ms_arena *arena,
                          FILE *out, ms_error *err)
{
    char what[64];
    errno = 0;
    snprintf(what, sizeof what, "the %s report", writer->format.name);
    if (!writer->write(out, view) || (arena && ms_arena_has_failed(arena)))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for %s", what);
    return ms_output_finish(out, what, err);
}
