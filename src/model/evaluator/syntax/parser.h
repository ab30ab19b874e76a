/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parsing a family's text: expressions in expressions.c, statements in statements.c. Functions that
 * yield a node yield NULL after a failure, which the reading has.
 */
#ifndef MS_MODEL_EVALUATOR_SYNTAX_PARSER_H
#define MS_MODEL_EVALUATOR_SYNTAX_PARSER_H

#include "model/evaluator/syntax/lexer.h"

typedef struct ms_parser {
    ms_family_reading *reading;
    const ms_family_file *file;
    ms_lexer lexer;
    uint32_t depth; /* of the expression */
} ms_parser;

/* Goes past the word if it has that text. */
bool ms_parser_takes(ms_parser *parser, const char *text);
/* The same, or a failure that says what is missing; `where`: the rest of that sentence, or "". */
bool ms_parser_wants(ms_parser *parser, const char *text, const char *where);
/* Whether the word is a name that is none of Python's own words. */
bool ms_parser_at_name(const ms_parser *parser);
/* Takes a name; `what` begins the message where there is none. */
ms_text_node *ms_parser_name(ms_parser *parser, const char *what);
/* A node at the word. */
ms_text_node *ms_parser_node(ms_parser *parser, ms_node_kind kind);
ms_text_node *ms_parser_expression(ms_parser *parser);
/* The same, or *expression. */
ms_text_node *ms_parser_starred(ms_parser *parser);
/* An expression of operators of that level and higher ones; 0: all but conditions. */
ms_text_node *ms_parser_operators(ms_parser *parser, int level);
/* Appends an item; false after a failure, and if `item` is NULL. */
bool ms_node_add(ms_family_reading *reading, ms_text_node *node, ms_text_node *item);

/* Parses a text into statements; false after a failure. */
bool ms_family_parse(ms_family_reading *reading, const ms_family_file *file, ms_text_block *block);

#endif
