/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts an offset in a text to line, column, and an excerpt with the place to underline.
 * Computed only when a message is made.
 */
#ifndef MS_BASE_JSON_PLACE_H
#define MS_BASE_JSON_PLACE_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"
#include "base/json/scan.h"

/* Fills file, line, column, excerpt, caret and caret_length. A long line is shortened around the
 * place; unprintable characters become '?'. */
void ms_json_place(const ms_json_source *source, size_t offset, size_t bytes, ms_error *err);

/* For texts with many places to report: the line and column of every MS_JSON_MARK_BYTES-th byte, so
 * that finding a place takes the same time anywhere in the text. */
enum { MS_JSON_MARK_BYTES = 512 };
typedef struct ms_json_mark {
    uint32_t line, line_start; /* from 1; an offset */
    uint32_t characters;       /* of the line before the byte */
} ms_json_mark;
typedef ms_vec(ms_json_mark) ms_json_marks;

/* False when out of memory. The caller releases the marks with ms_vec_free, also after a failure.
 */
bool ms_json_marks_make(const ms_json_source *source, ms_json_marks *marks);
/* ms_json_place for UTF-8 text, with marks. */
void ms_json_place_marked(const ms_json_source *source, const ms_json_marks *marks, size_t offset,
                          size_t bytes, ms_error *err);

/* Copies a name into err->file; one that is too long loses its beginning. */
void ms_json_place_file(const char *name, ms_error *err);

#endif
