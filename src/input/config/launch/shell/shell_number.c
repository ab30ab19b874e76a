/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/shell/shell_number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

bool ms_shell_number(const ms_shell *s, const char *text, size_t bytes, long *number)
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
    if (!whole || !ms_shell_number(s, whole, bytes + 2, &number))
        return NULL;
    return ms_arena_printf(s->arena, "%ld", number);
}
