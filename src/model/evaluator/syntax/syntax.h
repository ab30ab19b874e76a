/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a family as a tree. The grammar is a part of Python's (docs/families.md): every text
 * is one that Python parses too. The tree belongs to the arena; names point into it.
 */
#ifndef MS_MODEL_EVALUATOR_SYNTAX_SYNTAX_H
#define MS_MODEL_EVALUATOR_SYNTAX_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Bounds of a text, so that a hostile one ends in a message. */
enum {
    MS_FAMILY_TEXT_BYTES = 1 << 20,
    MS_FAMILY_DEPTH = 64,      /* of nested expressions and of blocks */
    MS_FAMILY_NODES = 1 << 16, /* of all texts that one imports */
    MS_FAMILY_NAMES = 16,      /* on the left of one assignment, and results of one call */
    MS_FAMILY_IMPORTS = 8,     /* texts above each other */
    MS_FAMILY_MODULES = 1024,  /* of a model, a layer counted once */
    MS_FAMILY_STEPS = 1 << 16, /* of a pass, for each layer */
    MS_FAMILY_FRAMES = 48      /* calls within each other */
};

typedef enum ms_node_kind {
    /* expressions, as they are parsed */
    MS_NODE_NUMBER,
    MS_NODE_STRING,
    MS_NODE_TRUTH, /* True, False: `number` */
    MS_NODE_NONE,
    MS_NODE_NAME,
    MS_NODE_MEMBER, /* items[0].text */
    MS_NODE_CALL,   /* items[0](the others) */
    MS_NODE_ADD,
    MS_NODE_SUBTRACT,
    MS_NODE_MULTIPLY,
    MS_NODE_DIVIDE,
    MS_NODE_DIVIDE_WHOLE,
    MS_NODE_REMAINDER,
    MS_NODE_POWER,
    MS_NODE_PRODUCT, /* of matrices: @ */
    MS_NODE_NEGATIVE,
    MS_NODE_EQUAL,
    MS_NODE_UNEQUAL,
    MS_NODE_LESS,
    MS_NODE_AT_MOST,
    MS_NODE_GREATER,
    MS_NODE_AT_LEAST,
    MS_NODE_IS,
    MS_NODE_IS_NOT,
    MS_NODE_IN,
    MS_NODE_NOT_IN,
    MS_NODE_NOT,
    MS_NODE_AND,
    MS_NODE_OR,
    MS_NODE_CHOICE,        /* items[0] if items[1] else items[2] */
    MS_NODE_TUPLE,         /* of an assignment, a return statement, or in brackets */
    MS_NODE_LIST,          /* [items] */
    MS_NODE_TABLE,         /* {items[0]: items[1], ...} */
    MS_NODE_COMPREHENSION, /* [items[0] for `text` in items[1]] */
    MS_NODE_STAR,          /* *items[0], in a tuple or among arguments */
    MS_NODE_INDEX,         /* items[0][the others] */
    MS_NODE_SLICE,         /* items[0]:items[1]:items[2], MS_NODE_NONE where there is none */
    MS_NODE_ELLIPSIS,
    /* the same, after their names were found: see resolve.h */
    MS_NODE_LOCAL,     /* slot `index` of the frame */
    MS_NODE_GIVEN,     /* argument `index`, which stays the caller's */
    MS_NODE_OBJECT,    /* the module that a loop has arrived at */
    MS_NODE_KEY,       /* `key` */
    MS_NODE_FACT,      /* `index`: an ms_family_fact */
    MS_NODE_FIELD,     /* self's field `index` */
    MS_NODE_PRIMITIVE, /* a call of `primitive`; items[i]: argument i, or NULL */
    MS_NODE_MODULE,    /* a call of items[0], a field or the module of a loop, with the others */
    MS_NODE_FUNCTION,  /* a call of `function`; places as MS_NODE_MODULE; of self, or of the module
                          that items[0] is, a field */
    MS_NODE_CALLED,    /* a call of the value items[0] with the others */
    MS_NODE_ATTRIBUTE, /* `index` of the value items[0]: an ms_text_attribute */
    MS_NODE_CLASS,     /* a new module of `klass`, in a field */
    MS_NODE_PATH       /* fields of fields from the family's own on: model.embed_tokens */
} ms_node_kind;

typedef struct ms_text_node {
    ms_node_kind kind;
    uint32_t offset, bytes; /* in the text */
    const struct ms_family_file *file;
    const char *text;    /* a name, a string */
    const char *keyword; /* of an argument that has one; else NULL */
    double number;
    bool is_format; /* a string with names in braces: f"..." */
    bool is_number; /* found by resolve.c: a number of the config, no tensor */
    uint32_t index, count;
    struct ms_text_node **items;
    /* found by resolve.c: */
    const struct ms_primitive *primitive; /* MS_NODE_COMPREHENSION: what makes the list's modules */
    const struct ms_family_key *key;
    const struct ms_family_class *klass; /* MS_NODE_CLASS: the class of a new module */
    const struct ms_family_function *function;
    const uint8_t *places; /* MS_NODE_MODULE: for which parameter each argument is */
} ms_text_node;

typedef enum ms_statement_kind {
    MS_STATEMENT_ASSIGN, /* targets = value */
    MS_STATEMENT_CALL,   /* value, whose results nobody binds */
    MS_STATEMENT_SET,    /* place = value, where place is a part: x[:, 1:] of a tensor, x["a"] */
    MS_STATEMENT_ADD,    /* place += value, of a tensor */
    MS_STATEMENT_DELETE, /* targets */
    MS_STATEMENT_WITH,   /* value: body */
    MS_STATEMENT_BREAK,
    MS_STATEMENT_CONTINUE,
    MS_STATEMENT_RETURN, /* value */
    MS_STATEMENT_IF,     /* value: body, else other */
    MS_STATEMENT_FOR,    /* targets[0] in value: body */
    MS_STATEMENT_ASSERT, /* value, message */
    MS_STATEMENT_PASS,
    MS_STATEMENT_DEF,   /* text(targets): body */
    MS_STATEMENT_CLASS, /* text(value): body */
    MS_STATEMENT_IMPORT /* from text import * */
} ms_statement_kind;

typedef struct ms_text_statement ms_text_statement;

typedef struct ms_text_block {
    ms_text_statement **items;
    uint32_t count, capacity;
} ms_text_block;

struct ms_text_statement {
    ms_statement_kind kind;
    const char *text;
    ms_text_node *place; /* its first word, for messages */
    uint32_t target_count;
    bool
        of_layers; /* a loop that goes over a list of layers; the last target is the layer's name */
    bool unpacks;  /* the value has as many as there are targets, also where it is one */
    ms_text_node *targets[MS_FAMILY_NAMES];
    ms_text_node *defaults[MS_FAMILY_NAMES]; /* of parameters; NULL: none */
    ms_text_node *value, *message;
    ms_text_block body, other;
};

/* A text and its name in messages. */
typedef struct ms_family_file {
    const char *name, *text;
    size_t bytes;
    bool is_users; /* not one of memscope's */
} ms_family_file;

/* What the parts of reading a family share. The first failure is recorded in `err`. */
typedef struct ms_family_reading {
    ms_arena *arena;
    ms_error *err;
    ms_status status;
    uint32_t nodes; /* made so far */
} ms_family_reading;

/* " (nova.family:4)" for a place in a user's text, "" for any other and for NULL. A failure in a
 * text of memscope's names with it what the user's text made of a class. Writes `size` bytes at
 * most. */
const char *ms_users_place(const ms_text_node *at, char *out, size_t size);

/* Records a failure with the place of the node (NULL: the file alone, if there is one). */
__attribute__((format(printf, 3, 4))) void
ms_family_fail(ms_family_reading *reading, const ms_text_node *at, const char *format, ...);

/* A node of that kind at the place of another; NULL after a failure. */
ms_text_node *ms_family_node(ms_family_reading *reading, ms_node_kind kind, const ms_text_node *at);
/* The line of a node in its text. */
uint32_t ms_family_line(const ms_text_node *node);
/* Appends to a block; false after a failure. */
bool ms_block_add(ms_family_reading *reading, ms_text_block *block, ms_text_statement *statement);

#endif
