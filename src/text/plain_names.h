/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many names, of modules or of parts of their names, to be found in the time that one takes. In a
 * name that is meant as a regular expression without operators, a dot is any character.
 */
#ifndef MS_TEXT_PLAIN_NAMES_H
#define MS_TEXT_PLAIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ms_plain_names ms_plain_names;
#define MS_NO_NAME UINT32_MAX

/* Whether a pattern has no operators but dots. */
bool ms_name_is_plain(const char *text);

/* Of `count` texts, which must outlive the names and of which those that are NULL are none. The
 * caller owns *names; NULL after a failure. */
ms_status ms_plain_names_new(const char *const *texts, uint32_t count, ms_plain_names **names,
                             ms_error *err);
void ms_plain_names_free(ms_plain_names *names); /* NULL is fine */

/* The first of the texts that is that piece of a name, or MS_NO_NAME. */
uint32_t ms_plain_names_find(const ms_plain_names *names, const char *piece, size_t length);
/* The same with dots of the texts for any character. What it costs is taken from *steps; once that
 * is 0, nothing is found. */
uint32_t ms_plain_names_find_dotted(const ms_plain_names *names, const char *piece, size_t length,
                                    uint64_t *steps);

#endif
