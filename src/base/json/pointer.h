/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * RFC 6901 pointers: the path of a value in its file, "/model/num_heads".
 */
#ifndef MS_BASE_JSON_POINTER_H
#define MS_BASE_JSON_POINTER_H

#include <stddef.h>

#include "base/json/scan.h"

/* Writes the path of span `index`, truncated to `size`. "" for the outermost value. */
void ms_json_pointer(const ms_json_source *source, const ms_json_spans *spans, uint32_t index,
                     char *out, size_t size);

#endif
