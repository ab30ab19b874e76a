/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Regular expressions as configs for Python programs write them, run by the C library's. What the
 * two do not share (look-around, back references, lazy repeats, named groups) is refused. When
 * memory runs out, the GNU library's may answer wrongly or worse: that is seen as far as it lets
 * itself be seen.
 */
#ifndef MS_CONFIG_PATTERN_H
#define MS_CONFIG_PATTERN_H

#include <stdbool.h>

#include "base/error.h"

typedef struct ms_pattern ms_pattern;

/* Compiles `before`, the text and `after` in a row, so that callers can anchor it. The caller owns
 * *pattern. The message of a failure begins with the text. */
ms_status ms_pattern_new(const char *before, const char *text, const char *after,
                         ms_pattern **pattern, ms_error *err);
void ms_pattern_free(ms_pattern *pattern); /* NULL is fine */
/* Whether the whole subject matches; when memory runs out on the way, false and *ran_out. */
bool ms_pattern_matches(const ms_pattern *pattern, const char *subject, bool *ran_out);

#endif
