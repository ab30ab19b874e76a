/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Formats of a document: what --format takes. Each document (a report, a plan, a check, ...) has a
 * table of rows with its writers; the names are found, listed and refused here, and what was
 * written is flushed and checked here.
 */
#ifndef MS_TEXT_FORMATS_H
#define MS_TEXT_FORMATS_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Rows that begin with their name, a const char *, as an ms_report_format does. */
typedef struct ms_formats {
    const char *document; /* "a plan" */
    const void *rows;
    size_t row_bytes, count;
} ms_formats;

#define MS_FORMATS(document, rows)                                                                 \
    {                                                                                              \
        document, rows, sizeof rows[0], sizeof rows / sizeof rows[0]                               \
    }

/* A row, and its name; NULL past the last. */
const void *ms_formats_at(const ms_formats *formats, size_t index);
const char *ms_formats_name_at(const ms_formats *formats, size_t index);

/* The row of that name; NULL and MS_ERR_USAGE, with the names that there are, when there is none.
 * `err` may be NULL. */
const void *ms_formats_find(const ms_formats *formats, const char *name, ms_error *err);

/* Flushes. MS_ERR_IO when anything since errno was set to 0 could not be written, MS_ERR_NOMEM when
 * memory was short for it; `what` as in "cannot write the plan". */
ms_status ms_formats_finish(FILE *out, const char *what, ms_error *err);

#endif
