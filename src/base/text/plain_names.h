/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A set of names, of modules or of parts of their names; a lookup takes the same time for any
 * number of names. Where a name is a regular expression without operators, a dot matches any
 * character.
 */
#ifndef MS_BASE_TEXT_PLAIN_NAMES_H
#define MS_BASE_TEXT_PLAIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ms_plain_names ms_plain_names;
#define MS_NO_NAME UINT32_MAX

/* Whether a pattern has no operators other than dots. */
bool ms_name_is_plain(const char *text);

/* The `count` texts must outlive the set; NULL texts are skipped. The caller owns *names; NULL
 * after a failure. */
ms_status ms_plain_names_new(const char *const *texts, uint32_t count, ms_plain_names **names,
                             ms_error *err);
void ms_plain_names_free(ms_plain_names *names); /* NULL is fine */

/* The index of the first text equal to `piece`, or MS_NO_NAME. */
uint32_t ms_plain_names_find(const ms_plain_names *names, const char *piece, size_t length);
/* The same, where a dot of a text matches any character. The cost is subtracted from *steps; once
 * that is 0, nothing is found. */
uint32_t ms_plain_names_find_dotted(const ms_plain_names *names, const char *piece, size_t length,
                                    uint64_t *steps);

#endif
