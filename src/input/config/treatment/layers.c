/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/layers.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/number.h"

/* One entry of a specification: every step-th layer from first up to last. */
typedef struct layer_range {
    uint64_t first, last, step;
} layer_range;

static ms_status fail_wording(const char *text, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "'%.40s' does not name layers; write none, all, first:8, last:4, every:2 or "
                   "0,2,5-9",
                   text);
}

/* Reads digits up to `end`; false when there is anything else. */
static bool read_layer(const char *text, const char *end, uint64_t *layer)
{
    return ms_number_count(text, (size_t)(end - text), layer) == MS_COUNT_OK && *layer < UINT32_MAX;
}

/* Reads "5" or "5-9" and moves behind it and its comma. */
static bool read_range(const char **text, layer_range *range)
{
    const char *end = *text + strcspn(*text, ",");
    const char *dash = memchr(*text, '-', (size_t)(end - *text));
    range->step = 1;
    if (!read_layer(*text, dash ? dash : end, &range->first))
        return false;
    range->last = range->first;
    if (dash && (!read_layer(dash + 1, end, &range->last) || range->last < range->first))
        return false;
    if (*end == ',' && end[1] == '\0')
        return false;
    *text = *end ? end + 1 : end;
    return true;
}

static const char *const words[] = {"none", "all", "first:", "last:", "every:"};
enum { WORD_NONE, WORD_ALL, WORD_FIRST, WORD_LAST, WORD_EVERY, WORD_LIST };

/* The word a specification starts with, and the number behind it. */
static bool read_word(const char *text, int *word, uint64_t *number)
{
    for (*word = WORD_NONE; *word < WORD_LIST; (*word)++) {
        size_t length = strlen(words[*word]);
        if (strncmp(text, words[*word], length) != 0)
            continue;
        const char *rest = text + length;
        if (*word < WORD_FIRST)
            return *rest == '\0';
        return read_layer(rest, rest + strlen(rest), number) && *number > 0;
    }
    return true;
}

static ms_status check_list(const char *text, ms_error *err)
{
    layer_range range;
    const char *p = text;
    do {
        if (!read_range(&p, &range))
            return fail_wording(text, err);
    } while (*p);
    return MS_OK;
}

ms_status ms_layer_list_check(const char *text, ms_error *err)
{
    int word;
    uint64_t number;
    if (!read_word(text, &word, &number))
        return fail_wording(text, err);
    return word == WORD_LIST ? check_list(text, err) : MS_OK;
}

static ms_status select_range(layer_range range, uint64_t num_layers, bool *layers, ms_error *err)
{
    if (range.last >= num_layers)
        return ms_fail(err, MS_ERR_CONFIG,
                       "layer %" PRIu64 " is beyond the last: the model has %" PRIu64
                       ", numbered from 0",
                       range.last, num_layers);
    for (uint64_t i = range.first; i <= range.last; i += range.step)
        layers[i] = true;
    return MS_OK;
}

ms_status ms_layer_list_select(const char *text, uint64_t num_layers, bool *layers, ms_error *err)
{
    int word = WORD_NONE;
    uint64_t number = 0;
    ms_status status = ms_layer_list_check(text, err);
    if (status != MS_OK)
        return status;
    memset(layers, 0, num_layers * sizeof *layers);
    (void)read_word(text, &word, &number);
    if ((word == WORD_FIRST || word == WORD_LAST) && number > num_layers)
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " layers, but the model has %" PRIu64, number,
                       num_layers);
    const layer_range by_word[] = {
        [WORD_ALL] = {0, num_layers - 1, 1},
        [WORD_FIRST] = {0, number - 1, 1},
        [WORD_LAST] = {num_layers - number, num_layers - 1, 1},
        [WORD_EVERY] = {0, num_layers - 1, number},
    };
    if (word == WORD_NONE)
        return MS_OK;
    if (word != WORD_LIST)
        return select_range(by_word[word], num_layers, layers, err);
    while (status == MS_OK && *text) {
        layer_range range = {0};
        (void)read_range(&text, &range);
        status = select_range(range, num_layers, layers, err);
    }
    return status;
}
