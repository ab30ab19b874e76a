/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulates the automaton of a pattern with a set of states: after each character, the states that
 * can be reached. No state is entered twice per character.
 */
#include "base/text/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/pattern_code.h"
#include "base/text/plain_names.h"

typedef enum ms_pattern_syntax { MS_PATTERN_PYTHON, MS_PATTERN_ECMASCRIPT } ms_pattern_syntax;

/* ---- pattern class ---- */

/* Sets of characters that patterns name. */

/* The characters of \d, \w and \s; capital letters are the rest. */
static const struct class_row {
    char letter, other;
    const char *ranges; /* first and last characters in turn */
} classes[] = {{'d', 'D', "09"}, {'w', 'W', "AZaz09__"}, {'s', 'S', "\t\r  "}};

/* The classes that ECMAScript has within brackets. */
static const struct named_class {
    const char *name, *ranges;
} named_classes[] = {{"[:alnum:]", "AZaz09"}, {"[:alpha:]", "AZaz"}, {"[:digit:]", "09"},
                     {"[:lower:]", "az"},     {"[:upper:]", "AZ"},   {"[:space:]", "\t\r  "},
                     {"[:xdigit:]", "AFaf09"}};

static void byte_set_add_range(ms_byte_set *set, uint32_t first, uint32_t last)
{
    for (uint32_t byte = first; byte <= last; byte++)
        set->bits[byte / 8] |= (uint8_t)(1u << byte % 8);
}

static void add_ranges(ms_byte_set *set, const char *ranges)
{
    for (const char *p = ranges; *p; p += 2)
        byte_set_add_range(set, (uint8_t)p[0], (uint8_t)p[1]);
}

/* Adds what is not of the other set. */
static void byte_set_add_others(ms_byte_set *set, const ms_byte_set *of)
{
    for (size_t i = 0; i < sizeof set->bits; i++)
        set->bits[i] |= (uint8_t)~of->bits[i];
}

/* Adds the class of a letter behind a backslash; false when there is none. */
static bool byte_set_add_class(ms_byte_set *set, char letter)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        ms_byte_set found = {{0}};
        if (letter != classes[i].letter && letter != classes[i].other)
            continue;
        add_ranges(&found, classes[i].ranges);
        if (letter == classes[i].other)
            byte_set_add_others(set, &found);
        else
            for (size_t k = 0; k < sizeof set->bits; k++)
                set->bits[k] |= found.bits[k];
        return true;
    }
    return false;
}

/* Adds ECMAScript's "[:name:]" and moves behind it; false when there is none. */
static bool byte_set_add_named_class(ms_byte_set *set, const char **at)
{
    for (size_t i = 0; i < sizeof named_classes / sizeof named_classes[0]; i++) {
        size_t length = strlen(named_classes[i].name);
        if (strncmp(*at, named_classes[i].name, length) != 0)
            continue;
        add_ranges(set, named_classes[i].ranges);
        *at += length;
        return true;
    }
    return false;
}

/* ---- pattern read ---- */

/* Parses a pattern into states, by the rules of its syntax. Parses a pattern into states, by
 * the rules of Python's `re` or of ECMAScript. The text is read once: a repeat copies states.
 * What only one of the two has, or has otherwise, is refused in ECMAScript, but for its names
 * of classes. */

#define NO_END UINT32_MAX
enum { MOST_COUNT = MS_PATTERN_MOST_STATES };

typedef struct reader {
    const char *text, *at;
    ms_pattern_code *code;
    bool is_ecmascript;
    uint32_t depth;
    ms_error *err;
} reader;

static void pattern_code_free(ms_pattern_code *code)
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
    *is_class = r->is_ecmascript && byte_set_add_named_class(set, &r->at);
    if (*is_class)
        return MS_OK;
    if (r->is_ecmascript && r->at[0] == '[' && r->at[1] && strchr(":.=", r->at[1]))
        return fail_unread(r);
    if (*r->at == '\\') {
        r->at++;
        *is_class = byte_set_add_class(set, *r->at);
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
            byte_set_add_range(&set, byte, last);
    }
    r->at++;
    byte_set_add_others(&others, &set);
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
    if (byte_set_add_class(&set, letter)) {
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

/* Fills `code`, which the caller frees with pattern_code_free, also after a failure. */
static ms_status pattern_read(const char *text, ms_pattern_syntax syntax, ms_pattern_code *code,
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

/* ---- pattern ---- */

struct ms_pattern {
    ms_pattern_code code;
    uint32_t *memory;     /* of the four lists */
    uint32_t *now, *next; /* states that take a character */
    uint32_t *waiting;    /* states to be followed */
    uint32_t *seen;       /* the round in which each was entered last */
    uint32_t round;
    uint64_t entered; /* states, in all rounds of a match */
};

/* Where in a subject. */
typedef struct place {
    const char *subject;
    size_t at, to;
} place;

static ms_status new_pattern(const char *text, ms_pattern_syntax syntax, ms_pattern **pattern,
                             ms_error *err)
{
    ms_pattern *made = calloc(1, sizeof *made);
    *pattern = NULL;
    if (!made)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a pattern");
    ms_status status = pattern_read(text, syntax, &made->code, err);
    size_t count = made->code.states.count;
    if (status == MS_OK && !(made->memory = calloc(4 * count, sizeof *made->memory)))
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a pattern");
    if (status != MS_OK) {
        ms_pattern_free(made);
        return status;
    }
    made->now = made->memory;
    made->next = made->now + count;
    made->seen = made->next + count;
    made->waiting = made->seen + count;
    *pattern = made;
    return MS_OK;
}

ms_status ms_pattern_new(const char *text, ms_pattern **pattern, ms_error *err)
{
    return new_pattern(text, MS_PATTERN_PYTHON, pattern, err);
}

ms_status ms_pattern_new_ecmascript(const char *text, ms_pattern **pattern, ms_error *err)
{
    return new_pattern(text, MS_PATTERN_ECMASCRIPT, pattern, err);
}

void ms_pattern_free(ms_pattern *pattern)
{
    if (!pattern)
        return;
    pattern_code_free(&pattern->code);
    free(pattern->memory);
    free(pattern);
}

ms_status ms_pattern_check(ms_json_value value, ms_json_part part, const char *text, size_t *states,
                           ms_error *err)
{
    ms_pattern_code code = {0};
    ms_error reason = {0};
    if (ms_name_is_plain(text))
        return MS_OK;
    ms_status status = pattern_read(text, MS_PATTERN_PYTHON, &code, &reason);
    *states += code.states.count;
    pattern_code_free(&code);
    if (status == MS_OK && *states > MS_PATTERN_MOST_TOGETHER)
        status = ms_fail(&reason, MS_ERR_CONFIG,
                         "more than %d characters of patterns, with their repeats expanded",
                         (int)MS_PATTERN_MOST_TOGETHER);
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "%s", reason.text);
    return status == MS_OK ? MS_OK : ms_json_fail(err, value, part, status, "%s", reason.text);
}

/* ---- matching ---- */

static void enter(ms_pattern *p, uint32_t state, uint32_t *waiting)
{
    if (p->seen[state] == p->round)
        return;
    p->seen[state] = p->round;
    p->waiting[(*waiting)++] = state;
    p->entered++;
}

/* Adds to `list` the states that take a character and are reached from one without any; true when
 * the pattern may end here. */
static bool follow(ms_pattern *p, uint32_t first, const place *here, uint32_t *list,
                   uint32_t *count)
{
    uint32_t waiting = 0;
    bool found = false;
    enter(p, first, &waiting);
    while (waiting > 0) {
        uint32_t i = p->waiting[--waiting];
        const ms_state *state = &p->code.states.items[i];
        uint32_t far = (uint32_t)((int32_t)i + state->offset);
        switch ((ms_state_kind)state->kind) {
        case MS_STATE_BYTE:
        case MS_STATE_ANY:
        case MS_STATE_SET:
            list[(*count)++] = i;
            break;
        case MS_STATE_SPLIT:
            enter(p, i + 1, &waiting);
            enter(p, far, &waiting);
            break;
        case MS_STATE_JUMP:
            enter(p, far, &waiting);
            break;
        case MS_STATE_BEGIN:
        case MS_STATE_END:
            if (here->at == (state->kind == MS_STATE_BEGIN ? 0 : here->to))
                enter(p, i + 1, &waiting);
            break;
        case MS_STATE_FOUND:
            found = true;
            break;
        }
    }
    return found;
}

static bool takes(const ms_pattern_code *code, const ms_state *state, uint8_t byte)
{
    if (state->kind == MS_STATE_SET)
        return ms_byte_set_has(&code->sets.items[state->set], byte);
    return state->kind == MS_STATE_ANY ? byte != '\n' : byte == state->byte;
}

/* A new round: nothing is entered yet. */
static void begin_round(ms_pattern *p)
{
    if (++p->round != 0)
        return;
    for (uint32_t i = 0; i < p->code.states.count; i++)
        p->seen[i] = 0;
    p->round = 1;
}

/* Takes one character: from the `count` states that are now to the next ones. */
static bool take(ms_pattern *p, place *here, uint32_t *count)
{
    uint8_t byte = (uint8_t)here->subject[here->at++];
    uint32_t *list = p->next, reached = 0;
    bool found = false;
    begin_round(p);
    for (uint32_t i = 0; i < *count; i++)
        if (takes(&p->code, &p->code.states.items[p->now[i]], byte))
            found |= follow(p, p->now[i] + 1, here, list, &reached);
    p->next = p->now;
    p->now = list;
    *count = reached;
    return found;
}

static bool pay(uint64_t *steps, uint64_t price)
{
    *steps = *steps > price ? *steps - price : 0;
    return *steps > 0;
}

bool ms_pattern_matches(ms_pattern *p, const char *subject, size_t from, size_t to, uint64_t *steps)
{
    place here = {subject, from, to};
    uint32_t count = 0;
    begin_round(p);
    p->entered = 0;
    bool found = follow(p, 0, &here, p->now, &count);
    while (here.at < to && count > 0 && pay(steps, count + p->entered)) {
        p->entered = 0;
        found = take(p, &here, &count);
    }
    return pay(steps, 1) && found && here.at == to;
}

/* A match may begin at each character: the first state is entered again in each round. */
bool ms_pattern_is_in(ms_pattern *p, const char *subject, uint64_t *steps)
{
    place here = {subject, 0, strlen(subject)};
    uint32_t count = 0;
    begin_round(p);
    p->entered = 0;
    bool found = follow(p, 0, &here, p->now, &count);
    while (!found && here.at < here.to && pay(steps, count + p->entered)) {
        p->entered = 0;
        found = take(p, &here, &count) || follow(p, 0, &here, p->now, &count);
    }
    return pay(steps, 1) && found;
}
