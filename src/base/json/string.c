/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/number.h"
#include "base/utf8.h"

/* ---- string ---- */

/* Pairs: letter behind the backslash, what it stands for. */
static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

static const char *find_escape(char letter)
{
    for (const char *p = escapes; *p; p += 2)
        if (*p == letter)
            return p;
    return NULL;
}

static int hex_value(char c)
{
    return ms_is_digit(c)         ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The four digits of \uXXXX; -1 when they are not. */
static int32_t hex4(const char *text, size_t left)
{
    int32_t code = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i < left ? hex_value(text[i]) : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static size_t refuse(ms_string_fault *fault, const char *reason, size_t bytes)
{
    fault->reason = reason;
    fault->bytes = bytes;
    return 0;
}

/* Bytes of the escape that starts with the backslash at text[0]; 0 and a fault when it is wrong. */
static size_t check_escape(const char *text, size_t left, ms_string_fault *fault)
{
    if (left < 2)
        return refuse(fault, "the text ends inside a string", 1);
    if (text[1] != 'u')
        return find_escape(text[1]) ? 2 : refuse(fault, "unknown escape in a string", 2);
    int32_t code = hex4(text + 2, left - 2);
    if (code < 0)
        return refuse(fault, "\\u needs four hexadecimal digits", 2);
    if (code == 0)
        return refuse(fault, "a NUL in a string", 6);
    if (code < 0xd800 || code > 0xdfff)
        return 6;
    bool paired = code < 0xdc00 && left >= 12 && text[6] == '\\' && text[7] == 'u';
    int32_t low = paired ? hex4(text + 8, left - 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return refuse(fault, "half of a surrogate pair", 6);
    return 12;
}

static size_t check_character(const char *text, size_t left, ms_string_fault *fault)
{
    unsigned char byte = (unsigned char)*text;
    if (byte == '\\')
        return check_escape(text, left, fault);
    if (byte == '\n' || byte == '\r')
        return refuse(fault, "the line ends inside a string", 1);
    if (byte == 0)
        return refuse(fault, "a NUL in a string", 1);
    if (byte < 0x20)
        return refuse(fault, "a control character in a string", 1);
    size_t length = ms_utf8_length(text, left);
    return length ? length : refuse(fault, "a byte that is not UTF-8", 1);
}

size_t ms_string_check(const char *text, size_t left, ms_string_fault *fault)
{
    size_t at = 1;
    while (at < left && text[at] != '"') {
        size_t length = check_character(text + at, left - at, fault);
        if (length == 0) {
            fault->at = at;
            return 0;
        }
        at += length;
    }
    if (at < left)
        return at + 1;
    fault->at = 0;
    return refuse(fault, "the text ends inside a string", 1);
}

/* Decodes the character at *p of a checked string and advances *p. */
static uint32_t string_next(const char **p)
{
    const char *text = *p;
    if (*text == '\\' && text[1] != 'u') {
        *p += 2;
        return (unsigned char)find_escape(text[1])[1];
    }
    if (*text == '\\') {
        uint32_t code = (uint32_t)hex4(text + 2, 4);
        bool paired = code >= 0xd800 && code <= 0xdfff;
        *p += paired ? 12 : 6;
        return paired ? 0x10000 + ((code & 0x3ff) << 10) + ((uint32_t)hex4(text + 8, 4) & 0x3ff)
                      : code;
    }
    size_t length = ms_utf8_length(text, 4);
    *p += length;
    return ms_utf8_code(text, length);
}

bool ms_string_equal(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const char *a_end = a + a_bytes, *b_end = b + b_bytes;
    while (a < a_end && b < b_end)
        if (string_next(&a) != string_next(&b))
            return false;
    return a == a_end && b == b_end;
}

uint64_t ms_string_hash(const char *text, size_t bytes, uint64_t seed)
{
    uint64_t hash = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;
    for (const char *end = text + bytes; text < end;)
        hash = (hash ^ string_next(&text)) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* ---- pointer ---- */

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
        return string_next(key);
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
        uint32_t code = is_raw ? next_raw(&key, end) : string_next(&key);
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
