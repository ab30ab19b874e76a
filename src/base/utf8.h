/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8, as strict as RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF.
 */
#ifndef MS_BASE_UTF8_H
#define MS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of the character at `text`, of which `left` bytes may be read; 0 when it is not UTF-8. */
size_t ms_utf8_length(const char *text, size_t left);

/* Characters in `bytes` bytes; a byte that is not UTF-8 counts as one. */
size_t ms_utf8_count(const char *text, size_t bytes);

/* Whether a text begins with the byte order mark of UTF-16, which is refused everywhere. */
bool ms_utf16_is(const char *text, size_t bytes);
#define MS_UTF16_REFUSED "the text is UTF-16: save it as UTF-8"

/* The code point of a character of `length` bytes, as ms_utf8_length returned it. */
uint32_t ms_utf8_code(const char *text, size_t length);

/* Writes a code point below 0x110000; returns the bytes written, at most 4. */
size_t ms_utf8_put(char *out, uint32_t code);

/* ---- printable ---- */

/* Untrusted text made safe to print: the parts of ms_printable (memscope/error.h), for writers that
 * escape more characters. */

/* One character of a text and its printable form. */
typedef struct ms_shown {
    size_t bytes;      /* of the character in the text, at least 1 */
    bool is_unchanged; /* it is printed as it is */
    char text[12];     /* otherwise its form in printable ASCII */
} ms_shown;

/* The character at `at` of the text from `text` up to `end`; at < end. */
ms_shown ms_show(const char *text, const char *at, const char *end);

/* A character that a format reserves, and what the format writes for it. */
typedef struct ms_escape {
    char character;
    const char *text;
} ms_escape;

/* Writes the part [from, to) of a text as ms_printable does, and escapes the characters of the
 * rows. The rows end with the character '\0'; NULL: no rows. */
void ms_put_escaped(FILE *out, const char *text, const char *from, const char *to,
                    const ms_escape *escapes);

/* A whole text, without further escapes. */
void ms_put_printable(FILE *out, const char *text);

#endif
