/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recursive descent, limited to MS_JSON_MAX_NESTING levels. Duplicate keys are found with one hash
 * set over all objects, keyed by object and decoded key.
 */
#include "base/json/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/json/number.h"
#include "base/json/place.h"
#include "base/json/string.h"

typedef struct scanner {
    const ms_json_source *source;
    size_t most_bytes;
    size_t at;
    uint32_t depth;
    uint32_t open; /* the span being filled, for the pointer of a message */
    ms_json_spans *spans;
    uint32_t *keys; /* hash set of span indices + 1 */
    uint32_t key_count, key_slots;
    ms_error *err;
} scanner;

__attribute__((format(printf, 5, 6))) static ms_status
fail(const scanner *s, size_t at, size_t bytes, ms_status status, const char *format, ...)
{
    ms_error *err = s->err;
    if (!err || err->status != MS_OK)
        return status;
    va_list args;
    va_start(args, format);
    ms_error_vset(err, status, format, args);
    va_end(args);
    if (s->spans->count > 0)
        ms_json_pointer(s->source, s->spans, s->open, err->pointer, sizeof err->pointer);
    ms_json_place(s->source, at, bytes, err);
    return status;
}

static size_t left_of(const scanner *s)
{
    return s->source->length - s->at;
}

/* The next byte, or 0 at the end (a NUL in the text is refused before it is looked at). */
static char peek(const scanner *s)
{
    return left_of(s) > 0 ? s->source->text[s->at] : '\0';
}

static void skip_blanks(scanner *s)
{
    for (char c = peek(s); c == ' ' || c == '\n' || c == '\r' || c == '\t'; c = peek(s))
        s->at++;
}

/* Reports what was found where something else was expected. */
static ms_status fail_expected(const scanner *s, const char *expected)
{
    const char *text = s->source->text + s->at;
    if (left_of(s) == 0)
        return fail(s, s->at, 1, MS_ERR_SYNTAX, "expected %s, found the end of the text", expected);
    unsigned char byte = (unsigned char)*text;
    if (byte > 0x20 && byte < 0x7f)
        return fail(s, s->at, 1, MS_ERR_SYNTAX, "expected %s, found '%c'", expected, byte);
    return fail(s, s->at, 1, MS_ERR_SYNTAX, "expected %s, found byte 0x%02x", expected, byte);
}

static ms_status scan_string(scanner *s)
{
    ms_string_fault fault = {0};
    size_t bytes = ms_string_check(s->source->text + s->at, left_of(s), &fault);
    if (bytes == 0)
        return fail(s, s->at + fault.at, fault.bytes, MS_ERR_SYNTAX, "%s", fault.reason);
    s->at += bytes;
    return MS_OK;
}

static size_t skip_digits(scanner *s)
{
    size_t start = s->at;
    while (ms_is_digit(peek(s)))
        s->at++;
    return s->at - start;
}

static ms_status scan_number(scanner *s)
{
    size_t start = s->at;
    if (peek(s) == '-')
        s->at++;
    size_t whole = s->at;
    if (skip_digits(s) == 0)
        return fail_expected(s, "a digit");
    if (s->source->text[whole] == '0' && s->at > whole + 1)
        return fail(s, start, s->at - start, MS_ERR_SYNTAX, "a number with a leading zero");
    if (peek(s) == '.') {
        s->at++;
        if (skip_digits(s) == 0)
            return fail_expected(s, "a digit after the point");
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        if (skip_digits(s) == 0)
            return fail_expected(s, "a digit in the exponent");
    }
    size_t bytes = s->at - start;
    if (bytes > MS_JSON_MAX_NUMBER_BYTES)
        return fail(s, start, bytes, MS_ERR_LIMIT, "a number of more than %d characters",
                    MS_JSON_MAX_NUMBER_BYTES);
    if (!ms_number_is_finite(s->source->text + start, bytes))
        return fail(s, start, bytes, MS_ERR_SYNTAX, "a number past the range of a double");
    return MS_OK;
}

static const struct word_row {
    const char *text;
    ms_json_kind kind;
} words[] = {{"true", MS_JSON_BOOL}, {"false", MS_JSON_BOOL}, {"null", MS_JSON_NULL}};

static ms_status scan_word(scanner *s, ms_json_kind *kind)
{
    size_t bytes = 0;
    const char *text = s->source->text + s->at;
    while (bytes < left_of(s) && (((unsigned char)text[bytes] | 32) >= 'a') &&
           (((unsigned char)text[bytes] | 32) <= 'z'))
        bytes++;
    if (bytes == 0)
        return fail_expected(s, "a value");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == bytes && memcmp(words[i].text, text, bytes) == 0) {
            *kind = words[i].kind;
            s->at += bytes;
            return MS_OK;
        }
    return fail(s, s->at, bytes, MS_ERR_SYNTAX,
                "'%.*s' is not a JSON value; the words are true, false and null",
                (int)(bytes > 32 ? 32 : bytes), text);
}

/* ---- keys ---- */

static uint64_t key_hash(const scanner *s, uint32_t index)
{
    const ms_json_span *span = &s->spans->items[index];
    return ms_string_hash(s->source->text + span->key_start + 1, span->key_bytes - 2, span->parent);
}

static bool same_key(const scanner *s, uint32_t a, uint32_t b)
{
    const ms_json_span *x = &s->spans->items[a], *y = &s->spans->items[b];
    return x->parent == y->parent &&
           ms_string_equal(s->source->text + x->key_start + 1, x->key_bytes - 2,
                           s->source->text + y->key_start + 1, y->key_bytes - 2);
}

static bool grow_keys(scanner *s)
{
    uint32_t slots = s->key_slots ? 2 * s->key_slots : 256;
    uint32_t *keys = calloc(slots, sizeof *keys);
    if (!keys)
        return false;
    for (uint32_t i = 0; i < s->key_slots; i++) {
        if (s->keys[i] == 0)
            continue;
        uint32_t slot = (uint32_t)key_hash(s, s->keys[i] - 1) & (slots - 1);
        while (keys[slot])
            slot = (slot + 1) & (slots - 1);
        keys[slot] = s->keys[i];
    }
    free(s->keys);
    s->keys = keys;
    s->key_slots = slots;
    return true;
}

/* Adds the key of a span; refuses one that its object already has. */
static ms_status add_key(scanner *s, uint32_t index)
{
    if (2 * s->key_count >= s->key_slots && !grow_keys(s))
        return fail(s, s->at, 1, MS_ERR_NOMEM, "out of memory for the keys");
    uint32_t slot = (uint32_t)key_hash(s, index) & (s->key_slots - 1);
    for (; s->keys[slot]; slot = (slot + 1) & (s->key_slots - 1)) {
        if (!same_key(s, s->keys[slot] - 1, index))
            continue;
        const ms_json_span *span = &s->spans->items[index];
        ms_error first = {0};
        ms_json_place(s->source, s->spans->items[s->keys[slot] - 1].key_start, 1, &first);
        return fail(s, span->key_start, span->key_bytes, MS_ERR_SYNTAX,
                    "key %.*s appears twice; the first is on line %u",
                    (int)(span->key_bytes > 80 ? 80 : span->key_bytes),
                    s->source->text + span->key_start, first.line);
    }
    s->keys[slot] = index + 1;
    s->key_count++;
    return MS_OK;
}

/* ---- values ---- */

static ms_status scan_value(scanner *s, uint32_t index);

static ms_status add_span(scanner *s, uint32_t parent, uint32_t item, uint32_t *index)
{
    *index = s->spans->count;
    size_t most = s->most_bytes / MS_JSON_BYTES_PER_VALUE;
    if (*index >= most)
        return fail(s, s->at, 1, MS_ERR_LIMIT, "more than %zu values", most);
    if (!ms_vec_push(s->spans, (ms_json_span){.parent = parent, .item = item}))
        return fail(s, s->at, 1, MS_ERR_NOMEM, "out of memory for %u values", *index);
    return MS_OK;
}

static ms_status scan_key(scanner *s, uint32_t index)
{
    size_t start = s->at;
    if (peek(s) == '}')
        return fail(s, start, 1, MS_ERR_SYNTAX, "a comma before '}'");
    if (peek(s) != '"')
        return fail_expected(s, "a key in double quotes");
    ms_status status = scan_string(s);
    if (status != MS_OK)
        return status;
    s->spans->items[index].key_start = (uint32_t)start;
    s->spans->items[index].key_bytes = (uint32_t)(s->at - start);
    s->open = index;
    status = add_key(s, index);
    if (status != MS_OK)
        return status;
    skip_blanks(s);
    if (peek(s) != ':')
        return fail_expected(s, "':' after the key");
    s->at++;
    skip_blanks(s);
    return MS_OK;
}

/* One element of an array or member of an object, blanks around it included. */
static ms_status scan_item(scanner *s, uint32_t parent, uint32_t item, bool is_object)
{
    uint32_t index;
    ms_status status = add_span(s, parent, item, &index);
    if (status == MS_OK && is_object)
        status = scan_key(s, index);
    else if (status == MS_OK && item > 0 && peek(s) == ']')
        status = fail(s, s->at, 1, MS_ERR_SYNTAX, "a comma before ']'");
    if (status == MS_OK) {
        s->open = index;
        status = scan_value(s, index);
    }
    if (status != MS_OK)
        return status;
    s->spans->items[index].after = s->spans->count;
    s->open = parent;
    skip_blanks(s);
    return MS_OK;
}

static ms_status scan_container(scanner *s, uint32_t index, bool is_object)
{
    char closing = is_object ? '}' : ']';
    if (s->depth == MS_JSON_MAX_NESTING)
        return fail(s, s->at, 1, MS_ERR_LIMIT, "nested deeper than %d", MS_JSON_MAX_NESTING);
    s->depth++;
    s->at++;
    skip_blanks(s);
    for (uint32_t item = 0; peek(s) != closing || item > 0; item++) {
        ms_status status = scan_item(s, index, item, is_object);
        if (status != MS_OK)
            return status;
        if (peek(s) == closing)
            break;
        if (peek(s) != ',')
            return fail_expected(s, is_object ? "',' or '}'" : "',' or ']'");
        s->at++;
        skip_blanks(s);
    }
    s->at++;
    s->depth--;
    return MS_OK;
}

/* Scans the value at the current place into an added span. */
static ms_status scan_value(scanner *s, uint32_t index)
{
    size_t start = s->at;
    char first = peek(s);
    ms_json_kind kind = MS_JSON_NULL;
    ms_status status;
    if (first == '{' || first == '[') {
        kind = first == '{' ? MS_JSON_OBJECT : MS_JSON_ARRAY;
        status = scan_container(s, index, first == '{');
    } else if (first == '"') {
        kind = MS_JSON_STRING;
        status = scan_string(s);
    } else if (first == '-' || ms_is_digit(first)) {
        kind = MS_JSON_NUMBER;
        status = scan_number(s);
    } else {
        status = scan_word(s, &kind);
    }
    ms_json_span *span = &s->spans->items[index];
    span->kind = kind;
    span->start = (uint32_t)start;
    span->bytes = (uint32_t)(s->at - start);
    return status;
}

static ms_status scan_document(scanner *s)
{
    const char *text = s->source->text;
    if (s->source->length > s->most_bytes) {
        ms_error_set(s->err, MS_ERR_LIMIT, "larger than %zu MiB", s->most_bytes >> 20);
        return MS_ERR_LIMIT;
    }
    if (ms_utf16_is(text, s->source->length))
        return fail(s, 0, 1, MS_ERR_SYNTAX, MS_UTF16_REFUSED);
    if (s->source->length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return fail(s, 0, 1, MS_ERR_SYNTAX, "a byte-order mark before the text");
    skip_blanks(s);
    if (left_of(s) == 0)
        return fail(s, s->at, 1, MS_ERR_SYNTAX, "only white space");
    uint32_t index;
    ms_status status = add_span(s, 0, 0, &index);
    if (status == MS_OK)
        status = scan_value(s, index);
    if (status != MS_OK)
        return status;
    s->spans->items[index].after = s->spans->count;
    skip_blanks(s);
    return left_of(s) == 0 ? MS_OK : fail_expected(s, "nothing after the value");
}

ms_status ms_json_scan_within(const ms_json_source *source, size_t most_bytes, ms_json_spans *spans,
                              ms_error *err)
{
    scanner s = {.source = source, .most_bytes = most_bytes, .spans = spans, .err = err};
    ms_status status = scan_document(&s);
    if (status != MS_OK && err && !err->file[0])
        ms_json_place_file(source->name, err);
    free(s.keys);
    return status;
}

ms_status ms_json_scan(const ms_json_source *source, ms_json_spans *spans, ms_error *err)
{
    return ms_json_scan_within(source, MS_JSON_MAX_BYTES, spans, err);
}
