/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trees of documents: what each renderer makes of every kind of node and cell, of texts from
 * outside, and of memory that runs out.
 */
#include <math.h>
#include <string.h>

#include "report/kit/tree/tree_writers.h"

#include "unit/support.h"

static const ms_tree_column columns[] = {
    {.head = "name", .before = 2, .width = 8},
    {.head = "GiB", .before = 1, .width = 7, .is_figure = true, .wide_head = "memory, GiB"},
    {.head = "fits", .before = 2}};
enum { COLUMNS = COUNT_OF(columns) };

/* A document with that text in every place that takes one. */
static ms_tree tree_of(ms_arena *arena, const char *text)
{
    ms_tree tree = ms_tree_begin(arena);
    ms_tree_head(&tree, "memscope", text, text, MS_VERDICT_TIGHT);
    ms_tree_line(&tree, MS_ON_CONSOLE, text);
    ms_tree_answer(&tree, MS_TONE_TIGHT, text);
    ms_tree_subject(&tree, text, text);
    ms_tree_note(&tree, MS_ON_ALL, "note:", text);
    ms_tree_section(&tree, MS_ON_ALL, "part", text, text);
    ms_tree_table *table = ms_tree_begin_table(&tree, MS_ON_ALL, text, columns, COLUMNS);
    ms_tree_cell(&tree, table, ms_cell_text(text));
    ms_tree_cell(&tree, table, ms_cell_gib(UINT64_C(3) << 29));
    ms_tree_cell(&tree, table, ms_cell_verdict("tight"));
    ms_tree_cell(&tree, table, ms_cell_none());
    ms_tree_cell(&tree, table, ms_cell_text(text));
    ms_tree_cell(&tree, table, ms_cell_code(text));
    table = ms_tree_begin_table(&tree, MS_ON_CONSOLE, text, columns, COLUMNS);
    if (table)
        table->is_fixed = true;
    for (int i = 0; i < 2 * COLUMNS; i++)
        ms_tree_cell(&tree, table, ms_cell_text(text));
    ms_tree_paragraph(&tree, MS_ON_ALL, text);
    return tree;
}

typedef enum target { CONSOLE, MARKDOWN, PAGE } target;

/* The text of the tree, to be freed; NULL: the renderer ran out of memory. */
static char *render(ms_tree *tree, target format, const ms_style *style)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    bool ok = format == CONSOLE    ? ms_tree_console(tree, out, style)
              : format == MARKDOWN ? ms_tree_markdown(tree, out)
                                   : ms_tree_html(tree, out);
    fclose(out);
    if (!ok) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- texts from outside ---- */

typedef struct text_case {
    const char *label, *text;
    target format;
    const char *found; /* in what is written, or NULL */
    const char *not_found;
} text_case;

static const text_case text_cases[] = {
    {"a pipe", "a|b", MARKDOWN, "| a\\|b | 1.50 | tight |", "a|b"},
    {"markup", "*a* _b_ `c`", MARKDOWN, "- Note: \\*a\\* \\_b\\_ \\`c\\`", "*a*"},
    {"a link", "[a](http://b)", MARKDOWN, "## \\[a\\](http:\\//b) (\\[a\\]", " [a]("},
    {"a tag", "<b>", MARKDOWN, "**\\<b>**", "*<b>"},
    {"a mention", "@all", MARKDOWN, "@<!-- -->all", " @all"},
    {"a line break", "a\nb", MARKDOWN, "a\\\\nb", "a\nb"},
    {"a heading", "# a", MARKDOWN, "\n\\# a\n", "\n# a\n"},
    {"a script", "<script>x</script>", PAGE, "<th scope=\"row\">&lt;script&gt;x", "<script>x"},
    {"an attribute", "\" onclick=\"x", PAGE, "<h1>&quot; onclick=&quot;x</h1>", "\" onclick"},
    {"an apostrophe", "'a' & b", PAGE, "<caption>&#39;a&#39; &amp; b</caption>", "'a' & b"},
    {"an escape", "\033[31m", PAGE, "<p>\\x1b[31m</p>", "\033"},
    {"an escape, at a terminal", "\033[31m", CONSOLE, "note: \\x1b[31m", "\033"},
    {"a carriage return", "a\rb", CONSOLE, "a\\rb", "\r"},
    {"a command of a runner", "::error::x", CONSOLE, "note: ", "\n::error"},
    {"bytes that are no UTF-8", "a\xff", CONSOLE, "a\\xff", "\xff"},
    {"marks of direction",
     "a\xe2\x80\xae"
     "b",
     PAGE, "<h2 id=\"part-title\">a\\u202eb</h2>", "\xe2\x80\xae"},
};

static void check_text(void **state)
{
    const text_case *c = *state;
    const ms_style style = {.columns = 80};
    ms_tree tree = tree_of(NULL, c->text);
    char *text = render(&tree, c->format, &style);
    assert_non_null(text);
    if (!strstr(text, c->found) || strstr(text, c->not_found))
        fail_msg("%s", text);
    free(text);
}

/* ---- cells ---- */

typedef struct cell_case {
    const char *label;
    ms_cell cell;
    const char *words, *html;
} cell_case;

static const cell_case cell_cases[] = {
    {"nothing", {.kind = MS_CELL_NONE}, "", "<td class=\"n\"></td>"},
    {"a text", {.kind = MS_CELL_TEXT, .text = "a<b"}, "a<b", "<td class=\"n\">a&lt;b</td>"},
    {"code", {.kind = MS_CELL_CODE, .text = "4"}, "4", "<td class=\"n\"><code>4</code></td>"},
    {"a verdict",
     {.kind = MS_CELL_VERDICT, .text = "unknown"},
     "unknown",
     "<td class=\"n\">unknown</td>"},
    {"GiB",
     {.kind = MS_CELL_GIB, .count = 1 << 20},
     "0.00",
     "<td class=\"n\"><data value=\"1048576\">1.00 MiB</data></td>"},
    {"GiB with their unit",
     {.kind = MS_CELL_GIB, .count = 1 << 30, .unit = " GiB"},
     "1.00 GiB",
     "<td class=\"n\"><data value=\"1073741824\">1.00 GiB</data></td>"},
    {"bytes",
     {.kind = MS_CELL_BYTES, .count = 512},
     "512 B",
     "<td class=\"n\"><data value=\"512\">512 B</data></td>"},
    {"more",
     {.kind = MS_CELL_CHANGE, .count = 1024},
     "+1.00 KiB",
     "<td class=\"n\"><data value=\"1024\">+1.00 KiB</data></td>"},
    {"less",
     {.kind = MS_CELL_SIGNED, .count = 1024, .is_less = true},
     "-1024",
     "<td class=\"n\"><data value=\"-1024\">-1.00 KiB</data></td>"},
    {"as many",
     {.kind = MS_CELL_CHANGE},
     "0 B",
     "<td class=\"n\"><data value=\"0\">0 B</data></td>"},
    {"a count",
     {.kind = MS_CELL_COUNT, .count = 7},
     "7",
     "<td class=\"n\"><data value=\"7\">7</data></td>"},
    {"a time",
     {.kind = MS_CELL_NUMBER, .number = 1.25, .decimals = 1, .unit = " ms"},
     "1.3 ms",
     "<td class=\"n\"><data value=\"1.250\">1.3 ms</data></td>"},
    {"no time",
     {.kind = MS_CELL_NUMBER, .number = NAN, .decimals = 1},
     "-",
     "<td class=\"n\"><data value=\"0.000\">-</data></td>"},
    {"a half as printf has it",
     {.kind = MS_CELL_EVEN, .number = 0.0625, .decimals = 3, .unit = " ms"},
     "0.062 ms",
     "<td class=\"n\"><data value=\"0.063\">0.062 ms</data></td>"},
    {"a size",
     {.kind = MS_CELL_SIZE, .count = 2048},
     "2.00 KiB",
     "<td class=\"n\"><data value=\"2048\">2.00 KiB</data></td>"},
};

static void check_cell(void **state)
{
    const cell_case *c = *state;
    char text[MS_CELL_BYTES_OF_TEXT], *html = NULL;
    size_t size = 0;
    assert_string_equal(ms_cell_words(&c->cell, text), c->words);
    FILE *out = open_memstream(&html, &size);
    assert_non_null(out);
    ms_cell_html(out, &c->cell, true);
    fclose(out);
    assert_string_equal(html, c->html);
    free(html);
}

/* ---- tables of fixed columns ---- */

typedef struct fixed_case {
    const char *label;
    uint32_t page;
    ms_tree_cut cut;
    uint8_t least;
    uint32_t split;
    const char *text;
} fixed_case;

static const fixed_case fixed_cases[] = {
    {"with room", 80, MS_CUT_MIDDLE, 0, 0,
     "                              first  second\n"
     "  the name of a column         1.00       2  words that are many and go on\n"},
    {"cut in the middle", 50, MS_CUT_MIDDLE, 0, 0,
     "          first  second\n"
     "  t...mn   1.00       2  words that are many and\n"
     "                         go on\n"},
    {"a name above its figures", 50, MS_CUT_NAME, 0, 0,
     "          first  second\n"
     "  the name of a column\n"
     "           1.00       2  words that are many and\n"
     "                         go on\n"},
    {"cut at the beginning", 50, MS_CUT_BEGINNING, 0, 0,
     "          first  second\n"
     "  ...umn   1.00       2  words that are many and\n"
     "                         go on\n"},
    {"a line of its own", 50, MS_CUT_MIDDLE, 12, 0,
     "          first  second\n"
     "  the name of a column\n"
     "           1.00       2  words that are many and\n"
     "                         go on\n"},
    {"in two parts", 50, MS_CUT_MIDDLE, 0, 2,
     "                              first\n"
     "  the name of a column         1.00\n"
     "                 second\n"
     "  the n...olumn       2  words that are many and\n"
     "                         go on\n"},
};

static void check_fixed(void **state)
{
    const fixed_case *c = *state;
    const ms_tree_column fixed[] = {
        {.before = 2, .width = 26, .is_flexible = true, .cut = c->cut, .least = c->least},
        {.head = "first", .before = 1, .width = 6, .is_figure = true},
        {.head = "second", .before = 2, .width = 6, .is_figure = true},
        {.head = "", .before = 2, .width = 25, .is_wrapped = true}};
    const ms_style style = {.columns = c->page};
    ms_tree_column all[COUNT_OF(fixed)];
    memcpy(all, fixed, sizeof all);
    all[0].head = "";
    ms_tree tree = ms_tree_begin(NULL);
    ms_tree_table *table = ms_tree_begin_table(&tree, MS_ON_ALL, "", all, COUNT_OF(all));
    assert_non_null(table);
    table->is_fixed = true;
    table->split = c->split;
    ms_tree_cell(&tree, table, ms_cell_text("the name of a column"));
    ms_tree_cell(&tree, table, ms_cell_number(1, 2));
    ms_tree_cell(&tree, table, ms_cell_count(2));
    ms_tree_cell(&tree, table, ms_cell_text("words that are many and go on"));
    char *text = render(&tree, CONSOLE, &style);
    assert_non_null(text);
    assert_string_equal(text, c->text);
    free(text);
}

/* ---- rows that are left out, and where nodes are shown ---- */

static void check_most(void **state)
{
    (void)state;
    static const ms_tree_column one[] = {{.head = "n", .before = 2, .width = 3, .is_figure = true}};
    const ms_style style = {.columns = 80};
    const char *const texts[] = {"    n\n    0\n    1\n  and 2 more, in JSON\n",
                                 "| n |\n|---:|\n| 0 |\n| 1 |\n| 2 |\n\nAnd 1 more.\n\nread\n"};
    for (int format = CONSOLE; format <= MARKDOWN; format++) {
        ms_tree tree = ms_tree_begin(NULL);
        ms_tree_table *table = ms_tree_begin_table(&tree, MS_ON_ALL, "", one, 1);
        assert_non_null(table);
        table->is_fixed = true;
        table->most_console = 2, table->most_markdown = 3, table->more = ", in JSON";
        for (uint64_t i = 0; i < 4; i++)
            ms_tree_cell(&tree, table, ms_cell_count(i));
        ms_tree_paragraph(&tree, MS_ON_MARKDOWN, "read");
        ms_tree_paragraph(&tree, MS_ON_PAGE, "seen");
        char *text = render(&tree, (target)format, &style);
        assert_non_null(text);
        assert_string_equal(text, texts[format]);
        free(text);
    }
}

/* ---- memory that runs out ---- */

/* Whatever the arena has room for, the document is whole or refused. */
static void check_memory(void **state)
{
    (void)state;
    const ms_style style = {.columns = 80};
    uint32_t refused = 0, written = 0;
    for (size_t limit = 1; limit < 20000; limit += 97)
        for (int format = CONSOLE; format <= PAGE; format++) {
            ms_arena *arena = ms_arena_create(limit);
            if (!arena)
                continue;
            ms_tree tree = tree_of(arena, "a text that takes some room");
            char *text = render(&tree, (target)format, &style);
            refused += text == NULL;
            written += text != NULL;
            if (text)
                assert_non_null(strstr(text, "1.50"));
            free(text);
            ms_arena_free(arena);
        }
    assert_true(refused > 0 && written > 0);
}

int main(void)
{
    struct CMUnitTest
        tests[COUNT_OF(text_cases) + COUNT_OF(cell_cases) + COUNT_OF(fixed_cases) + 2];
    size_t count = ADD_ROWS(tests, check_text, text_cases);
    count += ADD_ROWS(tests + count, check_cell, cell_cases);
    count += ADD_ROWS(tests + count, check_fixed, fixed_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_most);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_memory);
    return _cmocka_run_group_tests("tree", tests, count, NULL, NULL);
}
