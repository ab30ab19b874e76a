/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/csv.h"

#include <string.h>

#include "base/utf8.h"

static const char digits[] = "0123456789";

/* A sign may begin it, a point be in it: "-1.5". */
static bool is_number(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t whole = strspn(text, digits);
    text += whole;
    size_t rest = *text == '.' ? strspn(text + 1, digits) : 0;
    text += *text == '.' ? rest + 1 : 0;
    return whole + rest > 0 && *text == '\0';
}

/* Spreadsheets run what begins so; tabs and line breaks, which they run too, are visible. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text) && !is_number(text);
}

void ms_csv_put(FILE *out, const char *text)
{
    static const ms_escape quotes[] = {{'"', "\"\""}, {'\0', NULL}};
    const char *mark = strpbrk(text, ",\"") ? "\"" : "";
    fputs(mark, out);
    if (is_formula(text))
        fputc('\'', out);
    ms_put_escaped(out, text, text, text + strlen(text), quotes);
    fputs(mark, out);
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
