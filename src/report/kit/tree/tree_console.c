/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A tree as console text.
 */
#include "report/kit/tree/tree_console.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "report/kit/text_table.h"
#include "report/kit/tree/fixed_table.h"

/* ---- a table as wide as its texts ---- */

/* A table and the texts of its cells. */
typedef struct texts {
    const ms_tree_table *table;
    const char **cells;
} texts;

static const char *head(const void *view, uint32_t column)
{
    const texts *t = view;
    return t->table->columns[column].head;
}

static const char *cell(const void *view, uint32_t row, uint32_t column)
{
    const texts *t = view;
    return t->cells[(size_t)row * t->table->count + column];
}

static bool is_figure(const void *view, uint32_t column)
{
    const texts *t = view;
    return t->table->columns[column].is_figure;
}

static uint32_t goes(const void *view, uint32_t column)
{
    const texts *t = view;
    return t->table->columns[column].goes;
}

static ms_text_place place(const void *view, uint32_t column)
{
    const texts *t = view;
    return (ms_text_place){t->table->columns[column].before, t->table->columns[column].width};
}

/* The column of verdicts; past the last: none. */
static uint32_t verdict_of(const ms_tree_table *t)
{
    uint32_t column = 0;
    while (column < t->count && (t->cell_count == 0 || t->cells[column].kind != MS_CELL_VERDICT))
        column++;
    return column;
}

static bool write_texts(const ms_tree *tree, const ms_page *page, const ms_style *style,
                        const ms_tree_table *t)
{
    texts all = {t, ms_arena_array(tree->arena, const char *, t->cell_count)};
    for (uint32_t i = 0; all.cells && i < t->cell_count; i++) {
        char text[MS_CELL_BYTES_OF_TEXT];
        const char *words = ms_cell_words(&t->cells[i], text);
        all.cells[i] = words == text ? ms_arena_strdup(tree->arena, text) : words;
    }
    const ms_text_table table = {.view = &all,
                                 .columns = t->count,
                                 .rows = ms_tree_rows(t),
                                 .verdict = verdict_of(t),
                                 .head = head,
                                 .cell = cell,
                                 .is_figure = is_figure,
                                 .goes = goes,
                                 .place = place,
                                 .least_last = t->least_last};
    return all.cells && ms_text_table_console(page, style, &table);
}

static bool write_table(const ms_tree *tree, const ms_page *page, const ms_style *style,
                        const ms_tree_table *all)
{
    const ms_tree_table *t = ms_tree_table_on(tree, all, MS_ON_CONSOLE);
    bool ok = t != NULL;
    if (!t)
        return false;
    const uint32_t left_out = ms_tree_left_out(t, t->most_console);
    if (t->is_fixed)
        ms_fixed_table_console(page, t);
    else
        ok = write_texts(tree, page, style, t);
    if (left_out)
        fprintf(page->out, "  and %" PRIu32 " more%s\n", left_out, t->more);
    return ok;
}

/* ---- nodes ---- */

static void write_section(const ms_tree *tree, const ms_page *page, const ms_tree_node *node)
{
    const char *units =
        *node->text ? ms_arena_printf(tree->arena, "  (%s)", node->text) : node->text;
    ms_page_heading(page, node->label, units ? units : "");
}

static void write_code(const ms_page *page, const char *text)
{
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        fprintf(page->out, "%s%.*s\n", length ? "  " : "", length, text);
        text += length + (text[length] == '\n');
    }
}

static void write_run(const ms_page *page, const ms_field *fields, uint32_t count)
{
    enum { INDENT = 4 };
    ms_paragraph g = {page, 0, INDENT};
    for (uint32_t i = 0; i < count; i++) {
        const ms_field *f = &fields[i];
        char value[120], text[160];
        if (f->group != MS_FIELD_RUN)
            continue;
        ms_field_value(f, value, sizeof value);
        bool last = i + 1 == count || f[1].group != MS_FIELD_RUN;
        int length = snprintf(text, sizeof text, "%s %s%s", f->name, value, last ? "" : ",");
        ms_page_word(&g, text, length > 0 ? (uint32_t)length : 0);
    }
    fputc('\n', page->out);
}

static bool write_bare(const ms_tree *tree, const ms_page *page, const ms_style *style,
                       const ms_tree_node *node)
{
    switch (node->kind) {
    case MS_TREE_LINE:
        ms_page_line(page, node->text);
        break;
    case MS_TREE_ANSWER:
        ms_page_answer(page, node->tone, node->text);
        break;
    case MS_TREE_SUBJECT:
        ms_page_subject(page, node->label, node->text);
        break;
    case MS_TREE_GAP:
        fputc('\n', page->out);
        break;
    case MS_TREE_SECTION:
        write_section(tree, page, node);
        break;
    case MS_TREE_PARAGRAPH:
    case MS_TREE_POINT:
        ms_page_paragraph(page, node->text);
        break;
    case MS_TREE_VERBATIM:
        ms_put_printable(page->out, node->text);
        fputc('\n', page->out);
        break;
    case MS_TREE_NOTE:
        ms_page_note(page, node->label, node->text);
        break;
    case MS_TREE_ITEM:
        fputs(node->label, page->out);
        ms_page_rest(page, (uint32_t)strlen(node->label), node->text);
        break;
    case MS_TREE_CODE:
        write_code(page, node->text);
        break;
    case MS_TREE_RUN:
        write_run(page, node->fields, node->field_count);
        break;
    case MS_TREE_TABLE:
        return write_table(tree, page, style, node->table);
    case MS_TREE_WRITTEN:
        node->on_console(page, node->view);
        break;
    case MS_TREE_HEADING:
    case MS_TREE_BAR:
    case MS_TREE_PICTURE:
        break;
    }
    return true;
}

static bool write_node(const ms_tree *tree, const ms_page *page, const ms_style *style,
                       const ms_tree_node *node)
{
    const bool has_tone = node->has_tone;
    fputs(has_tone ? ms_page_tone(page, node->tone) : "", page->out);
    bool ok = write_bare(tree, page, style, node);
    fputs(has_tone ? ms_page_tone(page, MS_TONE_END) : "", page->out);
    return ok;
}

bool ms_tree_console(ms_tree *tree, FILE *out, const ms_style *style)
{
    const ms_page page = ms_page_begin(out, style);
    bool ok = ms_tree_is_whole(tree);
    for (const ms_tree_node *node = tree->first; ok && node; node = node->next)
        if (node->where & MS_ON_CONSOLE)
            ok = write_node(tree, &page, style, node);
    ok = ok && ms_tree_is_whole(tree);
    ms_tree_free(tree);
    return ok;
}
