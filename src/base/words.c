/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/words.h"

#include <string.h>

static const char *const *names_of(const ms_words *words, uint64_t value)
{
    const uint64_t stride = words->stride ? words->stride : sizeof *words->items;
    return (const char *const *)(const void *)((const char *)words->items + value * stride);
}

const char *ms_words_at(const ms_words *words, uint64_t value)
{
    return *names_of(words, value);
}

uint32_t ms_words_find(const ms_words *words, const char *text)
{
    for (uint32_t i = 0; i < words->count; i++)
        for (uint32_t k = 0; k < (words->names ? words->names : 1); k++)
            if (strcmp(names_of(words, i)[k], text) == 0)
                return i;
    return words->count;
}
