/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers in their source text. cJSON stores doubles, which are not exact past 2^53, and strtod
 * depends on the locale; counts and ranges are therefore checked on the text.
 */
#ifndef MS_BASE_JSON_NUMBER_H
#define MS_BASE_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Independent of the locale. */
static inline bool ms_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a number in JSON's syntax rounds to a finite double. */
bool ms_number_is_finite(const char *text, size_t bytes);

typedef enum ms_count_result {
    MS_COUNT_OK,
    MS_COUNT_NOT_DIGITS, /* a sign, a point, an exponent, a leading zero, nothing at all */
    MS_COUNT_TOO_LARGE   /* digits, but 2^64 or more */
} ms_count_result;

/* Reads a count: digits and nothing else. */
ms_count_result ms_number_count(const char *text, size_t bytes, uint64_t *count);

#endif
