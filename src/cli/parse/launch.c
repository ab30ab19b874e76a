/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes a word at `text`, and yields where it ends. */
static char *quote(char *text, const char *word)
{
    static const char within[] = "'\\''";
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./=:,%+";
    size_t length = strlen(word);
    if (length > 0 && strspn(word, plain) == length) {
        memcpy(text, word, length);
        return text + length;
    }
    *text++ = '\'';
    for (; *word; word++)
        if (*word == '\'') {
            memcpy(text, within, sizeof within - 1);
            text += sizeof within - 1;
        } else {
            *text++ = *word;
        }
    *text++ = '\'';
    return text;
}

char *ms_cli_quote(char **words, int count)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++)
        bytes += 4 * strlen(words[i]) + 3;
    char *text = malloc(bytes), *end = text;
    for (int i = 0; text && i < count; i++) {
        end = quote(end, words[i]);
        *end++ = ' ';
    }
    if (text)
        *(end > text ? end - 1 : end) = '\0';
    return text;
}

char *ms_cli_script(const char *word)
{
    static const char ending[] = ".sh";
    size_t length = strlen(word), end = sizeof ending - 1;
    bool is_script = length > end && strcmp(word + length - end, ending) == 0;
    if (!is_script || access(word, R_OK) != 0)
        return NULL;
    char sh[] = "sh", *script = strdup(word);
    char *words[] = {sh, script};
    char *text = script ? ms_cli_quote(words, 2) : NULL;
    free(script);
    return text;
}
