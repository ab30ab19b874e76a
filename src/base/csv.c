/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/csv.h"

#include <string.h>

void ms_csv_put(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Takes the quotes off the value at `text`; what follows it, or NULL when they do not close. */
static char *unquote(char *text)
{
    char *to = text;
    for (char *from = text + 1; *from; from++) {
        if (*from == '"' && *++from != '"') {
            *to = '\0';
            return from;
        }
        *to++ = *from;
    }
    return NULL;
}

bool ms_csv_split(char *line, void (*take)(void *context, char *value), void *context)
{
    for (char *value = line;;) {
        char *end = *value == '"' ? unquote(value) : value + strcspn(value, ",");
        char after = end ? *end : '"';
        if (after != ',' && after != '\0')
            return false;
        *end = '\0';
        take(context, value);
        if (after == '\0')
            return true;
        value = end + 1;
    }
}

void ms_csv_chomp(char *line, size_t length)
{
    if (length > 0 && line[length - 1] == '\n')
        line[--length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[--length] = '\0';
}
