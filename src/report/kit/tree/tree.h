/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A document as a tree, built once and rendered as console text, as Markdown and as an HTML page.
 * Texts are kept as they are and are escaped by each renderer; bytes, times and counts are kept as
 * numbers. All nodes and texts are in the tree's arena, or live as long as the tree. No function
 * here reports that memory ran out: the renderers do.
 */
#ifndef MS_REPORT_KIT_TREE_TREE_H
#define MS_REPORT_KIT_TREE_TREE_H

#include "base/arena.h"
#include "report/kit/html.h"
#include "report/kit/page.h"
#include "report/kit/tree/cell.h"

/* Where a node is shown. Bits. */
enum {
    MS_ON_CONSOLE = 1,
    MS_ON_MARKDOWN = 2,
    MS_ON_PAGE = 4,
    MS_ON_ALL = 7,
    MS_OFF_CONSOLE = MS_ON_MARKDOWN | MS_ON_PAGE,
    MS_OFF_PAGE = MS_ON_CONSOLE | MS_ON_MARKDOWN
};

/* ---- tables ---- */

/* What a fixed table does with a text that is longer than its column. */
typedef enum ms_tree_cut {
    MS_CUT_MIDDLE,
    MS_CUT_NAME, /* as ms_page_name */
    MS_CUT_BEGINNING
} ms_tree_cut;

/* A column on the console; `head` may be "". */
typedef struct ms_tree_column {
    const char *head;
    uint8_t before, width; /* blanks before it; least width, of a fixed table the width */
    uint8_t goes;          /* as of ms_text_table */
    bool is_figure;        /* set to the right */
    uint8_t narrow;        /* width on a narrow page; 0: the same */
    bool is_wrapped;       /* the last one, of a fixed table: its words go on below themselves */
    bool is_flexible;      /* of a fixed table: at most `width`, as the others leave room */
    ms_tree_cut cut;       /* of a flexible column */
    uint8_t least;         /* with less room a flexible one has a line of its own */
    const char *wide_head; /* in Markdown and on a page; NULL: `head` */
    const char *unit;      /* behind the head in Markdown: "GiB"; NULL: none */
    uint8_t off;           /* where the column is not shown: MS_ON_... */
} ms_tree_column;

enum { MS_NO_ROW_HEAD = INT32_MAX };

typedef struct ms_tree_table {
    const char *caption; /* on a page */
    const ms_tree_column *columns;
    uint32_t count;
    bool is_fixed;       /* widths are those of the columns; else those that the texts need */
    bool has_dim_head;   /* of a fixed table; other heads are always dim */
    bool has_no_head;    /* on the console */
    bool is_sortable;    /* on a page */
    uint32_t row_head;   /* on a page, the column of what a row is about; or MS_NO_ROW_HEAD */
    uint32_t least_last; /* as of ms_text_table */
    uint32_t split;      /* of a fixed table: on a narrow page, columns from here on are below;
                          * 0: none */
    uint32_t most_aside; /* of a fixed table: with more columns than that behind the first, or than
                          * there is room for, the rest is below; 0: all stand side by side */
    uint32_t most_console, most_markdown; /* rows that are shown; 0: all */
    const char *more;                     /* on the console, after "and 12 more" */
    /* Filled by ms_tree_cell, row by row. */
    ms_cell *cells;
    uint32_t cell_count, capacity;
} ms_tree_table;

/* As of ms_html_bar; filled by ms_tree_piece. */
typedef struct ms_tree_bar {
    ms_html_piece *pieces;
    uint32_t count, capacity;
    uint64_t whole_bytes, limit_bytes;
} ms_tree_bar;

/* ---- nodes ---- */

typedef enum ms_tree_kind {
    MS_TREE_LINE,      /* at the margin; those in a row are one paragraph of Markdown */
    MS_TREE_ANSWER,    /* console: below the title, in its tone */
    MS_TREE_SUBJECT,   /* console: a name that stands out, and what is said of it */
    MS_TREE_GAP,       /* console: an empty line */
    MS_TREE_SECTION,   /* a heading, with units */
    MS_TREE_PARAGRAPH, /* text */
    MS_TREE_VERBATIM,  /* text that the console does not wrap, as a place in a file */
    MS_TREE_NOTE,      /* label and text */
    MS_TREE_POINT,     /* an item of a list; on the console a paragraph */
    MS_TREE_ITEM,      /* console: a label as it is, and text that goes on below itself */
    MS_TREE_CODE,      /* lines that are typed, as they are */
    MS_TREE_RUN,       /* the fields of a run */
    MS_TREE_HEADING,   /* within a section */
    MS_TREE_TABLE,
    MS_TREE_BAR,     /* page: pieces of a whole */
    MS_TREE_PICTURE, /* page: what draws itself; with a text, a figure */
    MS_TREE_WRITTEN  /* console or Markdown: a part of a layout of its own */
} ms_tree_kind;

typedef struct ms_tree_node {
    struct ms_tree_node *next;
    ms_tree_kind kind;
    unsigned where;
    bool has_tone;
    ms_tone tone;
    const char *id;                            /* of a section, or of code; else NULL */
    const char *label;                         /* title, name or label; of a note "": none */
    const char *text;                          /* text, or units */
    ms_tree_table *table;                      /* else NULL */
    const ms_tree_bar *bar;                    /* else NULL */
    const void *view;                          /* of a picture */
    bool (*draw)(FILE *out, const void *view); /* false: out of memory */
    void (*on_console)(const ms_page *page, const void *view);
    void (*in_markdown)(FILE *out, const void *view);
    const ms_field *fields; /* of a run */
    uint32_t field_count;
} ms_tree_node;

typedef struct ms_tree {
    ms_arena *arena;
    bool is_borrowed, has_failed;          /* the caller's arena; out of memory */
    const char *heading, *title, *verdict; /* of Markdown and pages */
    bool has_page_verdict;                 /* the verdict is on a page alone */
    ms_fit_verdict tone;                   /* of the verdict on a page */
    const char *made_from;                 /* the origin of the figures, as ms_html_finish has it */
    ms_tree_node *first, *last;
} ms_tree;

/* A tree without nodes, in an arena of its own; or in `arena`, which the caller frees. */
ms_tree ms_tree_begin(ms_arena *arena);

/* What Markdown and pages begin with: the heading (Markdown only), the answer, and what was looked
 * at; NULL leaves one out. A page needs the last two. */
void ms_tree_head(ms_tree *tree, const char *heading, const char *title, const char *verdict,
                  ms_fit_verdict tone);

void ms_tree_line(ms_tree *tree, unsigned where, const char *text);
void ms_tree_toned_line(ms_tree *tree, unsigned where, ms_tone tone, const char *text);
void ms_tree_answer(ms_tree *tree, ms_tone tone, const char *text);
void ms_tree_subject(ms_tree *tree, const char *name, const char *text);
void ms_tree_gap(ms_tree *tree);
/* `units`: "GiB" or "". */
void ms_tree_section(ms_tree *tree, unsigned where, const char *id, const char *title,
                     const char *units);
/* "" adds nothing, as in notes, points and code. */
void ms_tree_paragraph(ms_tree *tree, unsigned where, const char *text);
/* The text begins with what the console indents it by. */
void ms_tree_verbatim(ms_tree *tree, unsigned where, const char *text);
/* Label "": a paragraph, which a page sets apart. */
void ms_tree_note(ms_tree *tree, unsigned where, const char *label, const char *text);
void ms_tree_point(ms_tree *tree, unsigned where, const char *text);
void ms_tree_item(ms_tree *tree, const char *label, const char *text);
void ms_tree_code(ms_tree *tree, unsigned where, const char *id, const char *text);
void ms_tree_heading(ms_tree *tree, unsigned where, const char *text);
/* The section of these fields; the console has those that are options of the run. */
void ms_tree_run(ms_tree *tree, const ms_field *fields, uint32_t count);
/* What was added last is dim on the console. */
void ms_tree_dim(ms_tree *tree);
void ms_tree_picture(ms_tree *tree, const char *caption, const void *view,
                     bool (*draw)(FILE *out, const void *view));

/* A part that is written by a function of its own on the console, or in Markdown; NULL: not there.
 */
void ms_tree_written(ms_tree *tree, const void *view,
                     void (*on_console)(const ms_page *page, const void *view),
                     void (*in_markdown)(FILE *out, const void *view));

/* A bar without pieces; `label` is what a screen reader reads. NULL when out of memory, which
 * ms_tree_piece accepts. */
ms_tree_bar *ms_tree_begin_bar(ms_tree *tree, const char *label, uint64_t whole_bytes,
                               uint64_t limit_bytes);
/* The next piece; one of no bytes is not shown. */
void ms_tree_piece(ms_tree *tree, ms_tree_bar *bar, const char *class_name, const char *title,
                   uint64_t bytes);

/* A formatted text in the arena; NULL when out of memory. */
#define ms_tree_text(tree, ...) ((tree)->arena ? ms_arena_printf((tree)->arena, __VA_ARGS__) : NULL)
#define ms_tree_say(tree, where, ...)                                                              \
    ms_tree_paragraph(tree, where, ms_tree_text(tree, __VA_ARGS__))

/* Begins a table without rows; the columns are borrowed. NULL when out of memory, which the
 * functions below accept. */
ms_tree_table *ms_tree_begin_table(ms_tree *tree, unsigned where, const char *caption,
                                   const ms_tree_column *columns, uint32_t count);
/* The next cell; its text is copied. */
void ms_tree_cell(ms_tree *tree, ms_tree_table *table, ms_cell cell);
uint32_t ms_tree_rows(const ms_tree_table *table);

/* The table without the columns that are not shown there. NULL when out of memory. */
const ms_tree_table *ms_tree_table_on(const ms_tree *tree, const ms_tree_table *table,
                                      unsigned where);

/* Rows that a renderer leaves out, where it shows at most `most` (0: all). */
uint32_t ms_tree_left_out(const ms_tree_table *table, uint32_t most);

/* Whether there was memory for all of it. */
bool ms_tree_is_whole(const ms_tree *tree);
void ms_tree_free(ms_tree *tree);

#endif
