/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From an offset in a text to what a person needs to find it: line, column, and the line itself
 * with the place to underline. Computed only when a message is shown.
 */
#ifndef MS_JSON_PLACE_H
#define MS_JSON_PLACE_H

#include <stddef.h>

#include "base/error.h"
#include "json/scan.h"

/* Fills file, line, column, excerpt, caret and caret_length. A long line is shortened around the
 * place; what cannot be shown on a terminal becomes '?'. */
void ms_json_place(const ms_json_source *source, size_t offset, size_t bytes, ms_error *err);

/* Copies a name into err->file, leaving out the beginning of one that is too long. */
void ms_json_place_file(const char *name, ms_error *err);

#endif
