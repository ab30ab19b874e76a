/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/locale.h"

enum { GIB_SHIFT = 30 };

/* Hundredths of 2^shift bytes, in integers, without overflow; the length. */
static int print_hundredths(uint64_t bytes, uint32_t shift, char *text, size_t size)
{
    uint64_t whole = bytes >> shift, rest = bytes & ((UINT64_C(1) << shift) - 1);
    uint64_t hundredths = (rest * 100 + (UINT64_C(1) << (shift - 1))) >> shift;
    return snprintf(text, size, "%" PRIu64 ".%02" PRIu64, whole + hundredths / 100,
                    hundredths % 100);
}

const char *ms_gib(uint64_t bytes, char text[MS_GIB_TEXT])
{
    print_hundredths(bytes, GIB_SHIFT, text, MS_GIB_TEXT);
    return text;
}

const char *ms_bytes_text(uint64_t bytes, char text[MS_BYTES_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    uint32_t unit = bytes >> 30 ? 2 : bytes >> 20 ? 1 : 0;
    if (bytes < 1024) {
        snprintf(text, MS_BYTES_TEXT, "%" PRIu64 " B", bytes);
        return text;
    }
    int length = print_hundredths(bytes, 10 * (unit + 1), text, MS_BYTES_TEXT);
    snprintf(text + length, MS_BYTES_TEXT - (size_t)length, " %s", units[unit]);
    return text;
}

uint32_t ms_permille(uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return 0;
    if (part > (UINT64_MAX - whole / 2) / 1000) /* then whole >= part is large too */
        return (uint32_t)(part / (whole / 1000));
    return (uint32_t)((part * 1000 + whole / 2) / whole);
}

const char *ms_fixed(double value, uint32_t decimals, char text[MS_FIXED_TEXT])
{
    uint64_t scale = 1;
    for (uint32_t i = 0; i < decimals; i++)
        scale *= 10;
    double scaled = fabs(value) * (double)scale;
    if (isnan(value)) {
        snprintf(text, MS_FIXED_TEXT, "-");
    } else if (scaled >= 1e18) {
        ms_text_print(text, MS_FIXED_TEXT, "%.3e", value);
    } else {
        uint64_t parts = (uint64_t)llround(scaled);
        int length = snprintf(text, MS_FIXED_TEXT, "%s%" PRIu64, value < 0 && parts ? "-" : "",
                              parts / scale);
        if (decimals)
            snprintf(text + length, MS_FIXED_TEXT - (size_t)length, ".%0*" PRIu64, (int)decimals,
                     parts % scale);
    }
    return text;
}

/* Half of a hundredth GiB, which is rounded up. */
enum { LEAST_SEEN_BYTES = (1 << 30) / 200 };

bool ms_is_seen(uint64_t bytes, uint64_t whole)
{
    return bytes > LEAST_SEEN_BYTES || ms_permille(bytes, whole) > 0;
}
