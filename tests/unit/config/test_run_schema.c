/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * schemas/run.schema.json against the fields themselves: names, bounds, choices, defaults.
 */
#include "unit/support.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/run/run_fields.h"
#include "base/json/read.h"
#include "base/json/value.h"

typedef struct schema {
    ms_arena *arena;
    ms_json_source source;
    char *text;
    ms_json *document;
    ms_json_value properties;
} schema;

static int load(void **state)
{
    static schema s;
    s.arena = ms_arena_create(0);
    *state = &s;
    return s.arena &&
                   ms_json_read(NULL, "schemas/run.schema.json", &s.source, &s.text, NULL) ==
                       MS_OK &&
                   ms_json_parse(&s.source, &s.document, NULL) == MS_OK &&
                   ms_json_find(ms_json_root(s.document), "properties", &s.properties)
               ? 0
               : 1;
}

static int unload(void **state)
{
    schema *s = *state;
    ms_json_free(s->document);
    free(s->text);
    ms_arena_free(s->arena);
    return 0;
}

static ms_status try_value(schema *s, const char *field, const char *value, ms_error *err)
{
    ms_run_draft draft = {0};
    return ms_run_field_set(&draft, s->arena, field, value, err);
}

static void names_agree(void **state)
{
    const schema *s = *state;
    ms_json_value v;
    const char *name;
    for (size_t i = 0; (name = ms_run_field_name(i)) != NULL; i++)
        if (strcmp(name, "config") != 0 && !ms_json_find(s->properties, name, &v))
            fail_msg("the schema lacks \"%s\"", name);
    for (bool more = ms_json_first(s->properties, &v); more; more = ms_json_next(&v)) {
        name = ms_json_key(v);
        if (strcmp(name, "$schema") != 0 && strcmp(name, "model") != 0 &&
            (ms_run_field_find(name) < 0 ||
             strcmp(ms_run_field_name((size_t)ms_run_field_find(name)), name) != 0))
            fail_msg("no field \"%s\"", name);
    }
}

/* A bound is in, and one beyond it is out. */
static void check_bound(schema *s, ms_json_value property, const char *key, int beyond)
{
    ms_json_value bound;
    ms_error err = {0};
    uint64_t value;
    char text[32];
    if (!ms_json_find(property, key, &bound) ||
        ms_json_get_count(bound, 1, UINT32_MAX, &value, NULL) != MS_OK)
        return;
    snprintf(text, sizeof text, "%" PRIu64, value);
    assert_int_equal(try_value(s, ms_json_key(property), text, &err), MS_OK);
    snprintf(text, sizeof text, "%" PRIu64, beyond < 0 ? value - 1 : value + 1);
    assert_int_not_equal(try_value(s, ms_json_key(property), text, &err), MS_OK);
}

static void bounds_agree(void **state)
{
    schema *s = *state;
    ms_json_value v;
    for (bool more = ms_json_first(s->properties, &v); more; more = ms_json_next(&v)) {
        check_bound(s, v, "minimum", -1);
        check_bound(s, v, "maximum", 1);
    }
}

/* The field's own refusal lists its choices: the same, in the same order. */
static void choices_agree(void **state)
{
    schema *s = *state;
    ms_json_value v, list, choice;
    for (bool more = ms_json_first(s->properties, &v); more; more = ms_json_next(&v)) {
        char expected[1024];
        ms_error err = {0};
        const char *text = NULL;
        if (!ms_json_find(v, "enum", &list))
            continue;
        int used =
            snprintf(expected, sizeof expected, "%s: found '?', expected one of", ms_json_key(v));
        for (bool m = ms_json_first(list, &choice); m; m = ms_json_next(&choice)) {
            assert_int_equal(ms_json_get_string(choice, &text, NULL), MS_OK);
            assert_int_equal(try_value(s, ms_json_key(v), text, NULL), MS_OK);
            used += snprintf(expected + used, sizeof expected - (size_t)used, " %s,", text);
            assert_true((size_t)used < sizeof expected);
        }
        expected[used - 1] = '\0';
        assert_int_not_equal(try_value(s, ms_json_key(v), "?", &err), MS_OK);
        assert_string_equal(err.text, expected);
    }
}

static void defaults_agree(void **state)
{
    schema *s = *state;
    const ms_run_field *rows = ms_run_table.texts;
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++) {
        ms_json_value property, value;
        size_t bytes;
        if (!ms_json_find(s->properties, rows[i].name, &property) ||
            !ms_json_find(property, "default", &value))
            continue;
        const char *text = ms_json_source_text(value, &bytes);
        bool quoted = text[0] == '"';
        char found[64];
        snprintf(found, sizeof found, "%.*s", (int)(bytes - (quoted ? 2 : 0)), text + quoted);
        assert_string_equal(found, rows[i].default_text);
        assert_int_equal(try_value(s, rows[i].name, found, NULL), MS_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_agree),
        cmocka_unit_test(bounds_agree),
        cmocka_unit_test(choices_agree),
        cmocka_unit_test(defaults_agree),
    };
    return cmocka_run_group_tests_name("run.schema.json", tests, load, unload);
}
