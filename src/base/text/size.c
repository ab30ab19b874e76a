/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json/number.h"

static const struct unit_row {
    const char *name;
    uint64_t bytes;
} units[] = {
    {"B", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"kB", UINT64_C(1000)},
    {"MB", UINT64_C(1000000)},
    {"GB", UINT64_C(1000000000)},
    {"TB", UINT64_C(1000000000000)},
};
enum { UNIT_COUNT = sizeof units / sizeof units[0], MAX_DECIMALS = 6 };

static const char *const shown_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

static ms_status fail_unit(const char *text, int number_bytes, const char *unit, ms_error *err)
{
    if (!*unit)
        return ms_fail(err, MS_ERR_USAGE,
                       "'%.40s' has no unit; write for example %.*sGiB or %.*sGB", text,
                       number_bytes, text, number_bytes, text);
    if (unit[0] && strchr("kKmMgGtT", unit[0]) && !unit[1])
        return ms_fail(err, MS_ERR_USAGE,
                       "'%.40s' may be %.*s%ciB, of 1024, or %.*s%cB, of 1000; write which", text,
                       number_bytes, text, toupper(unit[0]), number_bytes, text,
                       *unit == 'k' || *unit == 'K' ? 'k' : toupper(unit[0]));
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcasecmp(unit, units[i].name) == 0)
            return ms_fail(err, MS_ERR_USAGE, "unknown unit '%.20s' in '%.40s'; did you mean %s?",
                           unit, text, units[i].name);
    return ms_fail(err, MS_ERR_USAGE,
                   "unknown unit '%.20s' in '%.40s'; units are B, KiB, MiB, GiB, TiB (1024) and "
                   "kB, MB, GB, TB (1000)",
                   unit, text);
}

static const struct unit_row *find_unit(const char *name)
{
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcmp(name, units[i].name) == 0)
            return &units[i];
    return NULL;
}

/* Reads the digits of the number; false when it does not fit. *text moves behind them. */
static bool read_whole(const char **text, uint64_t *whole)
{
    bool fits = true;
    *whole = 0;
    for (; ms_is_digit(**text); (*text)++) {
        fits &= !__builtin_mul_overflow(*whole, 10u, whole);
        fits &= !__builtin_add_overflow(*whole, (uint64_t)(**text - '0'), whole);
    }
    return fits;
}

ms_status ms_size_parse(const char *text, uint64_t *bytes, ms_error *err)
{
    const char *p = text;
    uint64_t whole, fraction = 0, scale = 1, total;
    bool fits = read_whole(&p, &whole);
    if (p == text)
        return ms_fail(err, MS_ERR_USAGE, "'%.40s' is not a size; write for example 80GiB", text);
    if (*p == '.') {
        const char *point = p++;
        for (; ms_is_digit(*p) && p - point <= MAX_DECIMALS; p++, scale *= 10)
            fraction = fraction * 10 + (uint64_t)(*p - '0');
        if (p == point + 1 || ms_is_digit(*p))
            return ms_fail(err, MS_ERR_USAGE, "'%.40s' needs one to %d digits after the point",
                           text, MAX_DECIMALS);
    }
    int number_bytes = p - text > 40 ? 40 : (int)(p - text);
    while (*p == ' ')
        p++;
    const struct unit_row *unit = find_unit(p);
    if (!unit)
        return fail_unit(text, number_bytes, p, err);
    fits &= !__builtin_mul_overflow(whole, unit->bytes, &total);
    fits &= !__builtin_add_overflow(total, fraction * unit->bytes / scale, &total);
    if (!fits || total > MS_MOST_SIZE)
        return ms_fail(err, MS_ERR_OVERFLOW,
                       "'%.40s' is more than 1 EiB (2^60 bytes), the largest "
                       "size accepted",
                       text);
    *bytes = total;
    return MS_OK;
}

char *ms_size_format(uint64_t bytes, char *out, size_t size)
{
    enum { LAST = sizeof shown_units / sizeof shown_units[0] - 1 };
    size_t unit = 0;
    while (unit < LAST && bytes >> (10 * (unit + 1)) > 0)
        unit++;
    if (unit == 0) {
        snprintf(out, size, "%" PRIu64 " B", bytes);
        return out;
    }
    uint64_t whole = bytes >> (10 * unit);
    /* The last ten bits of the rest do not decide the second decimal of 2^60, and would overflow.
     */
    uint64_t rest = (bytes - (whole << (10 * unit))) >> (unit == LAST ? 10 : 0);
    uint64_t one = UINT64_C(1) << (10 * unit - (unit == LAST ? 10 : 0));
    uint64_t hundredths = (rest * 100 + one / 2) / one;
    whole += hundredths / 100;
    hundredths %= 100;
    if (whole == 1024 && unit < LAST) {
        whole = 1;
        unit++;
    }
    snprintf(out, size, "%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths, shown_units[unit]);
    return out;
}
