/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8, as strict as RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF.
 */
#ifndef MS_BASE_UTF8_H
#define MS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
