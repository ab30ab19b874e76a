/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Untrusted text made safe to print: the parts of ms_printable (memscope/error.h), for writers that
 * escape more characters.
 */
#ifndef MS_BASE_PRINTABLE_H
#define MS_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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
