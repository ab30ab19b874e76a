/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/pointer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/string.h"
#include "base/utf8.h"

/* A piece goes in whole or not at all. */
static bool append(char *out, size_t size, size_t *used, const char *piece, size_t bytes)
{
    if (*used + bytes >= size)
        return false;
    memcpy(out + *used, piece, bytes);
    *used += bytes;
    out[*used] = '\0';
    return true;
}

/* A character of a key of YAML: one that is written with an escape stays so. */
static uint32_t next_raw(const char **key, const char *end)
{
    uint32_t code = (unsigned char)**key;
    size_t bytes = ms_utf8_length(*key, (size_t)(end - *key));
    if (bytes > 1)
        return ms_string_next(key);
    (*key)++;
    return bytes == 1 ? code : '?';
}

static bool append_key(char *out, size_t size, size_t *used, const char *key, size_t bytes,
                       bool is_raw)
{
    const char *end = key + bytes;
    bool fits = append(out, size, used, "/", 1);
    while (fits && key < end) {
        char piece[4] = "";
        uint32_t code = is_raw ? next_raw(&key, end) : ms_string_next(&key);
        if (code == '~' || code == '/')
            fits = append(out, size, used, code == '~' ? "~0" : "~1", 2);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            fits = append(out, size, used, "?", 1);
        else
            fits = append(out, size, used, piece, ms_utf8_put(piece, code));
    }
    return fits;
}

void ms_json_pointer(const ms_json_source *source, const ms_json_spans *spans, uint32_t index,
                     char *out, size_t size)
{
    uint32_t path[MS_JSON_MAX_NESTING + 1], depth = 0;
    for (uint32_t i = index; spans->items[i].parent != i && depth <= MS_JSON_MAX_NESTING;
         i = spans->items[i].parent)
        path[depth++] = i;
    size_t used = 0;
    out[0] = '\0';
    while (depth > 0) {
        const ms_json_span *span = &spans->items[path[--depth]];
        char number[16];
        snprintf(number, sizeof number, "/%" PRIu32, span->item);
        size_t quote = span->is_raw ? 0 : 1;
        bool fits = span->key_bytes > 0
                        ? append_key(out, size, &used, source->text + span->key_start + quote,
                                     span->key_bytes - 2 * quote, span->is_raw)
                        : append(out, size, &used, number, strlen(number));
        if (!fits)
            return;
    }
}
