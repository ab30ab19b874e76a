/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A strict scanner: one pass over the text, before any tree is built. It accepts RFC 8259 and
 * nothing else, refuses what parsers disagree about (duplicate keys, lone surrogates, numbers past
 * the range of a double), and records the position of every key and value.
 */
#ifndef MS_BASE_JSON_SCAN_H
#define MS_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

enum {
    MS_JSON_MAX_BYTES = 16 << 20,
    MS_JSON_MAX_LARGE_BYTES = 256 << 20, /* of files that are large by nature */
    MS_JSON_BYTES_PER_VALUE = 16,        /* at least, on average: what bounds the values */
    MS_JSON_MAX_NESTING = 64,
    MS_JSON_MAX_NUMBER_BYTES = 60 /* cJSON copies numbers to a buffer of 64 */
};

typedef enum ms_json_kind {
    MS_JSON_NULL,
    MS_JSON_BOOL,
    MS_JSON_NUMBER,
    MS_JSON_STRING,
    MS_JSON_ARRAY,
    MS_JSON_OBJECT
} ms_json_kind;

/* A value, in document order: its first child, if any, is the next span; the span after its last
 * descendant is `after`. Positions are byte offsets; quotes and brackets are included. */
typedef struct ms_json_span {
    uint32_t start, bytes;
    uint32_t key_start, key_bytes; /* 0 bytes for elements of arrays and the outermost value */
    uint32_t parent;               /* of the outermost value: itself */
    uint32_t after;
    uint32_t item; /* position in the parent, from 0 */
    ms_json_kind kind;
    bool is_raw; /* YAML: the key has no quotes, and no escapes are read in it */
} ms_json_span;

typedef ms_vec(ms_json_span) ms_json_spans;

/* A text and its name in messages. The text need not end in a NUL. */
typedef struct ms_json_source {
    const char *name; /* "llama.json" */
    const char *text;
    size_t length;
} ms_json_source;

/* Fills `spans`, which the caller releases with ms_vec_free, also after a failure. */
ms_status ms_json_scan(const ms_json_source *source, ms_json_spans *spans, ms_error *err);

/* The same for up to so many bytes, in place of MS_JSON_MAX_BYTES. */
ms_status ms_json_scan_within(const ms_json_source *source, size_t most_bytes, ms_json_spans *spans,
                              ms_error *err);

#endif
