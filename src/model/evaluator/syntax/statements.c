/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/syntax/parser.h"

static bool parse_block(ms_parser *p, ms_text_block *block, uint32_t depth);

/* a, b = value; or value alone */
static bool parse_assignment(ms_parser *p, ms_text_statement *s)
{
    ms_text_node *first = ms_parser_expression(p);
    ms_text_node *all = first ? ms_family_node(p->reading, MS_NODE_TUPLE, first) : NULL;
    if (!all || !ms_node_add(p->reading, all, first))
        return false;
    while (ms_parser_takes(p, ","))
        if (!ms_node_add(p->reading, all, ms_parser_expression(p)))
            return false;
    s->value = all->count == 1 ? first : all;
    if (s->kind == MS_STATEMENT_RETURN || !ms_lexer_is(&p->lexer, "="))
        return true;
    s->kind = MS_STATEMENT_ASSIGN;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->items[i]->kind != MS_NODE_NAME || i == MS_FAMILY_NAMES) {
            ms_family_fail(p->reading, all->items[i],
                           i == MS_FAMILY_NAMES ? "too many names for one statement"
                                                : "only names can be bound");
            return false;
        }
        s->targets[s->target_count++] = all->items[i];
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
            ms_lexer_fail(&p->lexer, "blocks are nested too deep");
            return false;
        }
        return parse_if(p, inner, depth + 1);
    }
    return !ms_parser_takes(p, "else") || parse_block(p, &s->other, depth);
}

static bool parse_for(ms_parser *p, ms_text_statement *s, uint32_t depth)
{
    s->kind = MS_STATEMENT_FOR;
    s->targets[s->target_count++] = ms_parser_name(p, "the name that the loop binds");
    if (!s->targets[0] || !ms_parser_wants(p, "in", ""))
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
        if (!s->targets[i])
            return false;
        if (ms_parser_takes(p, "=") && !(s->defaults[i] = ms_parser_expression(p)))
            return false;
        if (!ms_lexer_is(&p->lexer, ")") && !ms_parser_wants(p, ",", "between two parameters"))
            return false;
    }
    return parse_block(p, &s->body, depth);
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
        if (!s->value || !ms_parser_wants(p, ")", "as a class is like one other"))
            return false;
    }
    return parse_block(p, &s->body, depth);
}

static bool parse_import(ms_parser *p, ms_text_statement *s)
{
    s->kind = MS_STATEMENT_IMPORT;
    ms_text_node *name = s->place = ms_parser_name(p, "the name of a family");
    if (!name)
        return false;
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
    static const char *const unknown[] = {"while", "with", "try", "lambda", "import", "yield"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (ms_lexer_is(&p->lexer, unknown[i]))
            ms_lexer_fail(&p->lexer, "'%s' is not a part of the language of families", unknown[i]);
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
    bool is_read;
    s->kind = MS_STATEMENT_CALL;
    if (ms_parser_takes(p, "from")) {
        is_read = parse_import(p, s);
    } else if (ms_parser_takes(p, "assert")) {
        is_read = parse_assert(p, s);
    } else if (ms_parser_takes(p, "pass")) {
        s->kind = MS_STATEMENT_PASS;
        is_read = true;
    } else {
        if (ms_parser_takes(p, "return"))
            s->kind = MS_STATEMENT_RETURN;
        is_read = parse_assignment(p, s);
    }
    if (is_read && p->lexer.word.kind != MS_WORD_LINE)
        ms_lexer_fail(&p->lexer, "the line should end here");
    else if (is_read)
        ms_lexer_next(&p->lexer);
    return is_read && p->reading->status == MS_OK;
}

static bool parse_block(ms_parser *p, ms_text_block *block, uint32_t depth)
{
    if (!ms_parser_wants(p, ":", "before a block"))
        return false;
    if (depth >= MS_FAMILY_DEPTH)
        ms_lexer_fail(&p->lexer, "blocks are nested too deep");
    if (p->lexer.word.kind != MS_WORD_LINE) {
        ms_lexer_fail(&p->lexer, "the block of this line should begin on the next one");
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
            ms_lexer_fail(&p.lexer, "this line is indented, and should not be");
        else if (p.lexer.word.kind == MS_WORD_LINE)
            ms_lexer_next(&p.lexer);
        else
            (void)parse_statement(&p, block, 0);
    }
    return reading->status == MS_OK;
}
