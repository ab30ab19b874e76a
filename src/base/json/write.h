/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streaming JSON writer: pretty-printed with two spaces, keys in the order they are written,
 * exact integers, the same bytes for the same calls. The caller owns the stream and checks it once,
 * after ms_json_writer_end (base/text/output.h).
 *
 *     ms_json_writer w = {.out = out};
 *     ms_json_object(&w, NULL);
 *     ms_json_uint(&w, "peak_memory_bytes", 42);
 *     ms_json_array(&w, "phases");
 *     ms_json_string(&w, NULL, "forward");
 *     ms_json_close(&w);
 *     ms_json_close(&w);
 *     ms_json_writer_end(&w);
 */
#ifndef MS_BASE_JSON_WRITE_H
#define MS_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MS_JSON_MAX_DEPTH = 64 };

typedef struct ms_json_writer {
    FILE *out;
    const void *document; /* of ms_members_document */
    uint32_t depth;
    /* Per open container: its kind, whether it holds something, whether it stays on one line. */
    bool is_object[MS_JSON_MAX_DEPTH], has_items[MS_JSON_MAX_DEPTH], on_one_line[MS_JSON_MAX_DEPTH];
} ms_json_writer;

/* In an object every call names its key; in an array, and for the outermost value, key is NULL. */
void ms_json_object(ms_json_writer *w, const char *key);
void ms_json_array(ms_json_writer *w, const char *key);
/* The same with all their contents on one line: for shapes and short rows. */
void ms_json_object_inline(ms_json_writer *w, const char *key);
void ms_json_array_inline(ms_json_writer *w, const char *key);
void ms_json_close(ms_json_writer *w); /* the innermost container */

void ms_json_string(ms_json_writer *w, const char *key, const char *text); /* NULL writes null */
void ms_json_uint(ms_json_writer *w, const char *key, uint64_t value);
void ms_json_int(ms_json_writer *w, const char *key, int64_t value);
/* `decimals` digits after the point; NaN and infinity write null. */
void ms_json_double(ms_json_writer *w, const char *key, double value, int decimals);
void ms_json_bool(ms_json_writer *w, const char *key, bool value);
void ms_json_null(ms_json_writer *w, const char *key);

/* Ends the document with a newline. */
void ms_json_writer_end(ms_json_writer *w);

#endif
