/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Regular expressions in the syntax of Python's `re`, as configs contain them, and in ECMAScript's,
 * as llama.cpp takes them. Both come from untrusted files, so a pattern takes bounded memory, and
 * matching takes time proportional to states times characters; the C library's expressions promise
 * neither, and no other file may use them. Look-around, back references, possessive repeats and
 * named groups are refused.
 */
#ifndef MS_BASE_TEXT_PATTERN_H
#define MS_BASE_TEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/value.h"

typedef struct ms_pattern ms_pattern;

enum {
    MS_PATTERN_MOST_BYTES = 1000,       /* of the text */
    MS_PATTERN_MOST_STATES = 4000,      /* with repeats unrolled: about one per character */
    MS_PATTERN_MOST_TOGETHER = 1000000, /* states of all patterns in a list; about 30 bytes each */
    MS_PATTERN_MOST_NESTING = 64,       /* of groups */
    MS_PATTERN_MOST_STEPS = 250000000   /* for all matching of one model: about a second */
};

/* The caller owns *pattern; NULL after a failure, whose message begins with the text. */
ms_status ms_pattern_new(const char *text, ms_pattern **pattern, ms_error *err);
/* The same in the syntax of ECMAScript, as C++'s std::regex has it. */
ms_status ms_pattern_new_ecmascript(const char *text, ms_pattern **pattern, ms_error *err);
void ms_pattern_free(ms_pattern *pattern); /* NULL is fine */

/* Whether the bytes [from, to) of a subject match as a whole; `^` is the subject's beginning and
 * `$` is `to`. The cost is subtracted from *steps; once that is 0, the answer is false. A pattern
 * may be used by one thread at a time. */
bool ms_pattern_matches(ms_pattern *pattern, const char *subject, size_t from, size_t to,
                        uint64_t *steps);

/* Whether any part of a subject matches. */
bool ms_pattern_is_in(ms_pattern *pattern, const char *subject, uint64_t *steps);

/* Checks that a text of a file is a valid pattern. Patterns with operators may have at most
 * MS_PATTERN_MOST_TOGETHER states in total: their states are added to *states. An error points at
 * the value, or at its key. */
ms_status ms_pattern_check(ms_json_value value, ms_json_part part, const char *text, size_t *states,
                           ms_error *err);

#endif
