/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/number.h"

#include <string.h>

/* What rounds up to infinity: DBL_MAX and half of its last place, 2^1024 - 2^970, in digits that
 * stand for 1.797...e308. */
static const char overflow_digits[] = "17976931348623158079372897140530341507993413271003782693617";

/* The exponent behind 'e', capped far outside the range of a double. */
static int64_t exponent_of(const char *text, const char *end)
{
    const char *e = text;
    while (e < end && *e != 'e' && *e != 'E')
        e++;
    if (e == end)
        return 0;
    bool negative = e + 1 < end && e[1] == '-';
    int64_t value = 0;
    for (e++; e < end; e++)
        if (ms_is_digit(*e) && value < 1000000)
            value = value * 10 + (*e - '0');
    return negative ? -value : value;
}

bool ms_number_is_finite(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    int64_t scale = exponent_of(text, end) - 1; /* power of ten of the first digit that is not 0 */
    const char *first = NULL;
    bool behind_point = false;
    for (const char *p = text; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.')
            behind_point = true;
        else if (ms_is_digit(*p) && !first) {
            first = *p != '0' ? p : NULL;
            scale += first ? !behind_point : -behind_point;
        } else if (ms_is_digit(*p) && !behind_point)
            scale++;
    }
    if (!first || scale < 308)
        return true;
    if (scale > 308)
        return false;
    size_t compared = 0;
    for (const char *p = first; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.')
            continue;
        char limit = compared < sizeof overflow_digits - 1 ? overflow_digits[compared] : '0';
        if (*p != limit)
            return *p < limit;
        compared++;
    }
    return compared < sizeof overflow_digits - 1;
}

ms_count_result ms_number_count(const char *text, size_t bytes, uint64_t *count)
{
    uint64_t value = 0;
    bool large = false;
    if (bytes == 0 || (bytes > 1 && text[0] == '0'))
        return MS_COUNT_NOT_DIGITS;
    for (size_t i = 0; i < bytes; i++) {
        if (!ms_is_digit(text[i]))
            return MS_COUNT_NOT_DIGITS;
        large |= __builtin_mul_overflow(value, 10u, &value);
        large |= __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
    }
    *count = value;
    return large ? MS_COUNT_TOO_LARGE : MS_COUNT_OK;
}
