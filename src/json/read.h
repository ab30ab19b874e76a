/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files and standard input as text, up to the largest size the scanner takes.
 */
#ifndef MS_JSON_READ_H
#define MS_JSON_READ_H

#include "base/error.h"
#include "json/scan.h"

/* Reads a file, or standard input when `path` is "-". Free source->text with ms_json_read_free;
 * source->name is `path`, or "<stdin>". */
ms_status ms_json_read(const char *path, ms_json_source *source, ms_error *err);
void ms_json_read_free(ms_json_source *source);

#endif
