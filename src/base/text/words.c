/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/words.h"

#include <string.h>

bool ms_words_have(const char *list, const char *word)
{
    size_t bytes = strlen(word);
    bool is_one = bytes > 0 && !strchr(word, ' ');
    for (const char *at = is_one ? strstr(list, word) : NULL; at; at = strstr(at + 1, word))
        if (at > list && at[-1] == ' ' && at[bytes] == ' ')
            return true;
    return false;
}

bool ms_text_ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}
