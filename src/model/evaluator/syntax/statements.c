/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/syntax/parser.h"

#include <string.h>

static bool parse_block(ms_parser *p, ms_text_block *block, uint32_t depth);

/* Names on the left of a statement: a, b or (a, b). */
static bool take_targets(ms_parser *p, ms_text_statement *s, const ms_text_node *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->items[i]->kind != MS_NODE_NAME || s->target_count == MS_FAMILY_NAMES) {
            ms_family_fail(p->reading, all->items[i],
                           all->items[i]->kind == MS_NODE_NAME ? "too many names for one statement"
                                                               : "only names can be assigned");
            return false;
        }
        s->targets[s->target_count++] = all->items[i];
    }
    return true;
}

/* x += y and its kin: x = x + y, in place where x is a tensor. */
static bool parse_augmented(ms_parser *p, ms_text_statement *s, ms_text_node *name)
{
    static const struct {
        const char *sign;
        ms_node_kind kind;
    } signs[] = {{"+=", MS_NODE_ADD},
                 {"-=", MS_NODE_SUBTRACT},
                 {"*=", MS_NODE_MULTIPLY},
                 {"/=", MS_NODE_DIVIDE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!ms_lexer_is(&p->lexer, signs[i].sign))
            continue;
        ms_text_node *node = ms_parser_node(p, signs[i].kind);
        ms_text_node *left = ms_family_node(p->reading, MS_NODE_NAME, name);
        const bool adds_to_part = name->kind == MS_NODE_INDEX && signs[i].kind == MS_NODE_ADD;
        if (name->kind != MS_NODE_NAME && !adds_to_part)
            ms_family_fail(p->reading, name, "only names can be assigned");
        ms_lexer_next(&p->lexer);
        if (adds_to_part) {
            s->kind = MS_STATEMENT_ADD;
            s->targets[0] = name;
            s->value = ms_parser_expression(p);
            break;
        }
        if (!node || !left || !ms_node_add(p->reading, node, left) ||
            !ms_node_add(p->reading, node, ms_parser_expression(p)))
            return false;
        left->text = name->text;
        node->index = 1;
        s->kind = MS_STATEMENT_ASSIGN;
        s->targets[s->target_count++] = name;
        s->value = node;
    }
    return p->reading->status == MS_OK;
}

/* a, b = value; or value alone */
static bool parse_assignment(ms_parser *p, ms_text_statement *s)
{
    ms_text_node *first = ms_parser_starred(p);
    ms_text_node *all = first ? ms_family_node(p->reading, MS_NODE_TUPLE, first) : NULL;
    if (!all || !ms_node_add(p->reading, all, first))
        return false;
    if (s->kind == MS_STATEMENT_CALL && first->kind == MS_NODE_NAME && ms_parser_takes(p, ":") &&
        !ms_parser_expression(p)) /* a type, which says nothing here */
        return false;
    bool is_tuple = false;
    while (ms_parser_takes(p, ",")) {
        is_tuple = true;
        if (p->lexer.word.kind == MS_WORD_LINE || ms_lexer_is(&p->lexer, "="))
            break;
        if (!ms_node_add(p->reading, all, ms_parser_starred(p)))
            return false;
    }
    s->value = is_tuple || first->kind == MS_NODE_STAR ? all : first;
    if (s->kind == MS_STATEMENT_RETURN)
        return true;
    if (!ms_lexer_is(&p->lexer, "="))
        return parse_augmented(p, s, first);
    if (first->kind == MS_NODE_INDEX && all->count == 1) {
        s->kind = MS_STATEMENT_SET;
        s->targets[0] = first;
    } else {
        s->kind = MS_STATEMENT_ASSIGN;
        if (!take_targets(p, s, first->kind == MS_NODE_TUPLE && !is_tuple ? first : all))
            return false;
        s->unpacks = is_tuple || first->kind == MS_NODE_TUPLE;
    }
    ms_lexer_next(&p->lexer);
    ms_text_statement value = {.kind = MS_STATEMENT_RETURN};
    if (!parse_assignment(p, &value))
        return false;
    s->value = value.value;
    return true;
}

static bool parse_if(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_IF;
    s->value = ms_parser_expression(p);
    if (!s->value || !parse_block(p, &s->body, depth))
        return false;
    if (ms_lexer_is(&p->lexer, "elif")) {
        ms_text_statement *inner = ms_arena_array(p->reading->arena, ms_text_statement, 1);
        if (!inner || !ms_block_add(p->reading, &s->other, inner))
            return false;
        inner->place = ms_parser_node(p, MS_NODE_NONE);
        ms_lexer_next(&p->lexer);
        if (depth > MS_FAMILY_DEPTH) {
            ms_lexer_fail(&p->lexer, "blocks are nested too deeply");
            return false;
        }
        return parse_if(p, inner, depth + 1);
    }
    return !ms_parser_takes(p, "else") || parse_block(p, &s->other, depth);
}

static bool parse_for(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_FOR;
    do {
        if (s->target_count == MS_FAMILY_NAMES) {
            ms_lexer_fail(&p->lexer, "too many names for one statement");
            return false;
        }
        s->targets[s->target_count] = ms_parser_name(p, "the name that the loop binds");
        if (!s->targets[s->target_count++])
            return false;
    } while (ms_parser_takes(p, ","));
    if (!ms_parser_wants(p, "in", ""))
        return false;
    s->value = ms_parser_expression(p);
    return s->value && parse_block(p, &s->body, depth);
}

static bool parse_def(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_DEF;
    const ms_text_node *name = ms_parser_name(p, "the name of the function");
    if (!name || !ms_parser_wants(p, "(", ""))
        return false;
    s->text = name->text;
    while (!ms_parser_takes(p, ")")) {
        if (s->target_count == MS_FAMILY_NAMES) {
            ms_lexer_fail(&p->lexer, "too many parameters");
            return false;
        }
        const uint32_t i = s->target_count++;
        s->targets[i] = ms_parser_name(p, "a parameter");
        if (!s->targets[i] || (ms_parser_takes(p, ":") && !ms_parser_expression(p)))
            return false;
        if (ms_parser_takes(p, "=") && !(s->defaults[i] = ms_parser_expression(p)))
            return false;
        if (!ms_lexer_is(&p->lexer, ")") && !ms_parser_wants(p, ",", "between two parameters"))
            return false;
    }
    if (ms_parser_takes(p, "->") && !ms_parser_expression(p))
        return false;
    return parse_block(p, &s->body, depth);
}

static bool parse_with(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_WITH;
    s->value = ms_parser_expression(p);
    return s->value && parse_block(p, &s->body, depth);
}

static bool parse_del(ms_parser *p, ms_text_statement *s)
{
    s->kind = MS_STATEMENT_DELETE;
    do {
        if (s->target_count == MS_FAMILY_NAMES) {
            ms_lexer_fail(&p->lexer, "too many names for one statement");
            return false;
        }
        s->targets[s->target_count] = ms_parser_name(p, "a name");
        if (!s->targets[s->target_count++])
            return false;
    } while (ms_parser_takes(p, ","));
    return true;
}

static bool parse_class(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_CLASS;
    const ms_text_node *name = ms_parser_name(p, "the name of the class");
    if (!name)
        return false;
    s->text = name->text;
    if (ms_parser_takes(p, "(") && !ms_parser_takes(p, ")")) {
        s->value = ms_parser_name(p, "the class that it is like");
        while (s->value && ms_parser_takes(p, ".")) /* nn.Module */
            s->value = ms_parser_name(p, "the name of a class");
        if (!s->value || !ms_parser_wants(p, ")", "as a class is like one other"))
            return false;
    }
    return parse_block(p, &s->body, depth);
}

/* What Python itself wants to import, so that editors know the names, says nothing here. */
static bool is_of_python(const ms_text_node *name)
{
    static const char *const names[] = {"torch", "math", "typing", "transformers", "__future__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name->text) == 0)
            return true;
    return false;
}

/* import torch.nn.functional as F; from torch import nn: the rest of the line. */
static bool pass_import(ms_parser *p, ms_text_statement *s)
{
    s->kind = MS_STATEMENT_PASS;
    while (p->lexer.word.kind != MS_WORD_LINE && p->lexer.word.kind != MS_WORD_END)
        ms_lexer_next(&p->lexer);
    return true;
}

static bool parse_import(ms_parser *p, ms_text_statement *s)
{
    s->kind = MS_STATEMENT_IMPORT;
    ms_text_node *name = s->place = ms_parser_name(p, "the name of a family");
    if (!name)
        return false;
    if (is_of_python(name))
        return pass_import(p, s);
    s->text = name->text;
    return ms_parser_wants(p, "import", "") && ms_parser_wants(p, "*", "as all of it is taken");
}

static bool parse_assert(ms_parser *p, ms_text_statement *s)
{
    s->kind = MS_STATEMENT_ASSERT;
    s->value = ms_parser_expression(p);
    if (!s->value || !ms_parser_takes(p, ","))
        return s->value;
    s->message = ms_parser_expression(p);
    return s->message;
}

static bool parse_statement(ms_parser *p, ms_text_block *block, uint32_t depth)
{
    static const char *const unknown[] = {"while", "try", "lambda", "yield", "raise"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (ms_lexer_is(&p->lexer, unknown[i]))
            ms_lexer_fail(&p->lexer, "'%s' is not part of the family language", unknown[i]);
    ms_text_statement *s = ms_arena_array(p->reading->arena, ms_text_statement, 1);
    if (!ms_block_add(p->reading, block, s))
        return false;
    s->place = ms_parser_node(p, MS_NODE_NONE);
    if (!s->place)
        return false;
    if (ms_parser_takes(p, "if"))
        return parse_if(p, s, depth);
    if (ms_parser_takes(p, "for"))
        return parse_for(p, s, depth);
    if (ms_parser_takes(p, "def"))
        return parse_def(p, s, depth);
    if (ms_parser_takes(p, "class"))
        return parse_class(p, s, depth);
    if (ms_parser_takes(p, "with"))
        return parse_with(p, s, depth);
    bool is_read;
    s->kind = MS_STATEMENT_CALL;
    if (ms_parser_takes(p, "from")) {
        is_read = parse_import(p, s);
    } else if (ms_parser_takes(p, "import")) {
        const ms_text_node *name = ms_parser_name(p, "the name of a module");
        is_read = name && is_of_python(name) && pass_import(p, s);
        if (name && !is_read)
            ms_family_fail(p->reading, name, "a family is imported by: from NAME import *");
    } else if (ms_parser_takes(p, "assert")) {
        is_read = parse_assert(p, s);
    } else if (ms_parser_takes(p, "pass")) {
        s->kind = MS_STATEMENT_PASS;
        is_read = true;
    } else if (ms_lexer_is(&p->lexer, "break") || ms_lexer_is(&p->lexer, "continue")) {
        s->kind = ms_lexer_is(&p->lexer, "break") ? MS_STATEMENT_BREAK : MS_STATEMENT_CONTINUE;
        ms_lexer_next(&p->lexer);
        is_read = true;
    } else if (ms_parser_takes(p, "del")) {
        is_read = parse_del(p, s);
    } else {
        if (ms_parser_takes(p, "return"))
            s->kind = MS_STATEMENT_RETURN;
        is_read = parse_assignment(p, s);
        if (is_read && s->kind == MS_STATEMENT_CALL && s->value->kind == MS_NODE_STRING)
            s->kind = MS_STATEMENT_PASS; /* words about what follows */
    }
    if (is_read && p->lexer.word.kind != MS_WORD_LINE)
        ms_lexer_fail(&p->lexer, "the line must end here");
    else if (is_read)
        ms_lexer_next(&p->lexer);
    return is_read && p->reading->status == MS_OK;
}

static bool parse_block(ms_parser *p, ms_text_block *block, uint32_t depth)
{
    if (!ms_parser_wants(p, ":", "before a block"))
        return false;
    if (depth >= MS_FAMILY_DEPTH)
        ms_lexer_fail(&p->lexer, "blocks are nested too deeply");
    if (p->lexer.word.kind != MS_WORD_LINE) {
        ms_lexer_fail(&p->lexer, "the block of this line must begin on the next line");
        return false;
    }
    ms_lexer_next(&p->lexer);
    if (p->lexer.word.kind != MS_WORD_INDENT) {
        ms_lexer_fail(&p->lexer, "an indented block is missing here");
        return false;
    }
    ms_lexer_next(&p->lexer);
    while (p->lexer.word.kind != MS_WORD_DEDENT && p->lexer.word.kind != MS_WORD_END)
        if (!parse_statement(p, block, depth + 1))
            return false;
    if (p->lexer.word.kind == MS_WORD_DEDENT)
        ms_lexer_next(&p->lexer);
    return p->reading->status == MS_OK;
}

bool ms_family_parse(ms_family_reading *reading, const ms_family_file *file, ms_text_block *block)
{
    ms_parser p = {.reading = reading, .file = file};
    ms_lexer_begin(&p.lexer, reading, file);
    while (reading->status == MS_OK && p.lexer.word.kind != MS_WORD_END) {
        if (p.lexer.word.kind == MS_WORD_INDENT)
            ms_lexer_fail(&p.lexer, "this line must not be indented");
        else if (p.lexer.word.kind == MS_WORD_LINE)
            ms_lexer_next(&p.lexer);
        else
            (void)parse_statement(&p, block, 0);
    }
    return reading->status == MS_OK;
}
