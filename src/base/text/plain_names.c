/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names are sorted by length, then by the positions of dots, then by text. Names with the same
 * length and positions of dots are a group; a piece is searched in each group with these positions
 * masked.
 */
#include "base/text/plain_names.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *text;
    size_t length;
    uint32_t index;
} row;

struct ms_plain_names {
    row *rows;
    uint32_t *groups; /* the first row of each */
    uint32_t count, group_count;
};

bool ms_name_is_plain(const char *text)
{
    return !strpbrk(text, "^$*+?{}[]()|\\");
}

/* ---- order ---- */

static int order(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_dots(const row *a, const row *b)
{
    int found = order(a->length, b->length);
    for (size_t i = 0; i < a->length && found == 0; i++)
        found = (a->text[i] == '.') - (b->text[i] == '.');
    return found;
}

static int compare_texts(const row *a, const row *b)
{
    int found = compare_dots(a, b);
    return found ? found : memcmp(a->text, b->text, a->length);
}

static int compare_rows(const void *left, const void *right)
{
    const row *a = left, *b = right;
    int found = compare_texts(a, b);
    return found ? found : order(a->index, b->index);
}

/* Of rows in one group: a piece with other characters in the place of dots. */
static int compare_covered(const row *a, const row *piece)
{
    for (size_t i = 0; i < a->length; i++)
        if (a->text[i] != '.' && a->text[i] != piece->text[i])
            return (uint8_t)a->text[i] < (uint8_t)piece->text[i] ? -1 : 1;
    return 0;
}

/* ---- building ---- */

static void find_groups(ms_plain_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (i == 0 || compare_dots(&names->rows[i - 1], &names->rows[i]) != 0)
            names->groups[names->group_count++] = i;
}

ms_status ms_plain_names_new(const char *const *texts, uint32_t count, ms_plain_names **names,
                             ms_error *err)
{
    ms_plain_names *made = calloc(1, sizeof *made);
    *names = made;
    if (made) {
        made->rows = calloc((size_t)count + 1, sizeof *made->rows);
        made->groups = calloc((size_t)count + 1, sizeof *made->groups);
    }
    if (!made || !made->rows || !made->groups) {
        ms_plain_names_free(made);
        *names = NULL;
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
    }
    for (uint32_t i = 0; i < count; i++)
        if (texts[i])
            made->rows[made->count++] = (row){texts[i], strlen(texts[i]), i};
    qsort(made->rows, made->count, sizeof *made->rows, compare_rows);
    find_groups(made);
    return MS_OK;
}

void ms_plain_names_free(ms_plain_names *names)
{
    if (!names)
        return;
    free(names->rows);
    free(names->groups);
    free(names);
}

/* ---- searching ---- */

/* The first of the rows [first, end) that is the piece by such a comparison. */
static uint32_t search(const ms_plain_names *names, uint32_t first, uint32_t end, const row *piece,
                       int (*compare)(const row *a, const row *piece))
{
    uint32_t last = end;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (compare(&names->rows[middle], piece) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    bool is_there = first < end && compare(&names->rows[first], piece) == 0;
    return is_there ? names->rows[first].index : MS_NO_NAME;
}

uint32_t ms_plain_names_find(const ms_plain_names *names, const char *piece, size_t length)
{
    const row wanted = {piece, length, 0};
    return search(names, 0, names->count, &wanted, compare_texts);
}

/* The first group of names of that length. */
static uint32_t first_group(const ms_plain_names *names, size_t length)
{
    uint32_t first = 0, last = names->group_count;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (names->rows[names->groups[middle]].length < length)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

uint32_t ms_plain_names_find_dotted(const ms_plain_names *names, const char *piece, size_t length,
                                    uint64_t *steps)
{
    const row wanted = {piece, length, 0};
    uint32_t found = MS_NO_NAME;
    for (uint32_t g = first_group(names, length); g < names->group_count; g++) {
        uint32_t first = names->groups[g];
        uint32_t end = g + 1 < names->group_count ? names->groups[g + 1] : names->count;
        if (names->rows[first].length != length || *steps == 0)
            break;
        uint32_t index = search(names, first, end, &wanted, compare_covered);
        found = index < found ? index : found;
        *steps -= *steps < length ? *steps : length;
    }
    return found;
}
