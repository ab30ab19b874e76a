/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>
#include <string.h>

#include "base/text/csv.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/json/write.h"
#include "report/kit/escape.h"
#include "unit/support.h"

/* What each writer makes of a text: as it is printed, in XML, in Markdown, in JSON; NULL: the text
 * itself. */
static const struct row {
    const char *text, *printed, *xml, *markdown, *json;
} rows[] = {
    {"", NULL, NULL, NULL, NULL},
    {"llama-3.1-8b", NULL, NULL, NULL, NULL},
    {"a\\b", NULL, NULL, "a\\\\b", "a\\\\b"},
    {"caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80", NULL, NULL, NULL, NULL},
    {"\n::error::x", "\\n:\\x3aerror::x", "\\n:\\x3aerror::x", "\\\\n:\\\\x3aerror::x",
     "\\n:\\u003aerror::x"},
    {"::error::x", ":\\x3aerror::x", ":\\x3aerror::x", "\\:\\\\x3aerror::x", ":\\u003aerror::x"},
    {"a ::b", "a :\\x3ab", "a :\\x3ab", "a :\\\\x3ab", "a :\\u003ab"},
    {"\xe3\x80\x80::b",
     "\xe3\x80\x80:\\x3a"
     "b",
     "\xe3\x80\x80:\\x3a"
     "b",
     "\xe3\x80\x80:\\\\x3a"
     "b",
     "\xe3\x80\x80:\\u003ab"},
    {"aten::mm", NULL, NULL, NULL, NULL},
    {"a##[error]b", "a#\\x23[error]b", "a#\\x23[error]b", "a#\\\\x23\\[error\\]b",
     "a#\\u0023[error]b"},
    {"##vso[x]", "#\\x23vso[x]", "#\\x23vso[x]", "\\#\\\\x23vso\\[x\\]", "#\\u0023vso[x]"},
    {"###[x", "##\\x23[x", "##\\x23[x", "\\##\\\\x23\\[x", "##\\u0023[x"},
    {"## x [y", NULL, NULL, "\\## x \\[y", NULL},
    {"\x1b[31m\t\r\x01\x7f", "\\x1b[31m\\t\\r\\x01\\x7f", "\\x1b[31m\\t\\r\\x01\\x7f",
     "\\\\x1b\\[31m\\\\t\\\\r\\\\x01\\\\x7f", "\\u001b[31m\\t\\r\\u0001\\u007f"},
    {"\xc2\x85\xc2\x9b", "\\u0085\\u009b", "\\u0085\\u009b", "\\\\u0085\\\\u009b",
     "\\u0085\\u009b"},
    {"\xe2\x80\xa8\xe2\x80\xae\xef\xbf\xbe", "\\u2028\\u202e\\ufffe", "\\u2028\\u202e\\ufffe",
     "\\\\u2028\\\\u202e\\\\ufffe", "\\u2028\\u202e\\ufffe"},
    {"\xf0\x9f\xbf\xbe", "\\U0001fffe", "\\U0001fffe", "\\\\U0001fffe", "\\ud83f\\udffe"},
    {"\xff\xc3", "\\xff\\xc3", "\\xff\\xc3", "\\\\xff\\\\xc3", "\\ufffd\\ufffd"},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", "\\\\xed\\\\xa0\\\\x80",
     "\\ufffd\\ufffd\\ufffd"},
    {"<a b=\"c\">&'", NULL, "&lt;a b=&quot;c&quot;&gt;&amp;&#39;", "\\<a b=\"c\">\\&'",
     "<a b=\\\"c\\\">&'"},
    {"@user #12 #x", NULL, NULL, "@<!-- -->user #<!-- -->12 #x", NULL},
    {"[l](http://e.x) www.e.x", NULL, NULL, "\\[l\\](http:\\//e.x) www\\.e.x", NULL},
    {"a|b*c_d`e~f$", NULL, NULL, "a\\|b\\*c\\_d\\`e\\~f\\$", NULL},
    {"- x > y", NULL, "- x &gt; y", "\\- x > y", NULL},
    {"> x", NULL, "&gt; x", "\\> x", NULL},
    {"12. x", NULL, NULL, "12\\. x", NULL},
    {"1.5 GiB", NULL, NULL, NULL, NULL},
    {"    x", NULL, NULL, "&#32;   x", NULL},
};

/* What a writer writes; on the heap. */
static char *written(void (*write)(FILE *out, const char *text), const char *text)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    assert_non_null(out);
    write(out, text);
    assert_int_equal(fclose(out), 0);
    return got;
}

static void write_json(FILE *out, const char *text)
{
    ms_json_writer w = {.out = out};
    ms_json_string(&w, NULL, text);
}

static void expect(void (*write)(FILE *out, const char *text), const char *text, const char *wanted)
{
    char *got = written(write, text);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_writers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        char quoted[200], text[200];
        expect(ms_put_printable, r->text, r->printed ? r->printed : r->text);
        expect(ms_xml_text, r->text, r->xml ? r->xml : r->text);
        expect(ms_markdown_text, r->text, r->markdown ? r->markdown : r->text);
        snprintf(quoted, sizeof quoted, "\"%s\"", r->json ? r->json : r->text);
        expect(write_json, r->text, quoted);
        size_t length = ms_printable(r->text, text, sizeof text);
        assert_int_equal(length, strlen(text));
        assert_string_equal(text, r->printed ? r->printed : r->text);
        expect(ms_put_printable, text, text); /* again changes nothing */
    }
}

/* Every code point, alone and between letters: what comes out is UTF-8 without anything hidden. */
static void test_all_code_points(void **state)
{
    (void)state;
    for (uint32_t code = 1; code < 0x110000; code++) {
        char text[8] = "a", shown[64];
        size_t length = ms_utf8_put(text + 1, code);
        text[1 + length] = 'b';
        ms_printable(text, shown, sizeof shown);
        bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        bool is_half = code >= 0xd800 && code < 0xe000;
        if (is_control || is_half || (code & 0xfffe) == 0xfffe)
            assert_string_not_equal(shown, text);
        for (const char *at = shown; *at; at += length) {
            length = ms_utf8_length(at, strlen(at));
            assert_true(length > 0 && (unsigned char)*at >= ' ' && *at != 0x7f);
        }
    }
}

static void test_cut_and_null(void **state)
{
    (void)state;
    char out[5];
    assert_int_equal(ms_printable(NULL, out, sizeof out), 0);
    assert_string_equal(out, "");
    assert_int_equal(ms_printable("ab\ncd", NULL, 0), 6);
    assert_int_equal(ms_printable("ab\xc3\xa9z", out, sizeof out), 5);
    assert_string_equal(out, "ab\xc3\xa9");
    assert_int_equal(ms_printable("abc\xc3\xa9z", out, sizeof out), 6);
    assert_string_equal(out, "abc"); /* no half character, and nothing behind it */
}

static void test_messages(void **state)
{
    (void)state;
    ms_error err = {.status = MS_OK};
    char text[2 * sizeof err.text];
    ms_error_set(&err, MS_ERR_CONFIG, "found '%s'", "\n::error::x\x1b");
    assert_string_equal(err.text, "found '\\n:\\x3aerror::x\\x1b'");
    memset(text, '\n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err = (ms_error){.status = MS_OK};
    ms_error_set(&err, MS_ERR_CONFIG, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 2); /* whole pairs */
}

/* ---- cells ---- */

static const char *const cells[][2] = {
    {"", ""},
    {"llama", "llama"},
    {"a,b", "\"a,b\""},
    {"=1+1", "'=1+1"},
    {"=A1,\"b\"", "\"'=A1,\"\"b\"\"\""},
    {"@x", "'@x"},
    {"+x", "'+x"},
    {"-x", "'-x"},
    {"-", "'-"},
    {"-5", "-5"},
    {"+5.25", "+5.25"},
    {"-.5", "-.5"},
    {"-5-5", "'-5-5"},
    {"-5.", "-5."},
    {"-.", "'-."},
    {"\t=1", "\\t=1"},
    {"\r=1", "\\r=1"},
    {"x=1", "x=1"},
};

static void test_cells(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        ms_csv_put(out, cells[i][0]);
        fclose(out);
        assert_string_equal(text, cells[i][1]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),           cmocka_unit_test(test_writers),
        cmocka_unit_test(test_all_code_points), cmocka_unit_test(test_cut_and_null),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
