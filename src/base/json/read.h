/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files and standard input as text, up to the largest size the scanner takes.
 */
#ifndef MS_BASE_JSON_READ_H
#define MS_BASE_JSON_READ_H

#include "base/error.h"
#include "base/inputs.h"
#include "base/json/scan.h"

/* Reads a file, or standard input when `path` is "-"; source->name is then `path`, or "<stdin>".
 * source->text is `*text`, which the caller frees; NULL after a failure. `inputs` as for
 * ms_file_open. */
ms_status ms_json_read(ms_inputs *inputs, const char *path, ms_json_source *source, char **text,
                       ms_error *err);

/* The same for up to so many bytes, in place of MS_JSON_MAX_BYTES. */
ms_status ms_json_read_within(ms_inputs *inputs, const char *path, size_t most_bytes,
                              ms_json_source *source, char **text, ms_error *err);

#endif
