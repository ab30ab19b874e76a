/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps through JSON as programs write it: plain ASCII without escapes. What it does not know it
 * does not take, and a strict reader is asked.
 */
#ifndef MS_INPUT_WEIGHTS_PLAIN_TEXT_H
#define MS_INPUT_WEIGHTS_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct ms_plain {
    const char *at, *end;
} ms_plain;

/* A text that comes next, of a length that the compiler knows. */
#define MS_PLAIN_TAKE(s, text)                                                                     \
    ((size_t)((s)->end - (s)->at) >= sizeof(text) - 1 &&                                           \
     memcmp((s)->at, text, sizeof(text) - 1) == 0 && ((s)->at += sizeof(text) - 1))

static inline void ms_plain_skip_blanks(ms_plain *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

/* A string in quotes: where it is, how long, and the digest of its bytes. */
typedef struct ms_plain_string {
    const char *text;
    size_t bytes;
    uint64_t digest;
} ms_plain_string;

bool ms_plain_take_string(ms_plain *s, ms_plain_string *string);
/* Digits without leading zeros, fewer than 19. */
bool ms_plain_take_count(ms_plain *s, uint64_t *count);
/* A colon, with blanks around it. */
bool ms_plain_take_colon(ms_plain *s);

/* That of a string. */
uint64_t ms_plain_digest(const char *text, size_t bytes);

#endif
