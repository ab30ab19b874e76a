/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Regular expressions as configs for Python programs write them. They come from files of others, so
 * a pattern takes bounded memory, and matching takes time that grows with states times characters
 * and no faster; the C library's expressions promise neither. What can match more than a regular
 * language (look-around, back references, possessive repeats) is refused, and so are named groups.
 */
#ifndef MS_TEXT_PATTERN_H
#define MS_TEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/value.h"

typedef struct ms_pattern ms_pattern;

enum {
    MS_PATTERN_MOST_BYTES = 1000,       /* of the text */
    MS_PATTERN_MOST_STATES = 4000,      /* with its repeats written out: about a character each */
    MS_PATTERN_MOST_TOGETHER = 1000000, /* states of all in a list; about 30 bytes each */
    MS_PATTERN_MOST_NESTING = 64,       /* of groups */
    MS_PATTERN_MOST_STEPS = 250000000   /* of all the matching for one model: about a second */
};

/* The caller owns *pattern; NULL after a failure, whose message begins with the text. */
ms_status ms_pattern_new(const char *text, ms_pattern **pattern, ms_error *err);
void ms_pattern_free(ms_pattern *pattern); /* NULL is fine */

/* Whether the bytes [from, to) of a subject match as a whole; `^` is the subject's beginning and
 * `$` is `to`. What the matching costs is taken from *steps; once that is 0, the answer is false.
 * A pattern matches in one thread at a time. */
bool ms_pattern_matches(ms_pattern *pattern, const char *subject, size_t from, size_t to,
                        uint64_t *steps);

/* Checks a text of a file, before it is put down: it must be a pattern, and those with operators
 * must not come to more than MS_PATTERN_MOST_TOGETHER; *states are those before it. The failure
 * has the value's place, or its key's. */
ms_status ms_pattern_check(ms_json_value value, ms_json_part part, const char *text, size_t *states,
                           ms_error *err);

#endif
