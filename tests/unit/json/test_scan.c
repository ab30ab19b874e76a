/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The scanner: what it accepts, what it refuses and where; the getters; the writer.
 */
#include "unit/support.h"

#include <string.h>

#include "base/json/number.h"
#include "base/json/read.h"
#include "base/json/value.h"
#include "base/json/write.h"

/* ---- accepted ---- */

typedef struct good_case {
    const char *label, *text;
    uint32_t values;
} good_case;

static const good_case good_cases[] = {
    {"null", "null", 1},
    {"blanks around", " \t\r\n true \n", 1},
    {"empty object", "{}", 1},
    {"empty array", "[ ]", 1},
    {"nested", "{\"a\": [1, {\"b\": null}], \"c\": \"d\"}", 6},
    {"numbers", "[0, -0, 1.5, 1e3, 1E+3, -2.5e-3, 18446744073709551616]", 8},
    {"largest double", "1.7976931348623157e308", 1},
    {"largest double, spelt out of scale", "0.0017976931348623157e311", 1},
    {"smaller than any double", "1e-400", 1},
    {"zero with a huge exponent", "0e999999999", 1},
    {"escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"", 1},
    {"surrogate pair", "\"\\ud83d\\ude00\"", 1},
    {"utf-8", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", 1},
    {"delete is no control character of JSON", "\"\x7f\"", 1},
    {"same key in two objects", "[{\"a\": 1}, {\"a\": 2}]", 5},
    {"same key in nested objects", "{\"a\": {\"a\": 1}}", 3},
};

static void check_good(void **state)
{
    const good_case *c = *state;
    ms_json_source source = {"t.json", c->text, strlen(c->text)};
    ms_json_spans spans = {0};
    ms_error err = {0};
    ms_status status = ms_json_scan(&source, &spans, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, MS_OK);
    assert_int_equal(spans.count, c->values);
    assert_int_equal(spans.items[0].after, c->values);
    ms_vec_free(&spans);
    ms_json *document = NULL;
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    ms_json_free(document);
}

/* ---- refused ---- */

typedef struct bad_case {
    const char *label, *text;
    ms_status status;
    uint32_t line, column;
    const char *pointer, *message;
} bad_case;

static const bad_case bad_cases[] = {
    {"nothing", "", MS_ERR_SYNTAX, 1, 1, "", "only white space"},
    {"blanks", " \n ", MS_ERR_SYNTAX, 2, 2, "", "only white space"},
    {"byte-order mark", "\xef\xbb\xbf{}", MS_ERR_SYNTAX, 1, 1, "",
     "a byte-order mark before the text"},
    {"duplicate key", "{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", MS_ERR_SYNTAX, 3, 2, "/a",
     "key \"a\" appears twice; the first is on line 1"},
    {"duplicate key, one escaped", "{\"a\": 1, \"\\u0061\": 2}", MS_ERR_SYNTAX, 1, 10, "/a",
     "key \"\\u0061\" appears twice; the first is on line 1"},
    {"duplicate key, deep", "{\"m\": {\"x\": [0], \"x\": 1}}", MS_ERR_SYNTAX, 1, 18, "/m/x",
     "key \"x\" appears twice; the first is on line 1"},
    {"text behind", "{} x", MS_ERR_SYNTAX, 1, 4, "", "expected nothing after the value, found 'x'"},
    {"second document", "{}\n{}", MS_ERR_SYNTAX, 2, 1, "",
     "expected nothing after the value, found '{'"},
    {"leading zero", "{\"a\": 012}", MS_ERR_SYNTAX, 1, 7, "/a", "a number with a leading zero"},
    {"minus leading zero", "-01", MS_ERR_SYNTAX, 1, 1, "", "a number with a leading zero"},
    {"no digit behind the point", "[1.]", MS_ERR_SYNTAX, 1, 4, "/0",
     "expected a digit after the point, found ']'"},
    {"no digit before the point", "[.5]", MS_ERR_SYNTAX, 1, 2, "/0", "expected a value, found '.'"},
    {"no exponent", "[1, 2e]", MS_ERR_SYNTAX, 1, 7, "/1",
     "expected a digit in the exponent, found ']'"},
    {"plus", "+1", MS_ERR_SYNTAX, 1, 1, "", "expected a value, found '+'"},
    {"minus alone", "-", MS_ERR_SYNTAX, 1, 2, "", "expected a digit, found the end of the text"},
    {"hexadecimal", "0x10", MS_ERR_SYNTAX, 1, 2, "", "expected nothing after the value, found 'x'"},
    {"number past a double", "1e309", MS_ERR_SYNTAX, 1, 1, "",
     "a number past the range of a double"},
    {"number that rounds to infinity", "1.7976931348623159e308", MS_ERR_SYNTAX, 1, 1, "",
     "a number past the range of a double"},
    {"negative number past a double", "-9e9999", MS_ERR_SYNTAX, 1, 1, "",
     "a number past the range of a double"},
    {"long number", "1000000000000000000000000000000000000000000000000000000000000", MS_ERR_LIMIT,
     1, 1, "", "a number of more than 60 characters"},
    {"NaN", "{\"a\": NaN}", MS_ERR_SYNTAX, 1, 7, "/a",
     "'NaN' is not a JSON value; the words are true, false and null"},
    {"Python's True", "[True]", MS_ERR_SYNTAX, 1, 2, "/0",
     "'True' is not a JSON value; the words are true, false and null"},
    {"single quotes", "{'a': 1}", MS_ERR_SYNTAX, 1, 2, "",
     "expected a key in double quotes, found '''"},
    {"comment", "{\"a\": 1} // one", MS_ERR_SYNTAX, 1, 10, "",
     "expected nothing after the value, found '/'"},
    {"comma before the brace", "{\"a\": 1,\n}", MS_ERR_SYNTAX, 2, 1, "", "a comma before '}'"},
    {"comma before the bracket", "[1, ]", MS_ERR_SYNTAX, 1, 5, "", "a comma before ']'"},
    {"two commas", "[1,,2]", MS_ERR_SYNTAX, 1, 4, "/1", "expected a value, found ','"},
    {"no comma", "{\"a\": 1\n \"b\": 2}", MS_ERR_SYNTAX, 2, 2, "",
     "expected ',' or '}', found '\"'"},
    {"no colon", "{\"a\" 1}", MS_ERR_SYNTAX, 1, 6, "/a", "expected ':' after the key, found '1'"},
    {"no value", "{\"a\": }", MS_ERR_SYNTAX, 1, 7, "/a", "expected a value, found '}'"},
    {"open object", "{\"a\": 1", MS_ERR_SYNTAX, 1, 8, "",
     "expected ',' or '}', found the end of the text"},
    {"open string", "\"abc", MS_ERR_SYNTAX, 1, 1, "", "the text ends inside a string"},
    {"open escape", "\"abc\\", MS_ERR_SYNTAX, 1, 5, "", "the text ends inside a string"},
    {"line break in a string", "\"a\nb\"", MS_ERR_SYNTAX, 1, 3, "",
     "the line ends inside a string"},
    {"tab in a string", "\"a\tb\"", MS_ERR_SYNTAX, 1, 3, "", "a control character in a string"},
    {"unknown escape", "\"\\x41\"", MS_ERR_SYNTAX, 1, 2, "", "unknown escape in a string"},
    {"escaped NUL", "\"a\\u0000\"", MS_ERR_SYNTAX, 1, 3, "", "a NUL in a string"},
    {"short \\u", "\"\\u12\"", MS_ERR_SYNTAX, 1, 2, "", "\\u needs four hexadecimal digits"},
    {"high surrogate alone", "\"\\ud800\"", MS_ERR_SYNTAX, 1, 2, "", "half of a surrogate pair"},
    {"low surrogate alone", "\"\\udc00\"", MS_ERR_SYNTAX, 1, 2, "", "half of a surrogate pair"},
    {"surrogates the wrong way round", "\"\\udc00\\ud800\"", MS_ERR_SYNTAX, 1, 2, "",
     "half of a surrogate pair"},
    {"surrogate as UTF-8", "\"\xed\xa0\x80\"", MS_ERR_SYNTAX, 1, 2, "", "a byte that is not UTF-8"},
    {"overlong slash", "\"\xc0\xaf\"", MS_ERR_SYNTAX, 1, 2, "", "a byte that is not UTF-8"},
    {"past U+10FFFF", "\"\xf4\x90\x80\x80\"", MS_ERR_SYNTAX, 1, 2, "", "a byte that is not UTF-8"},
    {"cut character", "\"\xe2\x82", MS_ERR_SYNTAX, 1, 2, "", "a byte that is not UTF-8"},
    {"byte outside", "\x80", MS_ERR_SYNTAX, 1, 1, "", "expected a value, found byte 0x80"},
    {"column counts characters", "[\"\xc3\xa9\xe2\x82\xac\", x]", MS_ERR_SYNTAX, 1, 8, "/1",
     "'x' is not a JSON value; the words are true, false and null"},
    {"pointer escapes", "{\"a/b\": {\"~\": x}}", MS_ERR_SYNTAX, 1, 15, "/a~1b/~0",
     "'x' is not a JSON value; the words are true, false and null"},
};

static void check_bad(void **state)
{
    const bad_case *c = *state;
    ms_json_source source = {"t.json", c->text, strlen(c->text)};
    ms_json *document = NULL;
    ms_error err = {0};
    assert_int_equal(ms_json_parse(&source, &document, &err), c->status);
    assert_null(document);
    assert_string_equal(err.text, c->message);
    assert_string_equal(err.pointer, c->pointer);
    assert_string_equal(err.file, "t.json");
    assert_int_equal(err.line, c->line);
    assert_int_equal(err.column, c->column);
    assert_true(err.caret_length >= 1);
}

/* ---- limits ---- */

static ms_status scan_text(const char *text, size_t length, ms_error *err)
{
    ms_json_source source = {"t.json", text, length};
    ms_json_spans spans = {0};
    ms_status status = ms_json_scan(&source, &spans, err);
    ms_vec_free(&spans);
    return status;
}

static void nul_bytes_are_refused(void **state)
{
    (void)state;
    ms_error err = {0}, in_string = {0};
    assert_int_equal(scan_text("{}\0", 3, &err), MS_ERR_SYNTAX);
    assert_string_equal(err.text, "expected nothing after the value, found byte 0x00");
    assert_int_equal(scan_text("\"a\0b\"", 5, &in_string), MS_ERR_SYNTAX);
    assert_string_equal(in_string.text, "a NUL in a string");
}

static void nesting_ends_at_64(void **state)
{
    (void)state;
    char text[130];
    ms_error err = {0};
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_int_equal(scan_text(text + 1, 128, &err), MS_OK);
    assert_int_equal(scan_text(text, 130, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "nested deeper than 64");
    assert_int_equal(err.column, 65);
}

static void size_ends_at_16_mib(void **state)
{
    (void)state;
    size_t most = 16u << 20;
    char *text = malloc(most + 1);
    ms_error err = {0};
    assert_non_null(text);
    memset(text, ' ', most + 1);
    text[0] = '1';
    assert_int_equal(scan_text(text, most, &err), MS_OK);
    assert_int_equal(scan_text(text, most + 1, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "larger than 16 MiB");
    assert_string_equal(err.file, "t.json");
    free(text);
}

static ms_status scan_within(const char *text, size_t most_bytes, ms_error *err)
{
    ms_json_spans spans = {0};
    ms_json_source source = {"t.json", text, strlen(text)};
    ms_status status = ms_json_scan_within(&source, most_bytes, &spans, err);
    ms_vec_free(&spans);
    return status;
}

static void there_may_be_another_limit(void **state)
{
    (void)state;
    ms_error err = {0};
    assert_int_equal(scan_within("[1,2,3]", 64, &err), MS_OK);
    assert_int_equal(scan_within("[1,2,3,4]", 64, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "more than 4 values");
    err = (ms_error){0};
    assert_int_equal(scan_within("[1,2,3]", 6, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "larger than 0 MiB");
}

static void values_end_at_2_to_20(void **state)
{
    (void)state;
    size_t items = 1u << 20, length = 2 * items + 1;
    char *text = malloc(length);
    ms_error err = {0};
    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = i % 2 ? '1' : ',';
    text[0] = '[';
    text[length - 1] = ']';
    assert_int_equal(scan_text(text, length, &err), MS_ERR_LIMIT);
    text[2] = ']';
    assert_int_equal(scan_text(text, 3, NULL), MS_OK);
    free(text);
}

/* ---- places ---- */

static void a_long_line_is_shortened_around_the_place(void **state)
{
    (void)state;
    char text[600];
    ms_error err = {0};
    memset(text, ' ', sizeof text);
    memcpy(text, "[\"", 2);
    memset(text + 2, 'x', 300);
    memcpy(text + 302, "\", 01, 1", 8);
    assert_int_equal(scan_text(text, sizeof text, &err), MS_ERR_SYNTAX);
    assert_int_equal(err.column, 306);
    assert_true(strncmp(err.excerpt, "...xxx", 6) == 0);
    assert_int_equal(err.caret, 43);
    assert_true(strncmp(err.excerpt + err.caret, "01,", 3) == 0);
    assert_int_equal(err.caret_length, 2);
    assert_string_equal(err.excerpt + strlen(err.excerpt) - 3, "...");
}

static void wide_characters_leave_room_for_the_place(void **state)
{
    (void)state;
    char text[400] = "[\"";
    ms_error err = {0};
    for (int i = 0; i < 80; i++)
        strcat(text, "\xf0\x9f\x98\x80");
    strcat(text, "\", 01]");
    assert_int_equal(scan_text(text, strlen(text), &err), MS_ERR_SYNTAX);
    assert_int_equal(err.column, 86);
    size_t bytes = 0;
    for (uint32_t i = 0; i < err.caret; i++)
        do
            bytes++;
        while (((unsigned char)err.excerpt[bytes] & 0xc0) == 0x80);
    assert_true(strncmp(err.excerpt + bytes, "01]", 3) == 0);
}

static void control_bytes_do_not_reach_the_terminal(void **state)
{
    (void)state;
    const char *text = "\t{\"a\": \"\x1b[31m\"}";
    ms_error err = {0};
    assert_int_equal(scan_text(text, strlen(text), &err), MS_ERR_SYNTAX);
    assert_string_equal(err.excerpt, "{\"a\": \"?[31m\"}");
    assert_int_equal(err.caret, 7);
    assert_int_equal(err.column, 9);
}

/* ---- getters ---- */

typedef struct count_case {
    const char *label, *text;
    ms_status status;
    uint64_t count;
    const char *message;
} count_case;

static const count_case count_cases[] = {
    {"one", "1", MS_OK, 1, ""},
    {"past 2^53", "9007199254740993", MS_OK, 9007199254740993u, ""},
    {"2^64 - 1", "18446744073709551615", MS_OK, UINT64_MAX, ""},
    {"2^64", "18446744073709551616", MS_ERR_CONFIG, 0,
     "found 18446744073709551616, expected a whole number from 1 to 18446744073709551615"},
    {"zero", "0", MS_ERR_CONFIG, 0,
     "found 0, expected a whole number from 1 to 18446744073709551615"},
    {"negative", "-1", MS_ERR_CONFIG, 0,
     "found -1, expected a whole number from 1 to 18446744073709551615"},
    {"with a point", "1.0", MS_ERR_CONFIG, 0,
     "found 1.0, expected a whole number from 1 to 18446744073709551615"},
    {"with an exponent", "1e3", MS_ERR_CONFIG, 0,
     "found 1e3, expected a whole number from 1 to 18446744073709551615"},
    {"string", "\"4\"", MS_ERR_CONFIG, 0,
     "found \"4\", expected a whole number from 1 to 18446744073709551615"},
    {"list", "[4]", MS_ERR_CONFIG, 0,
     "found a list, expected a whole number from 1 to 18446744073709551615"},
    {"null", "null", MS_ERR_CONFIG, 0,
     "found null, expected a whole number from 1 to 18446744073709551615"},
};

static void check_count(void **state)
{
    const count_case *c = *state;
    char text[80];
    snprintf(text, sizeof text, "{\n  \"n\": %s\n}", c->text);
    ms_json_source source = {"t.json", text, strlen(text)};
    ms_json *document = NULL;
    ms_error err = {0};
    ms_json_value value;
    uint64_t count = 0;
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    assert_true(ms_json_find(ms_json_root(document), "n", &value));
    assert_int_equal(ms_json_get_count(value, 1, UINT64_MAX, &count, &err), c->status);
    assert_int_equal(count, c->count);
    assert_string_equal(err.text, c->message);
    if (c->status != MS_OK) {
        assert_int_equal(err.line, 2);
        assert_int_equal(err.column, 8);
        assert_string_equal(err.pointer, "/n");
        assert_int_equal(err.caret_length, strlen(c->text));
    }
    ms_json_free(document);
}

static void names_keep_their_case(void **state)
{
    (void)state;
    ms_json_source source = {"t.json", "{\"A\": 1, \"a\": 2}", 16};
    ms_json *document = NULL;
    ms_json_value value;
    uint64_t count = 0;
    assert_int_equal(ms_json_parse(&source, &document, NULL), MS_OK);
    assert_true(ms_json_find(ms_json_root(document), "a", &value));
    assert_int_equal(ms_json_get_count(value, 0, 9, &count, NULL), MS_OK);
    assert_int_equal(count, 2);
    assert_false(ms_json_find(ms_json_root(document), "b", &value));
    ms_json_free(document);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    ms_json_source source;
    char *text;
    ms_error err = {0};
    assert_int_equal(ms_json_read(NULL, "no/such.json", &source, &text, &err), MS_ERR_IO);
    assert_string_equal(err.file, "no/such.json");
    assert_null(text);
}

static void an_endless_file_is_refused(void **state)
{
    (void)state;
    ms_json_source source;
    char *text;
    ms_error err = {0};
    assert_int_equal(ms_json_read(NULL, "/dev/zero", &source, &text, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "larger than 16 MiB");
}

/* ---- writer ---- */

static void write_sample(ms_json_writer *w)
{
    ms_json_object(w, NULL);
    ms_json_uint(w, "most", UINT64_MAX);
    ms_json_int(w, "least", INT64_MIN);
    ms_json_string(w, "text", "a\"b\\c\n\x01\x7f\xc3\xa9\xff");
    ms_json_string(w, "nothing", NULL);
    ms_json_double(w, "third", 1.0 / 3, 3);
    ms_json_double(w, "none", 1.0 / 0.0, 3);
    ms_json_array_inline(w, "shape");
    ms_json_uint(w, NULL, 1);
    ms_json_uint(w, NULL, 2);
    ms_json_close(w);
    ms_json_array(w, "empty");
    ms_json_close(w);
    ms_json_array(w, "rows");
    ms_json_object(w, NULL);
    ms_json_bool(w, "yes", true);
    ms_json_close(w);
    ms_json_close(w);
    ms_json_close(w);
}

static void the_writer_writes(void **state)
{
    (void)state;
    static const char expected[] = "{\n"
                                   "  \"most\": 18446744073709551615,\n"
                                   "  \"least\": -9223372036854775808,\n"
                                   "  \"text\": \"a\\\"b\\\\c\\n\\u0001\\u007f\xc3\xa9\\ufffd\",\n"
                                   "  \"nothing\": null,\n"
                                   "  \"third\": 0.333,\n"
                                   "  \"none\": null,\n"
                                   "  \"shape\": [1, 2],\n"
                                   "  \"empty\": [],\n"
                                   "  \"rows\": [\n"
                                   "    {\n"
                                   "      \"yes\": true\n"
                                   "    }\n"
                                   "  ]\n"
                                   "}\n";
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    ms_json_writer w = {.out = out};
    write_sample(&w);
    ms_json_writer_end(&w);
    fclose(out);
    assert_string_equal(text, expected);
    assert_int_equal(scan_text(text, length, NULL), MS_OK);
    free(text);
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(nesting_ends_at_64),
        cmocka_unit_test(size_ends_at_16_mib),
        cmocka_unit_test(there_may_be_another_limit),
        cmocka_unit_test(values_end_at_2_to_20),
        cmocka_unit_test(a_long_line_is_shortened_around_the_place),
        cmocka_unit_test(wide_characters_leave_room_for_the_place),
        cmocka_unit_test(control_bytes_do_not_reach_the_terminal),
        cmocka_unit_test(names_keep_their_case),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(an_endless_file_is_refused),
        cmocka_unit_test(the_writer_writes),
    };
    int failed = run_rows("accepted", check_good, good_cases);
    failed += run_rows("refused", check_bad, bad_cases);
    failed += run_rows("counts", check_count, count_cases);
    failed += cmocka_run_group_tests_name("reading and writing", others, NULL, NULL);
    return failed;
}
