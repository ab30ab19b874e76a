/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/nearest.h"

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
 * SIZE_MAX when they are, or can be seen to become, more than `limit`. */
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
        size_t least = row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = last[j - 1] + (plain(a[i - 1]) != plain(b[j - 1]));
            row[j] = min_of(replaced, min_of(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
                plain(a[i - 2]) == plain(b[j - 1]))
                row[j] = min_of(row[j], before[j - 2] + 1);
            least = min_of(least, row[j]);
        }
        if (least > limit + 1) /* a swap may still take one back */
            return SIZE_MAX;
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

/* Beyond a third of its letters a name is another name. */
static size_t slips_of(const char *wanted)
{
    size_t length = strlen(wanted);
    return length < 3 ? 1 : (length + 2) / 3;
}

ms_nearest ms_nearest_to(const char *wanted)
{
    return ms_nearest_within(wanted, SIZE_MAX);
}

ms_nearest ms_nearest_within(const char *wanted, size_t letters)
{
    return (ms_nearest){
        .wanted = wanted, .distance = SIZE_MAX, .limit = min_of(letters, slips_of(wanted))};
}

ms_nearest ms_nearest_same(const char *wanted)
{
    return (ms_nearest){.wanted = wanted, .distance = SIZE_MAX, .is_same = true};
}

ms_nearest ms_nearest_same_or_begun(const char *wanted)
{
    ms_nearest nearest = ms_nearest_same(wanted);
    nearest.takes_begun = true;
    return nearest;
}

/* ---- names of things ---- */

static bool is_sign(char c)
{
    return c && strchr(" -_./+", c);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Past a letter and what doubles it, or a digit, and the signs that follow. */
static const char *step(const char *p, bool may_double)
{
    char first = plain(*p++);
    while (may_double && is_letter(first) && plain(*p) == first)
        p++;
    while (is_sign(*p))
        p++;
    return p;
}

/* Two letters in the other order. */
static bool is_swapped(const char *a, const char *b)
{
    return is_letter(a[0]) && is_letter(a[1]) && plain(a[0]) == plain(b[1]) &&
           plain(a[1]) == plain(b[0]);
}

/* What a name goes on with where the wanted one ends; NULL when they part. One swap is a slip. */
static const char *rest_of(const char *name, const char *wanted)
{
    bool may_swap = strlen(wanted) >= 4, may_double = strlen(name) > 4; /* "adamm" is what? */
    while (*wanted) {
        if (plain(*name) == plain(*wanted)) {
            name = step(name, may_double);
            wanted = step(wanted, may_double);
        } else if (may_swap && *name && is_swapped(name, wanted)) {
            name = step(name + 1, may_double);
            wanted = step(wanted + 1, may_double);
            may_swap = false;
        } else {
            return NULL;
        }
    }
    return name;
}

static void offer_same(ms_nearest *nearest, const char *name)
{
    enum { LEAST_BEGUN = 3 };
    const char *wanted = nearest->wanted + strspn(nearest->wanted, " -_./+");
    const char *rest = *wanted ? rest_of(name, wanted) : NULL;
    if (!rest)
        return;
    if (!*rest) {
        nearest->name = name;
        nearest->distance = 0;
        return;
    }
    bool is_number_cut = *rest >= '0' && *rest <= '9' && !is_sign(rest[-1]);
    if (!nearest->takes_begun || strlen(wanted) < LEAST_BEGUN || is_number_cut)
        return;
    if (nearest->begun_count < MS_NEAREST_MOST_BEGUN)
        nearest->begun[nearest->begun_count] = name;
    nearest->begun_count++;
}

/* ---- words ---- */

/* True when the name goes on where the wanted one ends: "check" for "checkpointing". */
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
    if (nearest->is_same) {
        offer_same(nearest, name);
        return;
    }
    bool longer = strlen(nearest->wanted) >= 3 && begins(name, nearest->wanted);
    size_t distance = longer ? 0 : edit_distance(nearest->wanted, name, nearest->limit);
    if (distance > nearest->limit || distance >= nearest->distance)
        return;
    nearest->name = name;
    nearest->distance = distance;
}

const char *ms_nearest_hint(const ms_nearest *nearest, char *out, size_t size)
{
    uint32_t count = nearest->begun_count;
    size_t used = 0;
    out[0] = '\0';
    if (nearest->name)
        snprintf(out, size, "; did you mean '%s'?", nearest->name);
    if (nearest->name || count > MS_NEAREST_MOST_BEGUN)
        return out;
    for (uint32_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%s'%s",
                                 i == 0           ? "; did you mean "
                                 : i + 1 == count ? " or "
                                                  : ", ",
                                 nearest->begun[i], i + 1 == count ? "?" : "");
    return out;
}
