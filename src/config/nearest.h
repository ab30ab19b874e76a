/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean ...?": the known name nearest to a misspelt one.
 */
#ifndef MS_CONFIG_NEAREST_H
#define MS_CONFIG_NEAREST_H

#include <stddef.h>

typedef struct ms_nearest {
    const char *wanted;
    const char *name; /* the nearest so far; NULL when nothing is near */
    size_t distance;
} ms_nearest;

/* Starts a search: `ms_nearest n = ms_nearest_to("lama");` then offers each known name. */
ms_nearest ms_nearest_to(const char *wanted);
void ms_nearest_offer(ms_nearest *nearest, const char *name);

/* "; did you mean 'llama'?" or "" when nothing is near. Writes into `out`, returns it. */
const char *ms_nearest_hint(const ms_nearest *nearest, char *out, size_t size);

/* How many letters apart two names are; SIZE_MAX for names that are too long. */
size_t ms_name_distance(const char *a, const char *b);

/* Equal but for case, and '_' for '-'. */
int ms_name_equal(const char *a, const char *b);

#endif
