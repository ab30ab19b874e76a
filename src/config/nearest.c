/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 };

static char plain(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' ? '-' : c;
}

int ms_name_equal(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return plain(*a) == plain(*b);
}

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one name into the other;
 * SIZE_MAX when their lengths alone are further apart than `limit`. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t difference = a_length > b_length ? a_length - b_length : b_length - a_length;
    if (a_length > MAX_NAME || b_length > MAX_NAME || difference > limit)
        return SIZE_MAX;
    size_t rows[3][MAX_NAME + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = last[j - 1] + (plain(a[i - 1]) != plain(b[j - 1]));
            row[j] = min_of(replaced, min_of(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
                plain(a[i - 2]) == plain(b[j - 1]))
                row[j] = min_of(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

size_t ms_name_distance(const char *a, const char *b)
{
    return edit_distance(a, b, MAX_NAME);
}

ms_nearest ms_nearest_to(const char *wanted)
{
    return (ms_nearest){.wanted = wanted, .distance = SIZE_MAX};
}

/* True when the name goes on where the wanted one ends: "h100" for "h100-80gb". */
static bool begins(const char *name, const char *wanted)
{
    while (*wanted && plain(*wanted) == plain(*name)) {
        wanted++;
        name++;
    }
    return !*wanted;
}

void ms_nearest_offer(ms_nearest *nearest, const char *name)
{
    /* Beyond a third of its letters a name is another name. */
    size_t length = strlen(nearest->wanted), limit = length < 3 ? 1 : (length + 2) / 3;
    bool longer = length >= 3 && begins(name, nearest->wanted);
    size_t distance = longer ? 0 : edit_distance(nearest->wanted, name, limit);
    if (distance > limit || distance >= nearest->distance)
        return;
    nearest->name = name;
    nearest->distance = distance;
}

const char *ms_nearest_hint(const ms_nearest *nearest, char *out, size_t size)
{
    out[0] = '\0';
    if (nearest->name)
        snprintf(out, size, "; did you mean '%s'?", nearest->name);
    return out;
}
