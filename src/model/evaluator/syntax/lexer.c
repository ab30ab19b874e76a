/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/syntax/lexer.h"

#include "base/locale.h"

#include <stdio.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char at(const ms_lexer *l, uint32_t ahead)
{
    const size_t place = (size_t)l->at + ahead;
    return place < l->file->bytes ? l->file->text[place] : '\0';
}

static bool has_more(const ms_lexer *l)
{
    return l->at < l->file->bytes;
}

static void set(ms_lexer *l, ms_word_kind kind, uint32_t bytes)
{
    l->word = (ms_word){kind, l->at, bytes};
    l->at += bytes;
}

void ms_lexer_fail(ms_lexer *l, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    const ms_text_node place = {
        .file = l->file, .offset = l->word.offset, .bytes = l->word.bytes ? l->word.bytes : 1};
    ms_family_fail(l->reading, &place, "%s", text);
    l->word = (ms_word){MS_WORD_END, l->word.offset, 0};
    l->at = (uint32_t)l->file->bytes;
    l->dedents = 0;
    l->has_ended = true;
}

static void skip_comment(ms_lexer *l)
{
    while (has_more(l) && at(l, 0) != '\n')
        l->at++;
}

/* Blanks, and in brackets the ends of lines. */
static void skip_blanks(ms_lexer *l)
{
    for (; has_more(l); l->at++) {
        if (at(l, 0) == '#')
            skip_comment(l);
        const char c = at(l, 0);
        if (c != ' ' && c != '\r' && !(l->brackets > 0 && (c == '\n' || c == '\t')))
            return;
    }
}

/* The blanks of the next line that has words; `level` stays where there is none. */
static uint32_t indentation(ms_lexer *l)
{
    for (;;) {
        uint32_t blanks = 0;
        while (at(l, blanks) == ' ')
            blanks++;
        l->at += blanks;
        if (at(l, 0) == '#')
            skip_comment(l);
        if (at(l, 0) == '\r' && at(l, 1) == '\n')
            l->at++;
        if (!has_more(l))
            return 0;
        if (at(l, 0) != '\n')
            return blanks;
        l->at++;
    }
}

/* True if the start of the line is a word of its own. */
static bool begin_line(ms_lexer *l)
{
    const uint32_t blanks = indentation(l);
    l->at_line = false;
    if (at(l, 0) == '\t') {
        set(l, MS_WORD_SIGN, 1);
        ms_lexer_fail(l, "a tab where blanks are expected");
        return true;
    }
    if (blanks > l->levels[l->level]) {
        set(l, MS_WORD_INDENT, 0);
        if (l->level + 1 == MS_FAMILY_DEPTH)
            ms_lexer_fail(l, "blocks are nested too deeply");
        else
            l->levels[++l->level] = blanks;
        return true;
    }
    while (blanks < l->levels[l->level]) {
        l->level--;
        l->dedents++;
    }
    if (blanks == l->levels[l->level])
        return false;
    set(l, MS_WORD_SIGN, 0);
    ms_lexer_fail(l, "this line's indentation matches no line above it");
    return true;
}

/* Between three quotes: it may have several lines. */
static void read_long_string(ms_lexer *l, char quote)
{
    uint32_t bytes = 3;
    while (l->at + bytes < l->file->bytes &&
           !(at(l, bytes) == quote && at(l, bytes + 1) == quote && at(l, bytes + 2) == quote))
        bytes++;
    const bool has_end = l->at + bytes < l->file->bytes;
    set(l, MS_WORD_STRING, has_end ? bytes + 3 : 3);
    if (!has_end)
        ms_lexer_fail(l, "this string is not closed");
}

static void read_string(ms_lexer *l)
{
    const char quote = at(l, 0);
    uint32_t bytes = 1;
    if (at(l, 1) == quote && at(l, 2) == quote) {
        read_long_string(l, quote);
        return;
    }
    while (at(l, bytes) != quote && at(l, bytes) != '\n' && at(l, bytes) != '\\' &&
           l->at + bytes < l->file->bytes)
        bytes++;
    const bool has_end = at(l, bytes) == quote;
    const bool has_escape = at(l, bytes) == '\\';
    set(l, MS_WORD_STRING, bytes + has_end);
    if (has_escape)
        ms_lexer_fail(l, "a backslash in a string is not supported");
    else if (!has_end)
        ms_lexer_fail(l, "this string is not closed");
}

static void read_sign(ms_lexer *l)
{
    static const char *const two[] = {"//", "==", "!=", "<=", ">=", "**",
                                      "+=", "-=", "*=", "/=", "->"};
    static const char one[] = "()[]{},:=.+-*/%<>@&|~";
    const char c = at(l, 0);
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (c == two[i][0] && at(l, 1) == two[i][1]) {
            set(l, MS_WORD_SIGN, 2);
            return;
        }
    set(l, MS_WORD_SIGN, 1);
    if (c == '\0' || !strchr(one, c))
        ms_lexer_fail(l, "a character that has no meaning here");
    else if (strchr("([{", c))
        l->brackets++;
    else if (strchr(")]}", c) && l->brackets > 0)
        l->brackets--;
}

static void read_word(ms_lexer *l)
{
    const char c = at(l, 0);
    uint32_t bytes = 0;
    if (is_letter(c)) {
        while (is_letter(at(l, bytes)) || is_digit(at(l, bytes)))
            bytes++;
        set(l, MS_WORD_NAME, bytes);
    } else if (is_digit(c)) {
        while (is_digit(at(l, bytes)) || at(l, bytes) == '.' || at(l, bytes) == '_')
            bytes++;
        if (at(l, bytes) == 'e')
            bytes += at(l, bytes + 1) == '-' ? 2 : 1;
        while (is_digit(at(l, bytes)))
            bytes++;
        set(l, MS_WORD_NUMBER, bytes);
    } else if (c == '"' || c == '\'') {
        read_string(l);
    } else {
        read_sign(l);
    }
}

/* At the end: first that of its last line, then those of its blocks. */
static void end(ms_lexer *l)
{
    set(l, l->has_ended ? MS_WORD_END : MS_WORD_LINE, 0);
    if (!l->has_ended)
        l->dedents = l->level;
    l->has_ended = true;
    l->level = 0;
}

void ms_lexer_next(ms_lexer *l)
{
    if (l->dedents == 0 && l->at_line && begin_line(l))
        return;
    if (l->dedents > 0) {
        l->dedents--;
        set(l, MS_WORD_DEDENT, 0);
        return;
    }
    skip_blanks(l);
    if (!has_more(l)) {
        end(l);
        return;
    }
    if (at(l, 0) != '\n') {
        read_word(l);
        return;
    }
    set(l, MS_WORD_LINE, 1);
    l->at_line = true;
}

void ms_lexer_begin(ms_lexer *l, ms_family_reading *reading, const ms_family_file *file)
{
    *l = (ms_lexer){.reading = reading, .file = file, .at_line = true};
    if (file->bytes > MS_FAMILY_TEXT_BYTES) {
        ms_lexer_fail(l, "the text is larger than %d bytes", MS_FAMILY_TEXT_BYTES);
        return;
    }
    ms_lexer_next(l);
}

bool ms_lexer_is(const ms_lexer *l, const char *text)
{
    const bool has_text = l->word.kind == MS_WORD_NAME || l->word.kind == MS_WORD_SIGN;
    return has_text && strlen(text) == l->word.bytes &&
           memcmp(l->file->text + l->word.offset, text, l->word.bytes) == 0;
}
