/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/pattern.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ms_pattern {
    regex_t regex;
};

/* Python's classes in POSIX's words, inside and outside of brackets. */
static const struct class_row {
    char letter;
    const char *inside, *outside;
} classes[] = {
    {'d', "0-9", "[0-9]"},
    {'w', "A-Za-z0-9_", "[A-Za-z0-9_]"},
    {'s', " \t", "[ \t]"},
};

/* The expression being written. */
typedef struct writer {
    char *out;
    size_t used;
} writer;

static void put(writer *w, const char *text)
{
    size_t length = strlen(text);
    memcpy(w->out + w->used, text, length + 1);
    w->used += length;
}

static void put_char(writer *w, char c)
{
    const char text[2] = {c, '\0'};
    put(w, text);
}

/* The character behind a backslash; false when the C library has no word for it. */
static bool put_escape(writer *w, char c, bool in_brackets)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (classes[i].letter == c) {
            put(w, in_brackets ? classes[i].inside : classes[i].outside);
            return true;
        }
    if (c == '\0' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return false;
    if (!in_brackets)
        put_char(w, '\\');
    put_char(w, c);
    return true;
}

/* What follows a repeat in Python alone: lazy and possessive ones. */
static bool changes_repeat(const char *p)
{
    return strchr("*+?}", p[0]) && (p[1] == '?' || p[1] == '+');
}

static bool translate(const char *text, writer *w)
{
    bool in_brackets = false;
    for (const char *p = text; *p; p++) {
        if (*p == '\\') {
            if (!put_escape(w, *++p, in_brackets))
                return false;
            continue;
        }
        if (!in_brackets && p[0] == '(' && p[1] == '?') {
            if (p[2] != ':')
                return false;
            put_char(w, '(');
            p += 2;
            continue;
        }
        if (!in_brackets && changes_repeat(p))
            return false;
        if (*p == '[' && !in_brackets) {
            in_brackets = true;
            put_char(w, *p);
            if (p[1] == '^')
                put_char(w, *++p);
            if (p[1] == ']')
                put_char(w, *++p);
            continue;
        }
        if (*p == ']')
            in_brackets = false;
        put_char(w, *p);
    }
    return true;
}

/* The longest that a character becomes: one class. */
enum { MOST_BYTES_A_CHARACTER = 14, MOST_PATTERN_BYTES = 1000 };

ms_status ms_pattern_new(const char *before, const char *text, const char *after,
                         ms_pattern **pattern, ms_error *err)
{
    size_t length = strlen(text);
    *pattern = NULL;
    if (length > MOST_PATTERN_BYTES)
        return ms_fail(err, MS_ERR_CONFIG, "'%.40s...': a pattern of more than %d characters", text,
                       MOST_PATTERN_BYTES);
    ms_pattern *made = calloc(1, sizeof *made);
    writer w = {
        malloc(strlen(before) + strlen(after) + length * MOST_BYTES_A_CHARACTER + sizeof "^()$"),
        0};
    ms_status status = made && w.out ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory");
    if (status == MS_OK) {
        put(&w, "^");
        put(&w, before);
        put(&w, "(");
        bool known = translate(text, &w);
        put(&w, ")");
        put(&w, after);
        put(&w, "$");
        errno = 0; /* the GNU library may run out of memory and say nothing */
        int result = known ? regcomp(&made->regex, w.out, REG_EXTENDED | REG_NOSUB) : REG_BADPAT;
        if (result == 0 && errno == ENOMEM) {
            regfree(&made->regex);
            result = REG_ESPACE;
        }
        if (result == REG_ESPACE)
            status = ms_fail(err, MS_ERR_NOMEM, "out of memory");
        else if (result != 0)
            status = ms_fail(err, MS_ERR_CONFIG,
                             "pattern '%.80s' cannot be read here; groups, classes, "
                             "alternatives and plain repeats can",
                             text);
    }
    free(w.out);
    if (status == MS_OK)
        *pattern = made;
    else
        free(made);
    return status;
}

void ms_pattern_free(ms_pattern *pattern)
{
    if (!pattern)
        return;
    regfree(&pattern->regex);
    free(pattern);
}

bool ms_pattern_matches(const ms_pattern *pattern, const char *subject, bool *ran_out)
{
    errno = 0; /* the GNU library calls running out of memory no match */
    int result = regexec(&pattern->regex, subject, 0, NULL, 0);
    *ran_out = *ran_out || result == REG_ESPACE || (result != 0 && errno == ENOMEM);
    return result == 0;
}
