/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * YAML: what is read as which values, what is refused and where.
 */
#include "unit/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/yaml.h"

/* ---- accepted ---- */

/* `json` is what was read, written out with every value's own text: plain texts have no quotes. */
typedef struct good_case {
    const char *label, *text, *json;
} good_case;

static const good_case good_cases[] = {
    {"mapping", "a: 1\nb: two\n", "{a:1,b:two}"},
    {"nested", "a:\n  b:\n    - 1\n    - c: d\n", "{a:{b:[1,{c:d}]}}"},
    {"flow", "{a: [1, 'x'], b: {}}", "{a:[1,'x'],b:{}}"},
    {"JSON", "{\"a\": [1, true, null]}", "{a:[1,true,null]}"},
    {"words of YAML 1.1", "[yes, No, on, OFF, True, ~, Null, y]",
     "[true,false,true,false,true,null,null,y]"},
    {"quoted words are texts", "['yes', \"null\", '1']", "['yes',\"null\",'1']"},
    {"numbers", "[0, -1, 1.5, 2e-5, 1E+3, .5, -.5, 1., 1.e3]",
     "[0,-1,1.5,2e-5,1E+3,.5,-.5,1.,1.e3]"},
    {"texts that look like numbers", "[010, +1, 1_000, 0x10, 1:30, ., -., 1.2.3, 01., -, 1e]",
     "[010,+1,1_000,0x10,1:30,.,-.,1.2.3,01.,-,1e]"},
    {"no value", "a:\nb: 1\n", "{a:null,b:1}"},
    {"comments", "# first\na: 1 # last\n", "{a:1}"},
    {"document marks", "---\na: 1\n...\n", "{a:1}"},
    {"carriage returns", "a: 1\r\nb: 2\r\n", "{a:1,b:2}"},
    {"alias of a scalar", "a: &x 8\nb: *x\n", "{a:8,b:8}"},
    {"alias of a container", "a: &x [1, {b: 2}]\nc: [*x, 3]\n", "{a:[1,{b:2}],c:[[1,{b:2}],3]}"},
    {"the last anchor of a name", "- &x 1\n- &x 2\n- *x\n", "[1,2,2]"},
    {"alias of an alias's container", "- &x [1]\n- &y [*x]\n- *y\n", "[[1],[[1]],[[1]]]"},
    {"utf-8", "\xc3\xa9: \xe2\x82\xac\n\xf0\x9f\x98\x80: 1\n",
     "{\xc3\xa9:\xe2\x82\xac,\xf0\x9f\x98\x80:1}"},
    {"quoted keys", "\"a b\": 1\n'c': 2\n", "{a b:1,c:2}"},
    {"empty key", "a: {'': 2}\n", "{a:{:2}}"},
    {"scalar", "7", "7"},
};

static void put(char *out, size_t size, const char *text, size_t bytes)
{
    size_t used = strlen(out);
    assert_true(used + bytes < size);
    memcpy(out + used, text, bytes);
    out[used + bytes] = '\0';
}

static void write_value(ms_json_value value, char *out, size_t size)
{
    size_t bytes;
    bool truth = false;
    ms_json_value v;
    const char *text = ms_json_source_text(value, &bytes);
    ms_json_kind kind = ms_json_kind_of(value);
    bool is_object = kind == MS_JSON_OBJECT;
    if (kind == MS_JSON_BOOL) {
        assert_int_equal(ms_json_get_bool(value, &truth, NULL), MS_OK);
        put(out, size, truth ? "true" : "false", truth ? 4 : 5);
    } else if (kind == MS_JSON_NULL) {
        put(out, size, "null", 4);
    } else if (kind == MS_JSON_NUMBER || kind == MS_JSON_STRING) {
        put(out, size, text, bytes);
    } else {
        put(out, size, is_object ? "{" : "[", 1);
        bool first = true;
        for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v)) {
            put(out, size, ",", !first);
            put(out, size, ms_json_key(v), strlen(ms_json_key(v)));
            put(out, size, ":", is_object);
            write_value(v, out, size);
            first = false;
        }
        put(out, size, is_object ? "}" : "]", 1);
    }
}

static void check_good(void **state)
{
    const good_case *c = *state;
    char out[256] = "";
    ms_json_source source = {"t.yaml", c->text, strlen(c->text)};
    ms_json *document = NULL;
    ms_error err = {0};
    ms_status status = ms_yaml_parse(&source, &document, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, MS_OK);
    write_value(ms_json_root(document), out, sizeof out);
    assert_string_equal(out, c->json);
    ms_json_free(document);
}

/* ---- refused ---- */

typedef struct bad_case {
    const char *label, *text;
    ms_status status;
    unsigned line, column;
    const char *pointer, *message;
} bad_case;

static const bad_case bad_cases[] = {
    {"nothing", "", MS_ERR_SYNTAX, 1, 1, "", "only white space"},
    {"comments alone", "# nothing\n", MS_ERR_SYNTAX, 1, 1, "", "only white space"},
    {"twice the same key", "a: 1\nb: 2\na: 3\n", MS_ERR_SYNTAX, 3, 1, "", "key a appears twice"},
    {"twice in a nested one", "a:\n  b: 1\n  b: 2\n", MS_ERR_SYNTAX, 3, 3, "/a",
     "key b appears twice"},
    {"two documents", "a: 1\n---\nb: 2\n", MS_ERR_SYNTAX, 2, 1, "", "a second document"},
    {"tag of a scalar", "a: !!str 1\n", MS_ERR_SYNTAX, 1, 4, "/a", "a tag; tags are not supported"},
    {"tag of a list", "a: !x [1]\n", MS_ERR_SYNTAX, 1, 4, "/a", "a tag; tags are not supported"},
    {"merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", MS_ERR_SYNTAX, 3, 3, "/c",
     "a merge key; write out its keys"},
    {"key that is a list", "? [1]\n: 2\n", MS_ERR_SYNTAX, 1, 3, "", "a key that is not text"},
    {"unknown alias", "a: *x\n", MS_ERR_SYNTAX, 1, 4, "/a",
     "no complete value before it has the anchor 'x'"},
    {"alias of what it stands in", "a: &x [*x]\n", MS_ERR_SYNTAX, 1, 8, "/a/0",
     "no complete value before it has the anchor 'x'"},
    {"NUL", "a: \"\\0\"\n", MS_ERR_SYNTAX, 1, 4, "/a", "a NUL in a text"},
    {"tab", "a:\n\tb: 1\n", MS_ERR_SYNTAX, 2, 1, "/a",
     "while scanning for the next token: found character that cannot start any token"},
    {"two values", "a: b: c\n", MS_ERR_SYNTAX, 1, 5, "",
     "mapping values are not allowed in this context"},
    {"not UTF-8", "a: \xff\n", MS_ERR_SYNTAX, 1, 4, "", "invalid leading UTF-8 octet"},
    {"columns count characters", "\xc3\xa9\xe2\x82\xac: [*x]\n", MS_ERR_SYNTAX, 1, 6,
     "/\xc3\xa9\xe2\x82\xac/0", "no complete value before it has the anchor 'x'"},
};

static void check_bad(void **state)
{
    const bad_case *c = *state;
    ms_json_source source = {"t.yaml", c->text, strlen(c->text)};
    ms_json *document = NULL;
    ms_error err = {0};
    assert_int_equal(ms_yaml_parse(&source, &document, &err), c->status);
    assert_null(document);
    assert_string_equal(err.text, c->message);
    assert_string_equal(err.pointer, c->pointer);
    assert_string_equal(err.file, "t.yaml");
    assert_int_equal(err.line, c->line);
    assert_int_equal(err.column, c->column);
    assert_true(err.caret_length >= 1);
}

/* ---- limits ---- */

static ms_status parse_text(const char *text, size_t length, ms_error *err)
{
    ms_json_source source = {"t.yaml", text, length};
    ms_json *document = NULL;
    ms_status status = ms_yaml_parse(&source, &document, err);
    ms_json_free(document);
    return status;
}

static void nesting_ends_at_64(void **state)
{
    (void)state;
    char text[2 * (MS_JSON_MAX_NESTING + 1)];
    ms_error err = {0};
    memset(text, '[', MS_JSON_MAX_NESTING);
    memset(text + MS_JSON_MAX_NESTING, ']', MS_JSON_MAX_NESTING);
    assert_int_equal(parse_text(text, 2 * MS_JSON_MAX_NESTING, &err), MS_OK);
    memset(text, '[', MS_JSON_MAX_NESTING + 1);
    memset(text + MS_JSON_MAX_NESTING + 1, ']', MS_JSON_MAX_NESTING + 1);
    assert_int_equal(parse_text(text, sizeof text, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "nested deeper than 64");
}

/* Forty deep, and again inside itself by an alias. */
static void aliases_nest_too(void **state)
{
    (void)state;
    enum { DEEP = 40 };
    char text[4 * DEEP + 16];
    ms_error err = {0};
    char *p = text + sprintf(text, "- &x ");
    memset(p, '[', DEEP);
    memset(p + DEEP, ']', DEEP);
    p += 2 * DEEP;
    p += sprintf(p, "\n- ");
    memset(p, '[', DEEP);
    p += sprintf(p + DEEP, "*x") + DEEP;
    memset(p, ']', DEEP);
    assert_int_equal(parse_text(text, (size_t)(p + DEEP - text), &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "nested deeper than 64");
}

/* Each line repeats the one before nine times: 9^9 values. */
static void aliases_do_not_explode(void **state)
{
    (void)state;
    char text[1024], *p = text;
    ms_error err = {0};
    p += sprintf(p, "- &a0 [x]\n");
    for (int i = 1; i < 10; i++) {
        p += sprintf(p, "- &a%d [", i);
        for (int k = 0; k < 9; k++)
            p += sprintf(p, "%s*a%d", k ? ", " : "", i - 1);
        p += sprintf(p, "]\n");
    }
    assert_int_equal(parse_text(text, (size_t)(p - text), &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "more than 16384 values");
}

static void large_texts_are_refused(void **state)
{
    (void)state;
    size_t length = MS_YAML_MAX_BYTES + 1;
    char *text = malloc(length);
    ms_error err = {0};
    assert_non_null(text);
    memset(text, ' ', length);
    assert_int_equal(parse_text(text, length, &err), MS_ERR_LIMIT);
    assert_string_equal(err.text, "larger than 1024 KiB");
    assert_string_equal(err.file, "t.yaml");
    free(text);
}

/* ---- which of the two ---- */

typedef struct choice_case {
    const char *name, *text;
    bool is_yaml;
} choice_case;

static const choice_case choice_cases[] = {
    {"a.json", "{\"a\": 1}", false}, {"-", " \n{\"a\": 1}", false}, {"a.yaml", "{\"a\": 1}", true},
    {"a.yml", "{\"a\": 1}", true},   {"-", "a: 1", true},           {"a", "# {\na: 1", true},
};

static void json_is_told_from_yaml(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choice_cases / sizeof choice_cases[0]; i++) {
        const choice_case *c = &choice_cases[i];
        char text[64];
        /* JSON takes no comment after the value, YAML does. */
        snprintf(text, sizeof text, "%s # end", c->text);
        ms_json_source source = {c->name, text, strlen(text)};
        ms_json *document = NULL;
        ms_status status = ms_json_or_yaml_parse(&source, &document, NULL);
        assert_int_equal(status, c->is_yaml ? MS_OK : MS_ERR_SYNTAX);
        ms_json_free(document);
    }
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(nesting_ends_at_64),     cmocka_unit_test(aliases_nest_too),
        cmocka_unit_test(aliases_do_not_explode), cmocka_unit_test(large_texts_are_refused),
        cmocka_unit_test(json_is_told_from_yaml),
    };
    int failed = run_rows("accepted", check_good, good_cases);
    failed += run_rows("refused", check_bad, bad_cases);
    failed += cmocka_run_group_tests_name("limits", others, NULL, NULL);
    return failed;
}
