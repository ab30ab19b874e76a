/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/tree/fixed_table.h"

#include <string.h>

#include "base/utf8.h"

enum { NARROW = 72 }; /* pages with fewer columns are narrow */

/* The columns that are shown together: `first`, and those from `begin` up to `end`. */
typedef struct part {
    const ms_page *page;
    const ms_tree_table *table;
    uint32_t begin, end;
    uint32_t room;   /* of the flexible column */
    uint32_t behind; /* columns behind it */
    bool is_broken;  /* a flexible cell has a line of its own */
} part;

static uint32_t width_of(const part *p, uint32_t column)
{
    const ms_tree_column *c = &p->table->columns[column];
    if (c->is_flexible)
        return p->room;
    return p->page->columns < NARROW && c->narrow ? c->narrow : c->width;
}

static bool is_shown(const part *p, uint32_t column)
{
    return column == 0 || (column >= p->begin && column < p->end);
}

static void measure(part *p)
{
    const ms_tree_column *flexible = NULL;
    uint32_t others = 0;
    for (uint32_t i = 0; i < p->end; i++) {
        const ms_tree_column *c = &p->table->columns[i];
        if (!is_shown(p, i))
            continue;
        others += c->before + (c->is_flexible ? 0 : width_of(p, i));
        p->behind = c->is_flexible ? 0 : p->behind + c->before + width_of(p, i);
        flexible = c->is_flexible ? c : flexible;
    }
    if (!flexible)
        return;
    p->room = ms_page_room(p->page, flexible->width ? flexible->width : p->page->columns, others);
    p->is_broken = p->room < flexible->least;
}

/* The text of a cell; of row -1, the column's head. */
static const char *text_of(const part *p, int64_t row, uint32_t column,
                           char text[MS_CELL_BYTES_OF_TEXT])
{
    const ms_tree_table *t = p->table;
    return row < 0 ? t->columns[column].head
                   : ms_cell_words(&t->cells[(size_t)row * t->count + column], text);
}

/* Behind the last cell that has something in it. */
static uint32_t end_of(const part *p, int64_t row)
{
    char text[MS_CELL_BYTES_OF_TEXT];
    uint32_t end = p->end;
    while (end > 1 && (!is_shown(p, end - 1) || !*text_of(p, row, end - 1, text)))
        end--;
    return end;
}

/* A flexible column that ends its line. */
static bool is_cut_rest(const part *p, uint32_t column, uint32_t end)
{
    return column > 0 && column + 1 == end && p->table->columns[column].is_flexible;
}

/* `at`: columns before it. */
static void write_flexible(const part *p, const char *text, uint32_t index, uint32_t at,
                           uint32_t end)
{
    const ms_tree_column *c = &p->table->columns[index];
    const ms_page *page = p->page;
    if (is_cut_rest(p, index, end)) {
        enum { INDENT = 6 };
        if (p->is_broken)
            fprintf(page->out, "\n%*s", INDENT, "");
        ms_page_last_cell(page, text, p->is_broken ? page->columns - INDENT : p->room);
    } else if (p->is_broken) {
        if (c->cut == MS_CUT_MIDDLE) {
            ms_page_last_cell(page, text, page->columns - at);
        } else {
            ms_page_end_cell(page, text, page->columns - at);
            fputc('\n', page->out);
        }
        fprintf(page->out, "%*s", (int)(page->columns - p->behind), "");
    } else if (c->cut == MS_CUT_NAME) {
        ms_page_name(page, text, p->room);
    } else if (c->cut == MS_CUT_BEGINNING) {
        ms_page_end_cell(page, text, p->room);
    } else {
        ms_page_cell(page, text, p->room);
    }
}

static const ms_cell *cell_at(const part *p, int64_t row, uint32_t column)
{
    return row < 0 ? NULL : &p->table->cells[(size_t)row * p->table->count + column];
}

/* Words that end their line may go on below themselves. */
static bool is_rest(const part *p, int64_t row, uint32_t column, uint32_t end)
{
    const ms_tree_column *c = &p->table->columns[column];
    return row >= 0 && c->is_wrapped && column > 0 && column + 1 == end;
}

/* `at`: columns before it. */
static void write_cell(const part *p, int64_t row, uint32_t column, uint32_t at, uint32_t end)
{
    char buffer[MS_CELL_BYTES_OF_TEXT];
    const ms_tree_column *c = &p->table->columns[column];
    const char *text = text_of(p, row, column, buffer);
    const uint32_t width = width_of(p, column);
    if (c->is_flexible)
        write_flexible(p, text, column, at, end);
    else if (is_rest(p, row, column, end))
        ms_page_rest(p->page, at - 1, text);
    else if (c->is_figure)
        ms_page_put(p->page, "%*s", (int)width, text);
    else if (column + 1 == end)
        ms_put_printable(p->page->out, text);
    else
        ms_page_cell(p->page, text, width);
}

static void write_cells(const part *p, int64_t row, uint32_t from, uint32_t at)
{
    const ms_page *page = p->page;
    const bool is_dim = row < 0 && p->table->has_dim_head;
    const uint32_t end = end_of(p, row);
    for (uint32_t i = from; i < end; i++) {
        const ms_cell *cell = cell_at(p, row, i);
        const ms_tree_column *c = &p->table->columns[i];
        const bool has_tone = cell && cell->has_tone;
        if (!is_shown(p, i))
            continue;
        at += c->before;
        fprintf(page->out, "%*s", (int)(c->before - is_rest(p, row, i, end)), "");
        fputs(is_dim && i == from ? ms_page_tone(page, MS_TONE_DIM) : "", page->out);
        fputs(has_tone ? ms_page_tone(page, cell->tone) : "", page->out);
        write_cell(p, row, i, at, end);
        fputs(has_tone ? ms_page_tone(page, MS_TONE_END) : "", page->out);
        at += width_of(p, i);
    }
    fputs(is_dim ? ms_page_tone(page, MS_TONE_END) : "", page->out);
    fputs(end > 1 && (is_rest(p, row, end - 1, end) || is_cut_rest(p, end - 1, end)) ? "" : "\n",
          page->out);
}

/* Heads leave the place of names empty where these have lines of their own. */
static void write_heads(const part *p)
{
    uint32_t from = 0;
    const bool is_apart = p->is_broken && p->behind > 0;
    while (is_apart && !p->table->columns[from++].is_flexible)
        continue;
    if (is_apart)
        fprintf(p->page->out, "%*s", (int)(p->page->columns - p->behind), "");
    write_cells(p, -1, from, 0);
}

static void write_part(part p)
{
    const ms_tree_table *t = p.table;
    const uint32_t rows = ms_tree_rows(t) - ms_tree_left_out(t, t->most_console);
    measure(&p);
    if (!t->has_no_head)
        write_heads(&p);
    for (uint32_t i = 0; i < rows; i++)
        write_cells(&p, i, 0, 0);
}

/* Columns behind the first, which all are as wide as the next, that stand side by side. */
static uint32_t columns_aside(const ms_page *page, const ms_tree_table *t)
{
    const ms_tree_column *first = &t->columns[0], *next = &t->columns[1];
    const uint32_t room =
        (page->columns - first->before - first->width) / (uint32_t)(next->before + next->width);
    return room < t->most_aside ? room : t->most_aside;
}

static void write_parts(const ms_page *page, const ms_tree_table *t)
{
    const uint32_t aside = columns_aside(page, t);
    for (uint32_t i = 1; i < t->count; i += aside) {
        fputs(i > 1 ? "\n" : "", page->out);
        write_part((part){.page = page,
                          .table = t,
                          .begin = i,
                          .end = i + aside < t->count ? i + aside : t->count});
    }
}

void ms_fixed_table_console(const ms_page *page, const ms_tree_table *t)
{
    if (t->most_aside) {
        write_parts(page, t);
        return;
    }
    const bool is_split = t->split && page->columns < NARROW;
    write_part((part){.page = page, .table = t, .begin = 1, .end = is_split ? t->split : t->count});
    if (is_split)
        write_part((part){.page = page, .table = t, .begin = t->split, .end = t->count});
}
