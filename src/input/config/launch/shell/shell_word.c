/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One word of a shell's text, with what it expands to.
 */
#include "input/config/launch/shell/shell_word.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shell number ---- */

enum { MOST_DIGITS = 9, MOST_NAME = 63, MOST_NUMBER = 1000000000, OCTAL = 8, DECIMAL = 10 };

typedef struct expression {
    const ms_shell *s;
    const char *at, *end;
    bool is_inner; /* of (( )), where names need no dollar */
} expression;

static void skip_blanks(expression *e)
{
    while (e->at < e->end && strchr(" \t", *e->at))
        e->at++;
}

static bool take(expression *e, char c)
{
    bool is_there = e->at < e->end && *e->at == c;
    e->at += is_there;
    return is_there;
}

/* Digits alone; of (( )) octal ones behind a 0. */
static bool number_of(const expression *e, const char *text, size_t bytes, long *number)
{
    char digits[MOST_DIGITS + 1];
    if (bytes == 0 || bytes > MOST_DIGITS)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    memcpy(digits, text, bytes);
    digits[bytes] = '\0';
    const bool is_octal = e->is_inner && bytes > 1 && *digits == '0';
    *number = strtol(digits, NULL, is_octal ? OCTAL : DECIMAL);
    return !is_octal || !strpbrk(digits, "89"); /* which the shell refuses */
}

static size_t name_bytes(const expression *e)
{
    size_t bytes = 0;
    while (e->at + bytes < e->end && (isalnum((unsigned char)e->at[bytes]) || e->at[bytes] == '_'))
        bytes++;
    return bytes;
}

static bool value_of(const expression *e, size_t bytes, long *number)
{
    char name[MOST_NAME + 1];
    if (bytes == 0 || bytes > MOST_NAME)
        return false;
    memcpy(name, e->at, bytes);
    name[bytes] = '\0';
    const ms_shell_variable *variable = ms_shell_find(e->s, name);
    return variable && variable->count == 1 && !variable->items[0].unknown &&
           number_of(e, variable->items[0].text, strlen(variable->items[0].text), number);
}

static bool take_operand(expression *e, long *number)
{
    skip_blanks(e);
    bool has_dollar = take(e, '$'), has_brace = has_dollar && take(e, '{');
    const size_t bytes = name_bytes(e);
    bool is_digit = e->at < e->end && isdigit((unsigned char)*e->at);
    bool is_one = is_digit && !has_dollar
                      ? number_of(e, e->at, bytes, number)
                      : (has_dollar || e->is_inner) && value_of(e, bytes, number);
    e->at += bytes;
    return is_one && (!has_brace || take(e, '}'));
}

static bool compute(long left, char sign, long right, long *number)
{
    if ((sign == '/' || sign == '%') && right == 0)
        return false;
    *number = sign == '+'   ? left + right
              : sign == '-' ? left - right
              : sign == '*' ? left * right
              : sign == '/' ? left / right
                            : left % right;
    return true;
}

/* What follows the first number: of one rank of operators, from the left. */
static bool take_others(expression *e, long *number)
{
    static const char products[] = "*/%", sums[] = "+-";
    const char *signs = NULL;
    for (skip_blanks(e); e->at < e->end; skip_blanks(e)) {
        long right;
        take(e, '\\');
        const char sign = e->at < e->end ? *e->at++ : '\0';
        const char *of = strchr(products, sign) ? products : sums;
        if (!sign || !strchr(of, sign) || (signs && signs != of))
            return false;
        signs = of;
        if (!take_operand(e, &right) || !compute(*number, sign, right, number) ||
            *number > MOST_NUMBER || *number < 0)
            return false;
    }
    return signs != NULL;
}

/* What is between the brackets, "expr 16 / $N" or "(16 / N)", as a number: whole numbers, or
 * variables of such, with * / and %, or + and -, between. False: it is something else. */
static bool shell_number(const ms_shell *s, const char *text, size_t bytes, long *number)
{
    static const char word[] = "expr ";
    expression e = {.s = s, .at = text, .end = text + bytes};
    skip_blanks(&e);
    e.is_inner = take(&e, '(');
    if (e.is_inner) {
        if (e.end[-1] != ')')
            return false;
        e.end--;
    } else if ((size_t)(e.end - e.at) < sizeof word || strncmp(e.at, word, sizeof word - 1) != 0) {
        return false;
    } else {
        e.at += sizeof word - 1;
    }
    return take_operand(&e, number) && take_others(&e, number);
}

const char *ms_shell_integer(const ms_shell *s, const char *text)
{
    const expression one = {.s = s, .is_inner = true};
    const size_t bytes = strlen(text);
    long number;
    if (number_of(&one, text, bytes, &number))
        return ms_arena_printf(s->arena, "%ld", number);
    const char *whole = ms_arena_printf(s->arena, "(%s)", text);
    if (!whole || !shell_number(s, whole, bytes + 2, &number))
        return NULL;
    return ms_arena_printf(s->arena, "%ld", number);
}

/* ---- shell word ---- */

typedef struct reading {
    ms_shell *s;
    bool has_text; /* quotes make a word of nothing */
    bool has_none; /* but not of a list that is empty: "$@" */
    uint32_t nesting;
} reading;

static char next(const ms_shell *s)
{
    return s->at + 1 < s->source.length ? s->source.text[s->at + 1] : '\0';
}

static void step(ms_shell *s)
{
    s->line += ms_shell_peek(s) == '\n';
    s->at++;
}

static bool is_at_end(const ms_shell *s)
{
    return s->at >= s->source.length;
}

/* ---- text ---- */

static ms_status put(const reading *r, char c)
{
    ms_shell *s = r->s;
    if (++s->expanded > MS_SHELL_MAX_BYTES)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "the text expands to more than %d KiB",
                             MS_SHELL_MAX_BYTES >> 10);
    return ms_vec_push(&s->text, c) ? MS_OK : ms_fail(s->err, MS_ERR_NOMEM, "out of memory");
}

/* Ends the word that was made so far, if there is one. */
static ms_status end_word(reading *r)
{
    ms_shell *s = r->s;
    if (s->text.count == 0 && !r->has_text)
        return MS_OK;
    if (s->words.count == MS_SHELL_MAX_WORDS)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "more than %d words", MS_SHELL_MAX_WORDS);
    const char *text =
        ms_arena_printf(s->arena, "%.*s", (int)s->text.count, s->text.items ? s->text.items : "");
    const bool is_unknown = text && strchr(text, MS_SHELL_UNKNOWN);
    const ms_shell_word word = {text, s->line,
                                !is_unknown  ? NULL
                                : s->unknown ? s->unknown
                                             : "it is not known"};
    s->text.count = 0;
    s->unknown = NULL;
    r->has_text = false;
    return text && ms_vec_push(&s->words, word) ? MS_OK
                                                : ms_fail(s->err, MS_ERR_NOMEM, "out of memory");
}

static ms_status forget(const reading *r, const char *why)
{
    ms_shell *s = r->s;
    const char *text = ms_arena_printf(s->arena, "line %u: %s", (unsigned)s->line, why);
    s->unknown = text ? text : why;
    return put(r, MS_SHELL_UNKNOWN);
}

/* A value; without quotes its blanks end words. `is_unknown`: each of them. */
static ms_status put_text(reading *r, const char *text, bool is_quoted, bool is_unknown)
{
    bool is_first = true;
    ms_status status = is_unknown && !*text ? put(r, MS_SHELL_UNKNOWN) : MS_OK;
    for (; *text && status == MS_OK; text++)
        if (!is_quoted && strchr(" \t\n", *text)) {
            const char *unknown = r->s->unknown;
            status = end_word(r);
            r->s->unknown = unknown;
            is_first = true;
        } else {
            if (is_unknown && is_first)
                status = put(r, MS_SHELL_UNKNOWN);
            is_first = false;
            status = status == MS_OK ? put(r, *text) : status;
        }
    return status;
}

/* ---- variables ---- */

static ms_status put_variable(reading *r, const char *name, bool is_quoted)
{
    const ms_shell_variable *variable = ms_shell_find(r->s, name);
    ms_status status = MS_OK;
    if (!variable) {
        status = put(r, '$');
        if (status == MS_OK)
            status = put_text(r, name, true, false);
        return status == MS_OK
                   ? forget(r, ms_arena_printf(r->s->arena, "'%.40s' is not assigned above", name))
                   : status;
    }
    r->has_none |= variable->count == 0;
    for (uint32_t i = 0; i < variable->count && status == MS_OK; i++) {
        const ms_shell_word *item = &variable->items[i];
        if (i > 0)
            status = end_word(r);
        if (item->unknown)
            r->s->unknown = item->unknown;
        if (status == MS_OK)
            status = put_text(r, item->text, is_quoted || variable->is_list,
                              item->unknown && !strchr(item->text, MS_SHELL_UNKNOWN));
        r->has_text |= is_quoted;
    }
    return status;
}

/* Skips to the bracket that closes what was opened before. */
static ms_status skip_to(reading *r, char open, char close)
{
    ms_shell *s = r->s;
    uint32_t line = s->line;
    for (uint32_t depth = 1; !is_at_end(s); step(s)) {
        char c = ms_shell_peek(s);
        depth += c == open && open != close;
        depth -= c == close;
        if (c == '\\')
            step(s);
        if (depth == 0) {
            step(s);
            return MS_OK;
        }
    }
    return ms_shell_fail(s, line, MS_ERR_SYNTAX, "'%c' without '%c'", open, close);
}

static ms_status read_quoted(reading *r);
static ms_status read_dollar(reading *r, bool is_quoted);

static ms_status read_piece(reading *r, bool is_quoted)
{
    ms_shell *s = r->s;
    char c = ms_shell_peek(s);
    if (c == '"' && !is_quoted)
        return read_quoted(r);
    if (c == '$')
        return read_dollar(r, is_quoted);
    if (c == '`') {
        ms_status status = forget(r, "a substitution is not followed");
        step(s);
        return status == MS_OK ? skip_to(r, '`', '`') : status;
    }
    if (c == '\\' && next(s)) {
        step(s);
        c = ms_shell_peek(s);
        step(s);
        if (c == '\n')
            return MS_OK;
        r->has_text = true;
        ms_status status = is_quoted && !strchr("$`\"\\", c) ? put(r, '\\') : MS_OK;
        return status == MS_OK ? put(r, c) : status;
    }
    step(s);
    return put(r, c);
}

static ms_status read_quoted(reading *r)
{
    ms_shell *s = r->s;
    uint32_t line = s->line;
    size_t expanded = s->expanded;
    bool has_text = r->has_text;
    ms_status status = MS_OK;
    r->has_text = true;
    r->has_none = false;
    step(s);
    while (status == MS_OK && ms_shell_peek(s) != '"') {
        if (is_at_end(s))
            return ms_shell_fail(s, line, MS_ERR_SYNTAX, "a quote that is not closed");
        status = read_piece(r, true);
    }
    if (r->has_none && s->expanded == expanded && !s->unknown)
        r->has_text = has_text;
    step(s);
    return status;
}

static ms_status read_literal(reading *r)
{
    ms_shell *s = r->s;
    uint32_t line = s->line;
    ms_status status = MS_OK;
    r->has_text = true;
    for (step(s); status == MS_OK && ms_shell_peek(s) != '\''; step(s)) {
        if (is_at_end(s))
            return ms_shell_fail(s, line, MS_ERR_SYNTAX, "a quote that is not closed");
        status = put(r, ms_shell_peek(s));
    }
    step(s);
    return status;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void read_name(ms_shell *s, char *name, size_t size)
{
    size_t used = 0;
    bool is_digit = isdigit((unsigned char)ms_shell_peek(s)) != 0;
    for (; is_name(ms_shell_peek(s)) && (!is_digit || used == 0); step(s))
        if (used + 1 < size)
            name[used++] = ms_shell_peek(s);
    name[used] = '\0';
}

/* What stands for a variable that is not assigned: "${N:-8}". */
static ms_status read_default(reading *r, bool is_quoted)
{
    ms_shell *s = r->s;
    uint32_t line = s->line;
    ms_status status = MS_OK;
    if (++r->nesting > MS_SHELL_MAX_NESTING)
        return ms_shell_fail(s, line, MS_ERR_LIMIT, "nested more than %d deep",
                             MS_SHELL_MAX_NESTING);
    while (status == MS_OK && ms_shell_peek(s) != '}') {
        if (is_at_end(s))
            return ms_shell_fail(s, line, MS_ERR_SYNTAX, "'{' without '}'");
        status =
            ms_shell_peek(s) == '\'' && !is_quoted ? read_literal(r) : read_piece(r, is_quoted);
    }
    r->nesting--;
    step(s);
    return status;
}

/* "${N:=8}": the variable has it from here on. */
static ms_status assign_default(reading *r, const char *name, bool is_quoted)
{
    ms_shell *s = r->s;
    size_t start = s->text.count;
    uint32_t words = s->words.count;
    ms_status status = read_default(r, is_quoted);
    if (status != MS_OK || s->words.count != words)
        return status;
    const char *text = ms_arena_printf(s->arena, "%.*s", (int)s->text.count - (int)start,
                                       s->text.items ? s->text.items + start : "");
    const ms_shell_word value = {text, s->line, s->unknown};
    if (!text)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
    return ms_shell_set(s, name, &value, 1, false);
}

static ms_status read_braces(reading *r, bool is_quoted)
{
    char name[64];
    ms_shell *s = r->s;
    step(s);
    read_name(s, name, sizeof name);
    static const char *const all[] = {"[@]", "[*]"};
    for (int i = 0; i < 2; i++)
        if (*name && s->at + 3 < s->source.length &&
            strncmp(s->source.text + s->at, all[i], 3) == 0)
            s->at += 3;
    if (*name && ms_shell_peek(s) == '}') {
        step(s);
        return put_variable(r, name, is_quoted);
    }
    bool has_colon = ms_shell_peek(s) == ':';
    char sign = has_colon ? next(s) : ms_shell_peek(s);
    if (*name && (sign == '-' || sign == '=')) {
        const ms_shell_variable *variable = ms_shell_find(s, name);
        bool is_set = variable && (!has_colon || variable->is_list || *variable->items[0].text);
        s->at += has_colon ? 2 : 1;
        if (!is_set)
            return sign == '=' ? assign_default(r, name, is_quoted) : read_default(r, is_quoted);
        ms_status status = put_variable(r, name, is_quoted);
        return status == MS_OK ? skip_to(r, '{', '}') : status;
    }
    ms_status status = forget(r, "an expansion is not followed");
    return status == MS_OK ? skip_to(r, '{', '}') : status;
}

/* A number that is computed; what else runs is not followed. */
static ms_status read_substitution(reading *r)
{
    char text[32];
    ms_shell *s = r->s;
    const uint32_t line = s->line;
    long number;
    step(s);
    const size_t start = s->at;
    ms_status status = skip_to(r, '(', ')');
    if (status != MS_OK)
        return status;
    if (shell_number(s, s->source.text + start, s->at - 1 - start, &number)) {
        snprintf(text, sizeof text, "%ld", number);
        return put_text(r, text, true, false);
    }
    const uint32_t here = s->line;
    s->line = line;
    status = forget(r, "a substitution is not followed");
    s->line = here;
    return status;
}

static ms_status read_dollar(reading *r, bool is_quoted)
{
    char name[64];
    ms_shell *s = r->s;
    step(s);
    char c = ms_shell_peek(s);
    if (c == '{')
        return read_braces(r, is_quoted);
    if (c == '(')
        return read_substitution(r);
    if (c == '@' || c == '*') { /* of a script that is run without */
        step(s);
        r->has_none = true;
        return ms_shell_find(s, "@") ? put_variable(r, "@", is_quoted) : MS_OK;
    }
    if (c && strchr("?#$!-", c)) {
        step(s);
        return forget(r, "a value of the running shell is not known");
    }
    if (!is_name(c))
        return put(r, '$');
    read_name(s, name, sizeof name);
    return put_variable(r, name, is_quoted);
}

/* A backslash that was meant to continue the line, with blanks behind it. */
static bool is_broken_line(const ms_shell *s)
{
    size_t at = s->at + 1;
    if (ms_shell_peek(s) != '\\' || (next(s) != ' ' && next(s) != '\t'))
        return false;
    while (at < s->source.length && strchr(" \t\r", s->source.text[at]))
        at++;
    return at < s->source.length && s->source.text[at] == '\n';
}

ms_status ms_shell_word_read(ms_shell *s, bool *is_one)
{
    static const char ends[] = " \t\r\n;|&<>()";
    reading r = {.s = s};
    ms_status status = MS_OK;
    size_t start = s->at;
    s->text.count = 0;
    s->unknown = NULL;
    if (is_broken_line(s))
        return ms_shell_fail(
            s, s->line, MS_ERR_SYNTAX,
            "a blank follows the backslash, so the line ends here: remove the blank");
    while (status == MS_OK && !is_at_end(s) &&
           !(ms_shell_peek(s) && strchr(ends, ms_shell_peek(s)))) {
        if (ms_shell_peek(s) == '\\' && (next(s) == '\n' || next(s) == '\r'))
            break;
        if (!ms_shell_peek(s))
            return ms_shell_fail(s, s->line, MS_ERR_SYNTAX, "a NUL in the text");
        status = ms_shell_peek(s) == '\'' ? read_literal(&r) : read_piece(&r, false);
    }
    *is_one = s->at > start;
    return status == MS_OK ? end_word(&r) : status;
}
