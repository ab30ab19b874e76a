/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A tree as an HTML page.
 */
#include "report/kit/tree/tree_html.h"

#include <ctype.h>

#include "report/kit/html.h"

static bool is_shown(const ms_tree_node *node)
{
    return (node->where & MS_ON_PAGE) != 0;
}

static bool is_section(const ms_tree_node *node)
{
    return node->kind == MS_TREE_SECTION && is_shown(node);
}

/* ---- tables ---- */

static bool write_table(FILE *out, const ms_tree *tree, const ms_tree_table *all)
{
    const ms_tree_table *t = ms_tree_table_on(tree, all, MS_ON_PAGE);
    ms_html_column *columns = ms_arena_array(tree->arena, ms_html_column, all->count);
    if (!t || !columns)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        const ms_tree_column *c = &t->columns[i];
        columns[i] = (ms_html_column){c->wide_head ? c->wide_head : c->head, c->is_figure};
    }
    ms_html_begin_table(out, t->is_sortable ? "sortable" : "", t->caption, columns, t->count);
    for (uint32_t i = 0; i < t->count * ms_tree_rows(t); i++) {
        const ms_cell *cell = &t->cells[i];
        char text[MS_CELL_BYTES_OF_TEXT];
        const uint32_t column = i % t->count;
        if (column == 0)
            fputs(i ? "</tr>\n<tr>" : "<tr>", out);
        if (column != t->row_head) {
            ms_cell_html(out, cell, t->columns[column].is_figure);
            continue;
        }
        fputs("<th scope=\"row\">", out);
        ms_xml_text(out, ms_cell_words(cell, text));
        fputs("</th>", out);
    }
    fputs(t->cell_count ? "</tr>\n" : "", out);
    ms_html_end_table(out);
    return true;
}

/* ---- nodes ---- */

/* "note:" begins a sentence of its own: "Note:". */
static bool write_note(FILE *out, const ms_tree *tree, const ms_tree_node *node)
{
    if (!*node->label) {
        ms_html_paragraph(out, "note", node->text);
        return true;
    }
    char *label = ms_arena_strdup(tree->arena, node->label);
    if (label) {
        label[0] = (char)toupper((unsigned char)label[0]);
        ms_html_note(out, label, node->text);
    }
    return label != NULL;
}

static bool write_picture(FILE *out, const ms_tree_node *node)
{
    if (!*node->text)
        return node->draw(out, node->view);
    fputs("<figure>\n", out);
    bool ok = node->draw(out, node->view);
    fputs("<figcaption>", out);
    ms_xml_text(out, node->text);
    fputs("</figcaption>\n</figure>\n", out);
    return ok;
}

static void write_code(FILE *out, const ms_tree_node *node)
{
    fprintf(out, "<pre%s%s%s>", node->id ? " id=\"" : "", node->id ? node->id : "",
            node->id ? "\"" : "");
    ms_xml_lines(out, node->text);
    fputs("</pre>\n", out);
}

static bool write_node(FILE *out, const ms_tree *tree, const ms_tree_node *node)
{
    switch (node->kind) {
    case MS_TREE_LINE:
    case MS_TREE_PARAGRAPH:
    case MS_TREE_VERBATIM:
        ms_html_paragraph(out, "", node->text);
        break;
    case MS_TREE_POINT:
        fputs("<li>", out);
        ms_xml_text(out, node->text);
        fputs("</li>\n", out);
        break;
    case MS_TREE_CODE:
        write_code(out, node);
        break;
    case MS_TREE_RUN:
        ms_html_run(out, node->fields, node->field_count);
        break;
    case MS_TREE_HEADING:
        fputs("<h3>", out);
        ms_xml_text(out, node->text);
        fputs("</h3>\n", out);
        break;
    case MS_TREE_NOTE:
        return write_note(out, tree, node);
    case MS_TREE_TABLE:
        return write_table(out, tree, node->table);
    case MS_TREE_BAR:
        ms_html_bar(out, node->label, node->bar->pieces, node->bar->count, node->bar->whole_bytes,
                    node->bar->limit_bytes);
        break;
    case MS_TREE_PICTURE:
        return write_picture(out, node);
    case MS_TREE_ANSWER:
    case MS_TREE_SUBJECT:
    case MS_TREE_GAP:
    case MS_TREE_SECTION:
    case MS_TREE_ITEM:
    case MS_TREE_WRITTEN:
        break;
    }
    return true;
}

/* The nodes up to the next section. */
static bool write_nodes(FILE *out, const ms_tree *tree, const ms_tree_node *node)
{
    bool ok = true, is_list = false;
    for (; ok && node && !is_section(node); node = node->next) {
        if (!is_shown(node))
            continue;
        if ((node->kind == MS_TREE_POINT) != is_list)
            fputs(is_list ? "</ul>\n" : "<ul>\n", out);
        is_list = node->kind == MS_TREE_POINT;
        ok = write_node(out, tree, node);
    }
    fputs(is_list ? "</ul>\n" : "", out);
    return ok;
}

/* ---- the page ---- */

static bool write_section(FILE *out, const void *view, size_t index)
{
    const ms_tree *tree = view;
    const ms_tree_node *node = tree->first;
    for (;; node = node->next)
        if (is_section(node) && index-- == 0)
            return write_nodes(out, tree, node->next);
}

static bool write_page(FILE *out, const ms_tree *tree)
{
    uint32_t count = 0;
    for (const ms_tree_node *node = tree->first; node; node = node->next)
        count += is_section(node);
    ms_html_link *links = ms_arena_array(tree->arena, ms_html_link, count);
    if (!links)
        return false;
    count = 0;
    for (const ms_tree_node *node = tree->first; node; node = node->next)
        if (is_section(node))
            links[count++] = (ms_html_link){node->id, node->label, false};
    ms_html_begin(out, &(ms_html_head){tree->title, tree->verdict, tree->tone});
    return write_nodes(out, tree, tree->first) &&
           ms_html_finish(out, links, count, tree->made_from, tree, write_section);
}

bool ms_tree_html(ms_tree *tree, FILE *out)
{
    bool ok = ms_tree_is_whole(tree) && write_page(out, tree);
    ms_tree_free(tree);
    return ok;
}
