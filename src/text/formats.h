/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Formats of a document: the values of --format. Each document (a report, a plan, a check, ...) has
 * a table of rows with its writers. This file finds, lists and refuses names, and flushes and
 * checks the output.
 */
#ifndef MS_TEXT_FORMATS_H
#define MS_TEXT_FORMATS_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* A table of rows. Each row begins with its name, a const char *, as ms_report_format does. */
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

/* The row of that name; NULL and MS_ERR_USAGE, listing the known names, if there is none. `err` may
 * be NULL. */
const void *ms_formats_find(const ms_formats *formats, const char *name, ms_error *err);

/* Flushes `out`. MS_ERR_IO when anything could not be written, MS_ERR_NOMEM when writing ran out of
 * memory; the caller sets errno to 0 before it writes. `what` completes "cannot write ...": "the
 * plan". */
ms_status ms_formats_finish(FILE *out, const char *what, ms_error *err);

#endif
