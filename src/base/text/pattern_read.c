/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parses a pattern into states, by the rules of Python's `re` or of ECMAScript. The text is read
 * once: a repeat copies states. What only one of the two has, or has otherwise, is refused in
 * ECMAScript, but for its names of classes.
 */
#include "base/text/pattern_read.h"

#include "base/text/pattern_class.h"
#include "base/text/pattern_code.h"

#include <string.h>

#define NO_END UINT32_MAX
enum { MOST_COUNT = MS_PATTERN_MOST_STATES };

typedef struct reader {
    const char *text, *at;
    ms_pattern_code *code;
    bool is_ecmascript;
    uint32_t depth;
    ms_error *err;
} reader;

void ms_pattern_code_free(ms_pattern_code *code)
{
    ms_vec_free(&code->states);
    ms_vec_free(&code->sets);
}

/* ---- failures ---- */

static ms_status no_memory(const reader *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a pattern");
}

static ms_status fail_unread(const reader *r)
{
    return ms_fail(r->err, MS_ERR_CONFIG,
                   "pattern '%.80s' is not supported; groups, classes, alternatives and plain "
                   "repeats are",
                   r->text);
}

static ms_status fail_large(const reader *r)
{
    return ms_fail(r->err, MS_ERR_CONFIG,
                   "pattern '%.80s' has repeats that make it longer than %d characters", r->text,
                   (int)MS_PATTERN_MOST_STATES);
}

/* ---- states ---- */

static ms_status push(reader *r, ms_state state)
{
    if (r->code->states.count >= MS_PATTERN_MOST_STATES)
        return fail_large(r);
    return ms_vec_push(&r->code->states, state) ? MS_OK : no_memory(r);
}

/* Puts a state before those from `start` on. */
static ms_status insert(reader *r, uint32_t start, ms_state state)
{
    ms_status status = push(r, state);
    if (status != MS_OK)
        return status;
    ms_state *states = r->code->states.items;
    uint32_t moved = r->code->states.count - 1 - start;
    memmove(states + start + 1, states + start, moved * sizeof *states);
    states[start] = state;
    return MS_OK;
}

static ms_status push_copy(reader *r, uint32_t start, uint32_t length)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < length && status == MS_OK; i++)
        status = push(r, r->code->states.items[start + i]);
    return status;
}

/* ---- classes ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static ms_status push_set(reader *r, const ms_byte_set *set)
{
    ms_state state = {.kind = MS_STATE_SET, .set = (uint16_t)r->code->sets.count};
    return ms_vec_push(&r->code->sets, *set) ? push(r, state) : no_memory(r);
}

/* One character within brackets, or a class, which is added. */
static ms_status read_member(reader *r, ms_byte_set *set, uint8_t *byte, bool *is_class)
{
    *is_class = r->is_ecmascript && ms_byte_set_add_named_class(set, &r->at);
    if (*is_class)
        return MS_OK;
    if (r->is_ecmascript && r->at[0] == '[' && r->at[1] && strchr(":.=", r->at[1]))
        return fail_unread(r);
    if (*r->at == '\\') {
        r->at++;
        *is_class = ms_byte_set_add_class(set, *r->at);
        if (!*is_class && (!*r->at || is_alnum(*r->at)))
            return fail_unread(r);
    }
    *byte = (uint8_t)*r->at++;
    return MS_OK;
}

/* What stands between brackets; the first of them is read. */
static ms_status read_brackets(reader *r)
{
    ms_byte_set set = {{0}}, others = {{0}};
    bool is_negated = *r->at == '^';
    r->at += is_negated;
    if (r->is_ecmascript && *r->at == ']')
        return fail_unread(r);
    for (const char *first = r->at; *r->at != ']' || r->at == first;) {
        uint8_t byte = 0, last;
        bool is_class, is_last_class = false;
        if (!*r->at)
            return fail_unread(r);
        ms_status status = read_member(r, &set, &byte, &is_class);
        last = byte;
        if (status == MS_OK && r->at[0] == '-' && r->at[1] && r->at[1] != ']') {
            r->at++;
            status = read_member(r, &set, &last, &is_last_class);
            if (status == MS_OK && (is_class || is_last_class || last < byte))
                return fail_unread(r);
        }
        if (status != MS_OK)
            return status;
        if (!is_class)
            ms_byte_set_add_range(&set, byte, last);
    }
    r->at++;
    ms_byte_set_add_others(&others, &set);
    return push_set(r, is_negated ? &others : &set);
}

/* ---- atoms ---- */

static ms_status read_alternatives(reader *r);

static ms_status read_group(reader *r)
{
    if (r->at[0] == '?' && r->at[1] != ':')
        return fail_unread(r);
    r->at += r->at[0] == '?' ? 2 : 0;
    if (r->depth == MS_PATTERN_MOST_NESTING)
        return ms_fail(r->err, MS_ERR_CONFIG, "pattern '%.80s' nests groups deeper than %d",
                       r->text, (int)MS_PATTERN_MOST_NESTING);
    r->depth++;
    ms_status status = read_alternatives(r);
    r->depth--;
    if (status == MS_OK && *r->at++ != ')')
        return fail_unread(r);
    return status;
}

static ms_status read_escape(reader *r)
{
    ms_byte_set set = {{0}};
    char letter = *r->at;
    if (ms_byte_set_add_class(&set, letter)) {
        r->at++;
        return push_set(r, &set);
    }
    if (!letter || is_alnum(letter))
        return fail_unread(r);
    r->at++;
    return push(r, (ms_state){.kind = MS_STATE_BYTE, .byte = (uint8_t)letter});
}

static ms_status read_atom(reader *r)
{
    char c = *r->at++;
    switch (c) {
    case '(':
        return read_group(r);
    case '[':
        return read_brackets(r);
    case '\\':
        return read_escape(r);
    case '.':
        return push(r, (ms_state){.kind = MS_STATE_ANY});
    case '^':
        return push(r, (ms_state){.kind = MS_STATE_BEGIN});
    case '$':
        return push(r, (ms_state){.kind = MS_STATE_END});
    case '*':
    case '+':
    case '?':
        return fail_unread(r); /* nothing to repeat */
    case '{':
        if (r->is_ecmascript)
            return fail_unread(r);
        /* fall through */
    default:
        return push(r, (ms_state){.kind = MS_STATE_BYTE, .byte = (uint8_t)c});
    }
}

/* ---- repeats ---- */

/* A count, which stops growing once it is too large for any pattern; false without digits. */
static bool read_count(const char **at, uint32_t *count)
{
    const char *start = *at;
    *count = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        if (*count <= MOST_COUNT)
            *count = *count * 10 + (uint32_t)(**at - '0');
    return *at > start;
}

/* {2}, {2,}, {,3}, {,} or {2,3}; other braces are characters. */
static bool read_braces(const char **at, uint32_t *least, uint32_t *most)
{
    const char *p = *at + 1;
    bool is_count = read_count(&p, least);
    *most = *least;
    if (*p == ',') {
        p++;
        is_count = true;
        if (!read_count(&p, most))
            *most = NO_END;
    }
    if (*p != '}' || !is_count)
        return false;
    *at = p + 1;
    return true;
}

static bool read_repeat(reader *r, uint32_t *least, uint32_t *most)
{
    static const struct {
        char sign;
        uint32_t least, most;
    } signs[] = {{'*', 0, NO_END}, {'+', 1, NO_END}, {'?', 0, 1}};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (*r->at == signs[i].sign) {
            *least = signs[i].least;
            *most = signs[i].most;
            r->at++;
            return true;
        }
    bool has_least = r->at[0] != '\0' && r->at[1] != ',';
    return *r->at == '{' && (has_least || !r->is_ecmascript) && read_braces(&r->at, least, most);
}

/* Repeats the states from `start` on. */
static ms_status repeat(reader *r, uint32_t start, uint32_t least, uint32_t most)
{
    uint32_t length = r->code->states.count - start, last = start;
    ms_status status = MS_OK;
    if (length == 0)
        return MS_OK;
    if (least == 0 && most == 0) {
        r->code->states.count = start;
        return MS_OK;
    }
    for (uint32_t i = 1; i < least && status == MS_OK; i++) {
        last = r->code->states.count;
        status = push_copy(r, start, length);
    }
    if (most == NO_END && least > 0 && status == MS_OK)
        return push(r, (ms_state){.kind = MS_STATE_SPLIT,
                                  .offset = (int32_t)last - (int32_t)r->code->states.count});
    uint32_t optional = most == NO_END ? 1 : most - least;
    uint32_t end = 1 + length + (most == NO_END); /* of one that may be left out */
    const ms_state split = {.kind = MS_STATE_SPLIT, .offset = (int32_t)end};
    if (least == 0 && status == MS_OK) {
        status = insert(r, start++, split);
        optional--;
    }
    for (uint32_t i = 0; i < optional && status == MS_OK; i++) {
        status = push(r, split);
        if (status == MS_OK)
            status = push_copy(r, start, length);
    }
    if (most == NO_END && status == MS_OK)
        status = push(r, (ms_state){.kind = MS_STATE_JUMP, .offset = -(int32_t)length - 1});
    return status;
}

/* An atom and what repeats it. Whether a repeat is lazy changes no answer; Python refuses a second
 * one, and a possessive one is none of a regular language. */
static ms_status read_piece(reader *r)
{
    uint32_t start = r->code->states.count, least, most;
    ms_status status = read_atom(r);
    if (status != MS_OK || !read_repeat(r, &least, &most))
        return status;
    r->at += *r->at == '?';
    const char *next = r->at;
    if (least > most || (*next && strchr("*+?", *next)) ||
        (*next == '{' && read_braces(&next, &(uint32_t){0}, &(uint32_t){0})))
        return fail_unread(r);
    return repeat(r, start, least, most);
}

/* ---- alternatives ---- */

static ms_status read_sequence(reader *r)
{
    ms_status status = MS_OK;
    while (status == MS_OK && *r->at && *r->at != '|' && *r->at != ')')
        status = read_piece(r);
    return status;
}

static ms_status read_alternatives(reader *r)
{
    uint32_t start = r->code->states.count;
    ms_status status = read_sequence(r);
    while (status == MS_OK && *r->at == '|') {
        r->at++;
        int32_t length = (int32_t)(r->code->states.count - start);
        status = insert(r, start, (ms_state){.kind = MS_STATE_SPLIT, .offset = length + 2});
        uint32_t jump = r->code->states.count;
        if (status == MS_OK)
            status = push(r, (ms_state){.kind = MS_STATE_JUMP});
        if (status == MS_OK)
            status = read_sequence(r);
        if (status == MS_OK)
            r->code->states.items[jump].offset = (int32_t)(r->code->states.count - jump);
    }
    return status;
}

ms_status ms_pattern_read(const char *text, ms_pattern_syntax syntax, ms_pattern_code *code,
                          ms_error *err)
{
    reader r = {.text = text,
                .at = text,
                .code = code,
                .is_ecmascript = syntax == MS_PATTERN_ECMASCRIPT,
                .err = err};
    if (strlen(text) > MS_PATTERN_MOST_BYTES)
        return ms_fail(err, MS_ERR_CONFIG, "'%.40s...': a pattern of more than %d characters", text,
                       (int)MS_PATTERN_MOST_BYTES);
    ms_status status = read_alternatives(&r);
    if (status == MS_OK && *r.at)
        status = fail_unread(&r); /* a bracket that closes nothing */
    return status == MS_OK ? push(&r, (ms_state){.kind = MS_STATE_FOUND}) : status;
}
