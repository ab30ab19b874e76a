/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The names of the values of an enum.
 */
#ifndef MS_BASE_WORDS_H
#define MS_BASE_WORDS_H

#include <stdint.h>

typedef struct ms_words {
    const char *const *items; /* of value 0 */
    uint32_t count;
    uint32_t stride; /* bytes to the next name, where the names are in a table; 0: an array */
    uint32_t names;  /* how many each value has, one after the other; 0: one */
} ms_words;

/* The first name of a value. */
const char *ms_words_at(const ms_words *words, uint64_t value);
/* The value of that name; words->count when there is none. */
uint32_t ms_words_find(const ms_words *words, const char *text);

#endif
