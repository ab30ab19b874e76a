/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON strings in their source text: checked, and compared without a decoded copy.
 */
#ifndef MS_BASE_JSON_STRING_H
#define MS_BASE_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"

/* Why a string is refused; `at` and `bytes` locate the fault in it. */
typedef struct ms_string_fault {
    const char *reason;
    size_t at, bytes;
} ms_string_fault;

/* Finds the end of the string that starts with the quote at text[0]: bytes with both quotes, or 0
 * and a fault. */
size_t ms_string_check(const char *text, size_t left, ms_string_fault *fault);

/* For checked strings, without their quotes. */
bool ms_string_equal(const char *a, size_t a_bytes, const char *b, size_t b_bytes);
uint64_t ms_string_hash(const char *text, size_t bytes, uint64_t seed);

/* ---- pointer ---- */

/* RFC 6901 pointers: the path of a value in its file, "/model/num_heads". */

/* Writes the path of span `index`, truncated to `size`. "" for the outermost value. */
void ms_json_pointer(const ms_json_source *source, const ms_json_spans *spans, uint32_t index,
                     char *out, size_t size);

#endif
