/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/syntax/parser.h"

#include <string.h>

#include "base/locale.h"

static const char *const reserved[] = {
    "and",    "assert", "class",  "def",  "else", "elif",  "False", "for",     "from", "if",
    "import", "in",     "lambda", "None", "not",  "or",    "pass",  "return",  "True", "while",
    "with",   "yield",  "is",     "try",  "del",  "break", "raise", "continue"};

bool ms_parser_takes(ms_parser *p, const char *text)
{
    if (!ms_lexer_is(&p->lexer, text))
        return false;
    ms_lexer_next(&p->lexer);
    return true;
}

bool ms_parser_wants(ms_parser *p, const char *text, const char *where)
{
    if (ms_parser_takes(p, text))
        return true;
    ms_lexer_fail(&p->lexer, "'%s' is missing here%s%s", text, *where ? ", " : "", where);
    return false;
}

bool ms_parser_at_name(const ms_parser *p)
{
    if (p->lexer.word.kind != MS_WORD_NAME)
        return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (ms_lexer_is(&p->lexer, reserved[i]))
            return false;
    return true;
}

static const char *text_of(ms_parser *p, uint32_t skipped)
{
    const ms_word w = p->lexer.word;
    const char *text = ms_arena_printf(p->reading->arena, "%.*s", (int)(w.bytes - 2 * skipped),
                                       p->file->text + w.offset + skipped);
    if (!text)
        ms_family_fail(p->reading, NULL, "out of memory");
    return text ? text : "";
}

ms_text_node *ms_parser_node(ms_parser *p, ms_node_kind kind)
{
    const ms_word w = p->lexer.word;
    const ms_text_node at = {.file = p->file, .offset = w.offset, .bytes = w.bytes};
    ms_text_node *node = ms_family_node(p->reading, kind, &at);
    if (!node)
        ms_lexer_fail(&p->lexer, "the text is too long");
    return node;
}

ms_text_node *ms_parser_name(ms_parser *p, const char *what)
{
    if (!ms_parser_at_name(p)) {
        ms_lexer_fail(&p->lexer, "%s is missing here", what);
        return NULL;
    }
    ms_text_node *node = ms_parser_node(p, MS_NODE_NAME);
    if (!node)
        return NULL;
    node->text = text_of(p, 0);
    ms_lexer_next(&p->lexer);
    return node;
}

bool ms_node_add(ms_family_reading *reading, ms_text_node *node, ms_text_node *item)
{
    uint32_t room = node->count < 4 ? 4 : node->count; /* doubled at each power of two */
    if (!item)
        return false;
    if (node->count == 0 || (node->count >= 4 && (node->count & (node->count - 1)) == 0)) {
        ms_text_node **items = ms_arena_array(reading->arena, ms_text_node *, 2 * (size_t)room);
        if (!items) {
            ms_family_fail(reading, NULL, "out of memory");
            return false;
        }
        if (node->count)
            memcpy(items, node->items, node->count * sizeof *items);
        node->items = items;
    }
    node->items[node->count++] = item;
    return true;
}

static ms_text_node *number(ms_parser *p)
{
    char digits[40];
    size_t used = 0;
    const ms_word w = p->lexer.word;
    for (uint32_t i = 0; i < w.bytes && used + 1 < sizeof digits; i++)
        if (p->file->text[w.offset + i] != '_')
            digits[used++] = p->file->text[w.offset + i];
    digits[used] = '\0';
    char *end = digits;
    ms_text_node *node = ms_parser_node(p, MS_NODE_NUMBER);
    if (!node)
        return NULL;
    node->number = ms_number_read(digits, &end);
    if (*end || used + 1 == sizeof digits || node->number > 9007199254740992.0) {
        ms_lexer_fail(&p->lexer, "this number is not supported");
        return NULL;
    }
    ms_lexer_next(&p->lexer);
    return node;
}

ms_text_node *ms_parser_starred(ms_parser *p)
{
    if (!ms_lexer_is(&p->lexer, "*"))
        return ms_parser_expression(p);
    ms_text_node *node = ms_parser_node(p, MS_NODE_STAR);
    ms_lexer_next(&p->lexer);
    return node && ms_node_add(p->reading, node, ms_parser_expression(p)) ? node : NULL;
}

/* Items up to the closing bracket; with `pairs`, each is two with a colon between. */
static ms_text_node *items(ms_parser *p, ms_text_node *node, const char *end, bool pairs)
{
    while (node && !ms_parser_takes(p, end)) {
        if (!ms_node_add(p->reading, node, pairs ? ms_parser_expression(p) : ms_parser_starred(p)))
            return NULL;
        if (pairs && (!ms_parser_wants(p, ":", "between a key and its value") ||
                      !ms_node_add(p->reading, node, ms_parser_expression(p))))
            return NULL;
        if (ms_lexer_is(&p->lexer, end))
            continue;
        if (!ms_parser_wants(p, ",", ""))
            return NULL;
    }
    return node;
}

/* [a, b], or [a for b in c] */
static ms_text_node *list(ms_parser *p)
{
    ms_text_node *node = ms_parser_node(p, MS_NODE_LIST);
    ms_lexer_next(&p->lexer);
    if (!node || ms_parser_takes(p, "]"))
        return node;
    if (!ms_node_add(p->reading, node, ms_parser_starred(p)))
        return NULL;
    if (ms_parser_takes(p, "for")) {
        const ms_text_node *name = ms_parser_name(p, "a name");
        node->kind = MS_NODE_COMPREHENSION;
        if (!name || !ms_parser_wants(p, "in", ""))
            return NULL;
        node->text = name->text;
        return ms_node_add(p->reading, node, ms_parser_expression(p)) && ms_parser_wants(p, "]", "")
                   ? node
                   : NULL;
    }
    if (!ms_lexer_is(&p->lexer, "]") && !ms_parser_wants(p, ",", ""))
        return NULL;
    return items(p, node, "]", false);
}

static ms_text_node *brackets(ms_parser *p)
{
    ms_lexer_next(&p->lexer);
    if (ms_lexer_is(&p->lexer, ")")) {
        ms_text_node *empty = ms_parser_node(p, MS_NODE_TUPLE);
        ms_lexer_next(&p->lexer);
        return empty;
    }
    ms_text_node *first = ms_parser_starred(p);
    if (!first || !ms_lexer_is(&p->lexer, ","))
        return first && ms_parser_wants(p, ")", "") ? first : NULL;
    ms_text_node *node = ms_family_node(p->reading, MS_NODE_TUPLE, first);
    ms_lexer_next(&p->lexer);
    return node && ms_node_add(p->reading, node, first) ? items(p, node, ")", false) : NULL;
}

static ms_text_node *constant(ms_parser *p, ms_node_kind kind, double value)
{
    ms_text_node *node = ms_parser_node(p, kind);
    if (node)
        node->number = value;
    ms_lexer_next(&p->lexer);
    return node;
}

/* f"..." */
static bool is_format(const ms_parser *p)
{
    const ms_word *word = &p->lexer.word;
    const char *next = p->file->text + word->offset + 1;
    return ms_lexer_is(&p->lexer, "f") && word->offset + 1 < p->file->bytes &&
           (*next == '"' || *next == '\'');
}

static ms_text_node *atom(ms_parser *p)
{
    if (is_format(p)) {
        ms_lexer_next(&p->lexer);
        ms_text_node *node = atom(p);
        if (node)
            node->is_format = true;
        return node;
    }
    if (p->lexer.word.kind == MS_WORD_NUMBER)
        return number(p);
    if (p->lexer.word.kind == MS_WORD_STRING) {
        ms_text_node *node = ms_parser_node(p, MS_NODE_STRING);
        const char *quotes = p->file->text + p->lexer.word.offset;
        const bool is_long = p->lexer.word.bytes >= 6 && memcmp(quotes, quotes + 1, 2) == 0;
        if (node)
            node->text = text_of(p, is_long ? 3 : 1);
        ms_lexer_next(&p->lexer);
        return node;
    }
    if (ms_lexer_is(&p->lexer, "True") || ms_lexer_is(&p->lexer, "False"))
        return constant(p, MS_NODE_TRUTH, ms_lexer_is(&p->lexer, "True"));
    if (ms_lexer_is(&p->lexer, "None"))
        return constant(p, MS_NODE_NONE, 0);
    if (ms_lexer_is(&p->lexer, "["))
        return list(p);
    if (ms_lexer_is(&p->lexer, "("))
        return brackets(p);
    if (ms_lexer_is(&p->lexer, "{")) {
        ms_text_node *node = ms_parser_node(p, MS_NODE_TABLE);
        ms_lexer_next(&p->lexer);
        return items(p, node, "}", true);
    }
    return ms_parser_name(p, "a value");
}

/* The arguments of a call, behind its bracket. */
static ms_text_node *arguments(ms_parser *p, ms_text_node *call)
{
    while (!ms_parser_takes(p, ")")) {
        ms_text_node *item = ms_parser_starred(p);
        const char *keyword = NULL;
        if (item && item->kind == MS_NODE_NAME && ms_parser_takes(p, "=")) {
            keyword = item->text;
            item = ms_parser_expression(p);
        }
        if (!ms_node_add(p->reading, call, item))
            return NULL;
        if (keyword) /* a node may be an argument once only */
            item->keyword = keyword;
        if (!ms_lexer_is(&p->lexer, ")") && !ms_parser_wants(p, ",", "between two arguments"))
            return NULL;
    }
    return call;
}

/* A part of a subscript: an expression, ..., or a slice. */
static ms_text_node *subscript_part(ms_parser *p)
{
    ms_text_node *part = NULL;
    if (ms_lexer_is(&p->lexer, ".")) {
        part = ms_parser_node(p, MS_NODE_ELLIPSIS);
        for (int i = 0; i < 3; i++)
            if (!ms_parser_wants(p, ".", "as ... has three"))
                return NULL;
        return part;
    }
    if (!ms_lexer_is(&p->lexer, ":"))
        part = ms_parser_starred(p);
    else
        part = ms_parser_node(p, MS_NODE_NONE);
    if (!part || !ms_lexer_is(&p->lexer, ":"))
        return part;
    ms_text_node *slice = ms_family_node(p->reading, MS_NODE_SLICE, part);
    if (!slice || !ms_node_add(p->reading, slice, part))
        return NULL;
    while (slice->count < 3) {
        const bool is_next = ms_parser_takes(p, ":");
        const bool has_value = is_next && !ms_lexer_is(&p->lexer, ":") &&
                               !ms_lexer_is(&p->lexer, ",") && !ms_lexer_is(&p->lexer, "]");
        if (!ms_node_add(p->reading, slice,
                         has_value ? ms_parser_expression(p) : ms_parser_node(p, MS_NODE_NONE)))
            return NULL;
    }
    return slice;
}

/* base[...]: parts of a tensor, or one of several values. */
static ms_text_node *subscript(ms_parser *p, ms_text_node *base)
{
    ms_lexer_next(&p->lexer);
    ms_text_node *node = ms_family_node(p->reading, MS_NODE_INDEX, base);
    if (!node || !ms_node_add(p->reading, node, base))
        return NULL;
    do {
        if (!ms_node_add(p->reading, node, subscript_part(p)))
            return NULL;
    } while (ms_parser_takes(p, ",") && !ms_lexer_is(&p->lexer, "]"));
    return ms_parser_wants(p, "]", "") ? node : NULL;
}

/* The tree is walked by recursion: its depth, also to the left, is bounded. */
static bool is_deep(ms_parser *p)
{
    if (++p->depth <= MS_FAMILY_DEPTH * 8)
        return false;
    ms_lexer_fail(&p->lexer, "expressions are nested too deeply");
    return true;
}

static ms_text_node *postfix(ms_parser *p)
{
    ms_text_node *node = atom(p);
    while (node) {
        ms_text_node *outer;
        if (ms_parser_takes(p, ".")) {
            const ms_text_node *name = ms_parser_name(p, "the name of a member");
            outer = ms_family_node(p->reading, MS_NODE_MEMBER, name ? name : node);
            if (!name || !outer || !ms_node_add(p->reading, outer, node))
                return NULL;
            outer->text = name->text;
        } else if (ms_lexer_is(&p->lexer, "[")) {
            outer = subscript(p, node);
            if (!outer)
                return NULL;
        } else if (ms_parser_takes(p, "(")) {
            outer = ms_family_node(p->reading, MS_NODE_CALL, node);
            if (!outer || !ms_node_add(p->reading, outer, node) || !arguments(p, outer))
                return NULL;
        } else {
            return node;
        }
        node = is_deep(p) ? NULL : outer;
    }
    return node;
}

static ms_text_node *unary(ms_parser *p);

/* a ** b, which binds closer than the sign before it. */
static ms_text_node *power(ms_parser *p)
{
    ms_text_node *base = postfix(p);
    if (!base || !ms_lexer_is(&p->lexer, "**"))
        return base;
    ms_text_node *node = ms_parser_node(p, MS_NODE_POWER);
    ms_lexer_next(&p->lexer);
    if (is_deep(p) || !node || !ms_node_add(p->reading, node, base) ||
        !ms_node_add(p->reading, node, unary(p)))
        return NULL;
    return node;
}

static ms_text_node *unary(ms_parser *p)
{
    const bool is_not = ms_lexer_is(&p->lexer, "not"), is_minus = ms_lexer_is(&p->lexer, "-");
    if (!is_not && !is_minus)
        return power(p);
    ms_text_node *node = ms_parser_node(p, is_not ? MS_NODE_NOT : MS_NODE_NEGATIVE);
    ms_lexer_next(&p->lexer);
    if (is_deep(p))
        return NULL;
    ms_text_node *inner = is_not ? ms_parser_operators(p, 2) : unary(p);
    return node && ms_node_add(p->reading, node, inner) ? node : NULL;
}

static const struct {
    const char *sign;
    ms_node_kind kind;
    int level; /* the higher, the closer it binds */
} operators[] = {
    {"or", MS_NODE_OR, 0},           {"and", MS_NODE_AND, 1},     {"==", MS_NODE_EQUAL, 2},
    {"!=", MS_NODE_UNEQUAL, 2},      {"<", MS_NODE_LESS, 2},      {"<=", MS_NODE_AT_MOST, 2},
    {">", MS_NODE_GREATER, 2},       {">=", MS_NODE_AT_LEAST, 2}, {"is", MS_NODE_IS, 2},
    {"in", MS_NODE_IN, 2},           {"not", MS_NODE_NOT_IN, 2},  {"+", MS_NODE_ADD, 3},
    {"-", MS_NODE_SUBTRACT, 3},      {"*", MS_NODE_MULTIPLY, 4},  {"/", MS_NODE_DIVIDE, 4},
    {"//", MS_NODE_DIVIDE_WHOLE, 4}, {"%", MS_NODE_REMAINDER, 4}, {"@", MS_NODE_PRODUCT, 4}};

enum { OPERATOR_COUNT = sizeof operators / sizeof *operators, LAST_LEVEL = 4 };

/* Goes past the operator: "is not" and "not in" have two words. */
static bool take_operator(ms_parser *p, ms_text_node *node)
{
    ms_lexer_next(&p->lexer);
    if (node->kind == MS_NODE_IS && ms_parser_takes(p, "not"))
        node->kind = MS_NODE_IS_NOT;
    return node->kind != MS_NODE_NOT_IN || ms_parser_wants(p, "in", "");
}

ms_text_node *ms_parser_operators(ms_parser *p, int level)
{
    if (is_deep(p))
        return NULL;
    ms_text_node *left = level > LAST_LEVEL ? unary(p) : ms_parser_operators(p, level + 1);
    for (size_t i = 0; left && i < OPERATOR_COUNT; i++) {
        if (operators[i].level != level || !ms_lexer_is(&p->lexer, operators[i].sign))
            continue;
        ms_text_node *node = ms_parser_node(p, operators[i].kind);
        if (!node || !take_operator(p, node) || is_deep(p) ||
            !ms_node_add(p->reading, node, left) ||
            !ms_node_add(p->reading, node, ms_parser_operators(p, level + 1)))
            return NULL;
        left = node;
        i = (size_t)-1; /* from the first again: operators of a level go from left to right */
    }
    p->depth--;
    return left;
}

ms_text_node *ms_parser_expression(ms_parser *p)
{
    const uint32_t depth = p->depth;
    ms_text_node *value = ms_parser_operators(p, 0);
    if (value && ms_parser_takes(p, "if")) {
        ms_text_node *choice = ms_family_node(p->reading, MS_NODE_CHOICE, value);
        if (!choice || !ms_node_add(p->reading, choice, value) ||
            !ms_node_add(p->reading, choice, ms_parser_operators(p, 0)) ||
            !ms_parser_wants(p, "else", "as a condition has two values") ||
            !ms_node_add(p->reading, choice, ms_parser_expression(p)))
            return NULL;
        value = choice;
    }
    p->depth = depth;
    return value;
}
