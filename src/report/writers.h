/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry of what memscope writes: the rows of kit/writer_list.h. Names of formats are found,
 * listed and refused here, and every document is written, flushed and checked here.
 */
#ifndef MS_REPORT_WRITERS_H
#define MS_REPORT_WRITERS_H

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "memscope/memscope.h"
#include "report/kit/writer_list.h"

typedef struct ms_writer {
    ms_report_format format;
    ms_document document;
    unsigned needs; /* MS_NEEDS_... */
    bool (*write)(FILE *out, const void *view);
} ms_writer;

/* NULL and MS_ERR_USAGE, with the formats that there are, when the document has none of that name.
 * `err` may be NULL. */
const ms_writer *ms_writer_find(ms_document document, const char *format, ms_error *err);

/* The formats of a document in the order they are offered; NULL past the last. */
const ms_report_format *ms_writer_format_at(ms_document document, size_t index);
const char *ms_writer_name_at(ms_document document, size_t index);

/* "console, json and md": those that need none of `without`; `last` is the word before the last. */
enum { MS_WRITER_NAMES_TEXT = 160 };
const char *ms_writer_names(ms_document document, unsigned without, const char *last,
                            char text[MS_WRITER_NAMES_TEXT]);

/* Writes, flushes and checks: a full disk is an error. `view` is an ms_view_of_... of the
 * writer's document; `arena`, where writers put texts, may be NULL. */
ms_status ms_writer_write(const ms_writer *writer, const void *view, const ms_arena *arena,
                          FILE *out, ms_error *err);

#endif
