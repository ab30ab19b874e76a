/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The words of a family's text, with Python's indentation: lines in brackets are one, comments and
 * empty lines are left out.
 */
#ifndef MS_MODEL_EVALUATOR_SYNTAX_LEXER_H
#define MS_MODEL_EVALUATOR_SYNTAX_LEXER_H

#include "model/evaluator/syntax/syntax.h"

typedef enum ms_word_kind {
    MS_WORD_END,
    MS_WORD_LINE,   /* the end of a line */
    MS_WORD_INDENT, /* more blanks than before it */
    MS_WORD_DEDENT, /* fewer; one for each block that ends */
    MS_WORD_NAME,
    MS_WORD_NUMBER,
    MS_WORD_STRING,
    MS_WORD_SIGN
} ms_word_kind;

typedef struct ms_word {
    ms_word_kind kind;
    uint32_t offset, bytes;
} ms_word;

typedef struct ms_lexer {
    ms_family_reading *reading;
    const ms_family_file *file;
    uint32_t at;
    uint32_t brackets; /* that are open */
    uint32_t levels[MS_FAMILY_DEPTH], level;
    uint32_t dedents; /* to be told of */
    bool at_line;     /* at the start of a line, whose blanks count */
    bool has_ended;   /* the last line has */
    ms_word word;     /* the one that the parser is at */
} ms_lexer;

/* Goes on to the first word, and to the next. After a failure it is the end. */
void ms_lexer_begin(ms_lexer *lexer, ms_family_reading *reading, const ms_family_file *file);
void ms_lexer_next(ms_lexer *lexer);
/* Whether the word has that text. */
bool ms_lexer_is(const ms_lexer *lexer, const char *text);
/* Records a failure at the word. */
__attribute__((format(printf, 2, 3))) void ms_lexer_fail(ms_lexer *lexer, const char *format, ...);

#endif
