/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A tree as Markdown.
 */
#include "report/kit/tree/tree_markdown.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "report/kit/escape.h"

/* Parts are apart by an empty line. */
static void begin(FILE *out, bool *is_first)
{
    fputs(*is_first ? "" : "\n", out);
    *is_first = false;
}

static void write_part(FILE *out, bool *is_first, const char *before, const char *text,
                       const char *after)
{
    if (!text)
        return;
    begin(out, is_first);
    fputs(before, out);
    ms_markdown_text(out, text);
    fprintf(out, "%s\n", after);
}

static void write_section(FILE *out, const ms_tree_node *node)
{
    fputs("## ", out);
    ms_markdown_text(out, node->label);
    fputs(*node->text ? " (" : "", out);
    ms_markdown_text(out, node->text);
    fputs(*node->text ? ")\n" : "\n", out);
}

/* An item of a list, whose label begins a sentence: "Note:". */
static void write_note(FILE *out, const ms_tree_node *node)
{
    if (*node->label) {
        fprintf(out, "- %c", toupper((unsigned char)*node->label));
        ms_markdown_text(out, node->label + 1);
        fputc(' ', out);
    }
    ms_markdown_text(out, node->text);
    fputc('\n', out);
}

/* Code that would act as markup is written as text. */
static void write_words(FILE *out, bool is_code, const char *words)
{
    if (is_code && *words && !strpbrk(words, "`|\\\n")) {
        fputc('`', out);
        ms_put_printable(out, words);
        fputc('`', out);
    } else
        ms_markdown_text(out, words);
}

static void write_run(FILE *out, const ms_field *fields, uint32_t count)
{
    fputs("| field | value |\n|---|---|\n", out);
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        ms_field_value(&fields[i], text, sizeof text);
        fputs("| ", out);
        ms_markdown_text(out, fields[i].name);
        fputs(" | ", out);
        ms_markdown_text(out, text);
        fputs(" |\n", out);
    }
}

static bool ends_line(const char *text)
{
    return text[strlen(text) - 1] == '\n';
}

static bool write_table(FILE *out, const ms_tree *tree, const ms_tree_table *all)
{
    const ms_tree_table *t = ms_tree_table_on(tree, all, MS_ON_MARKDOWN);
    if (!t)
        return false;
    const uint32_t left_out = ms_tree_left_out(t, t->most_markdown);
    const uint32_t cells = t->count * (ms_tree_rows(t) - left_out);
    fputc('|', out);
    for (uint32_t i = 0; i < t->count; i++) {
        const char *head = t->columns[i].wide_head ? t->columns[i].wide_head : t->columns[i].head;
        fputs(*head ? " " : "", out);
        ms_markdown_text(out, head);
        if (t->columns[i].unit)
            fprintf(out, ", %s", t->columns[i].unit);
        fputs(" |", out);
    }
    fputs("\n|", out);
    for (uint32_t i = 0; i < t->count; i++)
        fputs(t->columns[i].is_figure ? "---:|" : "---|", out);
    for (uint32_t i = 0; i < cells; i++) {
        char text[MS_CELL_BYTES_OF_TEXT];
        const char *words = ms_cell_words(&t->cells[i], text);
        fputs(i % t->count == 0 ? "\n|" : "", out);
        fputs(t->cells[i].kind == MS_CELL_NONE ? "" : " ", out);
        write_words(out, t->cells[i].kind == MS_CELL_CODE, words);
        fputs(" |", out);
    }
    fputc('\n', out);
    if (left_out)
        fprintf(out, "\nAnd %" PRIu32 " more.\n", left_out);
    return true;
}

static bool is_of(const ms_tree_node *node, ms_tree_kind kind)
{
    return node && node->kind == kind && (node->where & MS_ON_MARKDOWN);
}

/* Lines, and the items of a list, are not apart. */
static bool goes_on(const ms_tree_node *node)
{
    return (node->kind == MS_TREE_LINE || node->kind == MS_TREE_POINT) &&
           is_of(node->next, node->kind);
}

static bool write_node(FILE *out, const ms_tree *tree, const ms_tree_node *node)
{
    switch (node->kind) {
    case MS_TREE_LINE:
        ms_markdown_text(out, node->text);
        fputs(goes_on(node) ? "<br>\n" : "\n", out);
        break;
    case MS_TREE_SECTION:
        write_section(out, node);
        break;
    case MS_TREE_PARAGRAPH:
    case MS_TREE_VERBATIM:
        ms_markdown_text(out, node->text + strspn(node->text, " "));
        fputc('\n', out);
        break;
    case MS_TREE_NOTE:
        write_note(out, node);
        break;
    case MS_TREE_POINT:
        fputs("- ", out);
        ms_markdown_text(out, node->text);
        fputc('\n', out);
        break;
    case MS_TREE_CODE:
        fprintf(out, "```\n%s%s```\n", node->text, ends_line(node->text) ? "" : "\n");
        break;
    case MS_TREE_WRITTEN:
        node->in_markdown(out, node->view);
        break;
    case MS_TREE_RUN:
        write_run(out, node->fields, node->field_count);
        break;
    case MS_TREE_HEADING:
        fputs("### ", out);
        ms_markdown_text(out, node->text);
        fputc('\n', out);
        break;
    case MS_TREE_TABLE:
        return write_table(out, tree, node->table);
    case MS_TREE_ANSWER:
    case MS_TREE_SUBJECT:
    case MS_TREE_GAP:
    case MS_TREE_ITEM:
    case MS_TREE_BAR:
    case MS_TREE_PICTURE:
        break;
    }
    return true;
}

bool ms_tree_markdown(ms_tree *tree, FILE *out)
{
    bool ok = ms_tree_is_whole(tree), is_first = true, is_within = false;
    if (ok) {
        write_part(out, &is_first, "# ", tree->heading, "");
        write_part(out, &is_first, "**", tree->has_page_verdict ? NULL : tree->verdict, "**");
        write_part(out, &is_first, "", tree->title == tree->heading ? NULL : tree->title, "");
    }
    for (const ms_tree_node *node = tree->first; ok && node; node = node->next) {
        if (!(node->where & MS_ON_MARKDOWN))
            continue;
        if (!is_within)
            begin(out, &is_first);
        ok = write_node(out, tree, node);
        is_within = goes_on(node);
    }
    ms_tree_free(tree);
    return ok;
}
