/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/tree/tree.h"

ms_tree ms_tree_begin(ms_arena *arena)
{
    ms_arena *own = arena ? arena : ms_arena_create(0);
    return (ms_tree){.arena = own,
                     .is_borrowed = arena != NULL,
                     .has_failed = own == NULL,
                     .made_from = "from the run's configuration alone; figures are predictions"};
}

void ms_tree_head(ms_tree *tree, const char *heading, const char *title, const char *verdict,
                  ms_fit_verdict tone)
{
    tree->heading = heading;
    tree->title = title;
    tree->verdict = verdict;
    tree->tone = tone;
}

/* NULL without memory, also for a text. */
static ms_tree_node *add(ms_tree *tree, ms_tree_kind kind, unsigned where, const char *label,
                         const char *text)
{
    bool is_whole = !tree->has_failed && label && text;
    ms_tree_node *node = is_whole ? ms_arena_array(tree->arena, ms_tree_node, 1) : NULL;
    if (!node) {
        tree->has_failed = true;
        return NULL;
    }
    *node = (ms_tree_node){.kind = kind, .where = where, .label = label, .text = text};
    if (tree->last)
        tree->last->next = node;
    else
        tree->first = node;
    tree->last = node;
    return node;
}

void ms_tree_line(ms_tree *tree, unsigned where, const char *text)
{
    add(tree, MS_TREE_LINE, where, "", text);
}

void ms_tree_toned_line(ms_tree *tree, unsigned where, ms_tone tone, const char *text)
{
    ms_tree_node *node = add(tree, MS_TREE_LINE, where, "", text);
    if (node)
        node->tone = tone, node->has_tone = true;
}

void ms_tree_answer(ms_tree *tree, ms_tone tone, const char *text)
{
    ms_tree_node *node = add(tree, MS_TREE_ANSWER, MS_ON_CONSOLE, "", text);
    if (node)
        node->tone = tone;
}

void ms_tree_subject(ms_tree *tree, const char *name, const char *text)
{
    add(tree, MS_TREE_SUBJECT, MS_ON_CONSOLE, name, text);
}

void ms_tree_gap(ms_tree *tree)
{
    add(tree, MS_TREE_GAP, MS_ON_CONSOLE, "", "");
}

void ms_tree_section(ms_tree *tree, unsigned where, const char *id, const char *title,
                     const char *units)
{
    ms_tree_node *node = add(tree, MS_TREE_SECTION, where, title, units);
    if (node)
        node->id = id;
}

void ms_tree_paragraph(ms_tree *tree, unsigned where, const char *text)
{
    if (!text || *text)
        add(tree, MS_TREE_PARAGRAPH, where, "", text);
}

void ms_tree_verbatim(ms_tree *tree, unsigned where, const char *text)
{
    add(tree, MS_TREE_VERBATIM, where, "", text);
}

void ms_tree_note(ms_tree *tree, unsigned where, const char *label, const char *text)
{
    if (!text || *text)
        add(tree, MS_TREE_NOTE, where, label, text);
}

void ms_tree_point(ms_tree *tree, unsigned where, const char *text)
{
    if (!text || *text)
        add(tree, MS_TREE_POINT, where, "", text);
}

void ms_tree_item(ms_tree *tree, const char *label, const char *text)
{
    add(tree, MS_TREE_ITEM, MS_ON_CONSOLE, label, text);
}

void ms_tree_code(ms_tree *tree, unsigned where, const char *id, const char *text)
{
    ms_tree_node *node = text && !*text ? NULL : add(tree, MS_TREE_CODE, where, "", text);
    if (node)
        node->id = id;
}

void ms_tree_heading(ms_tree *tree, unsigned where, const char *text)
{
    add(tree, MS_TREE_HEADING, where, "", text);
}

void ms_tree_run(ms_tree *tree, const ms_field *fields, uint32_t count)
{
    ms_tree_section(tree, MS_ON_ALL, "run", "The run", "defaults unless given");
    ms_tree_node *node = add(tree, MS_TREE_RUN, MS_ON_ALL, "", "");
    if (node) {
        node->fields = fields;
        node->field_count = count;
    }
}

void ms_tree_dim(ms_tree *tree)
{
    if (tree->last)
        tree->last->tone = MS_TONE_DIM, tree->last->has_tone = true;
}

void ms_tree_picture(ms_tree *tree, const char *caption, const void *view,
                     bool (*draw)(FILE *out, const void *view))
{
    ms_tree_node *node = add(tree, MS_TREE_PICTURE, MS_ON_PAGE, "", caption);
    if (node)
        node->view = view, node->draw = draw;
}

void ms_tree_written(ms_tree *tree, const void *view,
                     void (*on_console)(const ms_page *page, const void *view),
                     void (*in_markdown)(FILE *out, const void *view))
{
    const unsigned where = (on_console ? MS_ON_CONSOLE : 0u) | (in_markdown ? MS_ON_MARKDOWN : 0u);
    ms_tree_node *node = add(tree, MS_TREE_WRITTEN, where, "", "");
    if (node) {
        node->view = view;
        node->on_console = on_console;
        node->in_markdown = in_markdown;
    }
}

ms_tree_table *ms_tree_begin_table(ms_tree *tree, unsigned where, const char *caption,
                                   const ms_tree_column *columns, uint32_t count)
{
    ms_tree_node *node = add(tree, MS_TREE_TABLE, where, "", "");
    ms_tree_table *table = node ? ms_arena_array(tree->arena, ms_tree_table, 1) : NULL;
    if (!table) {
        tree->has_failed = true;
        return NULL;
    }
    *table = (ms_tree_table){.caption = caption, .columns = columns, .count = count, .more = ""};
    node->table = table;
    return table;
}

void ms_tree_cell(ms_tree *tree, ms_tree_table *table, ms_cell cell)
{
    enum { FIRST_CAPACITY = 32 };
    if (!table)
        return;
    bool has_text = ms_cell_has_text(&cell);
    if (has_text)
        cell.text = cell.text ? ms_arena_strdup(tree->arena, cell.text) : NULL;
    ms_cell *cells = ms_arena_grow(tree->arena, table->cells, table->cell_count, &table->capacity,
                                   sizeof *cells, FIRST_CAPACITY);
    if (!cells || (has_text && !cell.text)) {
        tree->has_failed = true;
        return;
    }
    table->cells = cells;
    table->cells[table->cell_count++] = cell;
}

ms_tree_bar *ms_tree_begin_bar(ms_tree *tree, const char *label, uint64_t whole_bytes,
                               uint64_t limit_bytes)
{
    ms_tree_node *node = add(tree, MS_TREE_BAR, MS_ON_PAGE, label, "");
    ms_tree_bar *bar = node ? ms_arena_array(tree->arena, ms_tree_bar, 1) : NULL;
    if (!bar) {
        tree->has_failed = true;
        return NULL;
    }
    *bar = (ms_tree_bar){.whole_bytes = whole_bytes, .limit_bytes = limit_bytes};
    node->bar = bar;
    return bar;
}

void ms_tree_piece(ms_tree *tree, ms_tree_bar *bar, const char *class_name, const char *title,
                   uint64_t bytes)
{
    enum { FIRST_CAPACITY = 16 };
    if (!bar || !bytes)
        return;
    ms_html_piece *pieces = ms_arena_grow(tree->arena, bar->pieces, bar->count, &bar->capacity,
                                          sizeof *pieces, FIRST_CAPACITY);
    if (!pieces) {
        tree->has_failed = true;
        return;
    }
    bar->pieces = pieces;
    bar->pieces[bar->count++] = (ms_html_piece){class_name, title, bytes};
}

const ms_tree_table *ms_tree_table_on(const ms_tree *tree, const ms_tree_table *all, unsigned where)
{
    ms_tree_table *table = ms_arena_array(tree->arena, ms_tree_table, 1);
    ms_tree_column *columns = ms_arena_array(tree->arena, ms_tree_column, all->count);
    ms_cell *cells = ms_arena_array(tree->arena, ms_cell, all->cell_count);
    if (!table || !columns || !cells)
        return NULL;
    *table = *all;
    table->columns = columns;
    table->cells = cells;
    table->count = table->cell_count = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (!(all->columns[i].off & where)) {
            table->split -= i == all->split ? all->split - table->count : 0;
            columns[table->count++] = all->columns[i];
        }
    for (uint32_t i = 0, column = 0; i < all->cell_count; i++) {
        ms_cell cell = all->cells[i];
        cell.decimals -= where == MS_ON_CONSOLE ? cell.fewer : 0;
        if (!(all->columns[column].off & where))
            cells[table->cell_count++] = cell;
        column = column + 1 < all->count ? column + 1 : 0;
    }
    return table;
}

uint32_t ms_tree_rows(const ms_tree_table *table)
{
    return table->cell_count / table->count;
}

bool ms_tree_is_whole(const ms_tree *tree)
{
    return !tree->has_failed && !ms_arena_has_failed(tree->arena);
}

void ms_tree_free(ms_tree *tree)
{
    if (!tree->is_borrowed)
        ms_arena_free(tree->arena);
    *tree = (ms_tree){.has_failed = true};
}

uint32_t ms_tree_left_out(const ms_tree_table *table, uint32_t most)
{
    const uint32_t rows = ms_tree_rows(table);
    return most && rows > most ? rows - most : 0;
}
