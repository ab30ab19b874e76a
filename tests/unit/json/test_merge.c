/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joined documents: which value is used, and that it keeps its place.
 */
#include "unit/support.h"

#include <string.h>

#include "base/json/merge.h"
#include "base/json/yaml.h"

enum { MOST = 3 };

typedef struct row {
    const char *name, *texts[MOST]; /* later ones win */
    bool is_deep, nulls_count;      /* of the last one */
    const char *member;             /* of the last one */
    const char *pointer;
    const char *found; /* "file:line:column value"; NULL: nothing */
    int hidden;
} row;

static const row rows[] = {
    {"one has it", {"a: 1\nb: 2", "c: 3"}, .pointer = "/b", .found = "0:2:4 2"},
    {"the other has it", {"a: 1\nb: 2", "c: 3"}, .pointer = "/c", .found = "1:1:4 3"},
    {"later ones win",
     {"a: 1", "\n\na: 2", "a: 3"},
     .pointer = "/a",
     .found = "2:1:4 3",
     .hidden = 2},
    {"null says nothing", {"a: 1", "a: null"}, .pointer = "/a", .found = "0:1:4 1"},
    {"null in a lower one", {"a: null", "a: 1"}, .pointer = "/a", .found = "1:1:4 1"},
    {"null counts",
     {"a: 1", "a: ~"},
     .nulls_count = true,
     .pointer = "/a",
     .found = "1:1:4 ~",
     .hidden = 1},
    {"objects are replaced", {"o: {a: 1}", "o: {b: 2}"}, .pointer = "/o/a", .hidden = 1},
    {"objects join",
     {"o: {a: 1, b: 1}", "o: {b: 2}"},
     .is_deep = true,
     .pointer = "/o/b",
     .found = "1:1:8 2",
     .hidden = 1},
    {"what joins keeps the rest",
     {"o: {a: 1, b: 1}", "o: {b: 2}"},
     .is_deep = true,
     .pointer = "/o/a",
     .found = "0:1:8 1",
     .hidden = 1},
    {"deeper",
     {"o: {p: {a: 1}}\nq: 1", "o: {p: {b: [1, {c: 2}]}}"},
     .is_deep = true,
     .pointer = "/o/p/b",
     .found = "1:1:12 [1, {c: 2}]"},
    {"a scalar for an object",
     {"o: {a: 1}", "o: 2"},
     .is_deep = true,
     .pointer = "/o",
     .found = "1:1:4 2",
     .hidden = 1},
    {"as a member", {"a: 1", "b: 2"}, .member = "d", .pointer = "/d/b", .found = "1:1:4 2"},
    {"a member that is there",
     {"d: x", "b: 2"},
     .member = "d",
     .pointer = "/d/b",
     .found = "1:1:4 2",
     .hidden = 1},
};

static ms_status count_hidden(void *context, ms_json_value winner, ms_json_value loser,
                              ms_error *err)
{
    (void)winner, (void)loser, (void)err;
    ++*(int *)context;
    return MS_OK;
}

static void describe(ms_json_value value, char *text, size_t size)
{
    size_t bytes;
    ms_error at = {0};
    const char *source = ms_json_source_text(value, &bytes);
    ms_json_error_set(&at, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "here");
    assert_string_equal(at.file, ms_json_file_name(value));
    snprintf(text, size, "%.99s:%u:%u %.*s", at.file, at.line, at.column, (int)bytes, source);
}

static void check_row(const row *r)
{
    static const char *const names[MOST] = {"0", "1", "2"};
    ms_json *documents[MOST] = {NULL}, *merged = NULL;
    ms_json_layer layers[MOST] = {0};
    ms_error err = {0};
    ms_json_value found;
    size_t count = 0;
    int hidden = 0;
    for (; count < MOST && r->texts[count]; count++) {
        ms_json_source source = {names[count], r->texts[count], strlen(r->texts[count])};
        assert_int_equal(ms_yaml_parse(&source, &documents[count], &err), MS_OK);
        layers[count].object = ms_json_root(documents[count]);
    }
    layers[count - 1].is_deep = r->is_deep;
    layers[count - 1].nulls_count = r->nulls_count;
    layers[count - 1].member = r->member;
    const ms_json_hiding hiding = {count_hidden, &hidden};
    assert_int_equal(ms_json_merge(layers, count, &hiding, &merged, &err), MS_OK);
    assert_int_equal(ms_json_find_pointer(ms_json_root(merged), r->pointer, &found),
                     r->found != NULL);
    if (r->found) {
        char text[600];
        describe(found, text, sizeof text);
        assert_string_equal(text, r->found);
    }
    assert_int_equal(hidden, r->hidden);
    ms_json_free(merged);
    for (size_t i = 0; i < count; i++)
        ms_json_free(documents[i]);
}

static void values_are_joined(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("%s\n", rows[i].name);
        check_row(&rows[i]);
    }
}

/* A message about an inner value of a joined document. */
static void messages_have_the_place(void **state)
{
    static const char first[] = "a: 1\n", second[] = "b: 2\no:\n  p: [1, x]\n";
    ms_json_source sources[] = {{"a.yaml", first, strlen(first)},
                                {"b.yaml", second, strlen(second)}};
    ms_json *documents[2] = {NULL}, *merged = NULL;
    ms_json_value list, item;
    ms_error err = {0};
    uint64_t number;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(ms_yaml_parse(&sources[i], &documents[i], &err), MS_OK);
    const ms_json_layer layers[] = {{.object = ms_json_root(documents[0])},
                                    {.object = ms_json_root(documents[1])}};
    assert_int_equal(ms_json_merge(layers, 2, NULL, &merged, &err), MS_OK);
    assert_int_equal(ms_json_length(ms_json_root(merged)), 3);
    assert_true(ms_json_find_pointer(ms_json_root(merged), "/o/p", &list));
    assert_int_equal(ms_json_length(list), 2);
    assert_true(ms_json_first(list, &item) && ms_json_next(&item));
    assert_int_equal(ms_json_get_count(item, 0, 9, &number, &err), MS_ERR_CONFIG);
    assert_string_equal(err.file, "b.yaml");
    assert_string_equal(err.pointer, "/o/p/1");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 10);
    ms_json_free(merged);
    ms_json_free(documents[0]);
    ms_json_free(documents[1]);
}

static void what_is_too_much_is_refused(void **state)
{
    static const char list[] = "[1]";
    const ms_json_source source = {"list", list, strlen(list)};
    ms_json *document = NULL, *merged = NULL;
    ms_json_layer layers[MS_JSON_MOST_LAYERS + 1] = {0};
    ms_error err = {0};
    (void)state;
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    for (size_t i = 0; i < MS_JSON_MOST_LAYERS + 1; i++)
        layers[i].object = ms_json_root(document);
    assert_int_equal(ms_json_merge(layers, 1, NULL, &merged, &err), MS_ERR_CONFIG);
    err = (ms_error){0};
    assert_int_equal(ms_json_merge(layers, MS_JSON_MOST_LAYERS + 1, NULL, &merged, &err),
                     MS_ERR_LIMIT);
    ms_json_free(document);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_joined),
        cmocka_unit_test(messages_have_the_place),
        cmocka_unit_test(what_is_too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
