/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of members of all documents against their schemas: the same members, of the same types,
 * null where the rows may write null. What differs is found in small schemas, too.
 */
#include "unit/support.h"

#include <string.h>

#include "base/json/embedded.h"
#include "core/trace/members.h"
#include "input/document/recorded.h"
#include "report/infer/rows_json.h"
#include "report/kit/documents.h"

enum { MOST_COMPLAINTS = 4096 };

/* What differs, a line each. */
typedef struct comparison {
    ms_json_value root;
    bool is_read; /* the rows are those of a reader, which may leave out members and accept more */
    char complaints[MOST_COMPLAINTS];
} comparison;

#define complain(c, ...)                                                                           \
    do {                                                                                           \
        const size_t at = strlen((c)->complaints);                                                 \
        snprintf((c)->complaints + at, MOST_COMPLAINTS - at, __VA_ARGS__);                         \
    } while (0)

/* A place in the schema, with its references followed. */
typedef struct node {
    ms_json_value at;
    bool may_be_null;
} node;

static bool text_is(ms_json_value v, const char *text)
{
    const char *found;
    ms_error err = {0};
    return ms_json_kind_of(v) == MS_JSON_STRING && ms_json_get_string(v, &found, &err) == MS_OK &&
           strcmp(found, text) == 0;
}

/* Whether it is the text, or a list that has it; NULL stands for null itself. */
static bool has_item(ms_json_value v, const char *text)
{
    ms_json_value item;
    if (ms_json_kind_of(v) != MS_JSON_ARRAY)
        return text && text_is(v, text);
    for (bool more = ms_json_first(v, &item); more; more = ms_json_next(&item))
        if (text ? text_is(item, text) : ms_json_kind_of(item) == MS_JSON_NULL)
            return true;
    return false;
}

static node follow(const comparison *c, ms_json_value at)
{
    node found = {.at = at};
    ms_json_value v, choice;
    ms_error err = {0};
    const char *reference;
    while (ms_json_find(found.at, "$ref", &v)) {
        assert_int_equal(ms_json_get_string(v, &reference, &err), MS_OK);
        assert_true(ms_json_find_pointer(c->root, reference + 1, &found.at));
    }
    if (ms_json_find(found.at, "oneOf", &v) || ms_json_find(found.at, "anyOf", &v)) {
        ms_json_value type, whole = found.at;
        for (bool more = ms_json_first(v, &choice); more; more = ms_json_next(&choice)) {
            if (ms_json_find(choice, "type", &type) && text_is(type, "null"))
                found.may_be_null = true;
            else
                whole = follow(c, choice).at;
        }
        found.at = whole;
    }
    if (ms_json_find(found.at, "type", &v))
        found.may_be_null |= has_item(v, "null");
    if (ms_json_find(found.at, "enum", &v))
        found.may_be_null |= has_item(v, NULL);
    return found;
}

/* ---- values ---- */

static const char *type_of(const ms_member *m)
{
    static const char *const types[] = {
        [MS_MEMBER_COUNT] = "integer",   [MS_MEMBER_SIGNED] = "integer",
        [MS_MEMBER_NUMBER] = "number",   [MS_MEMBER_TRUTH] = "boolean",
        [MS_MEMBER_TEXT] = "string",     [MS_MEMBER_CHARS] = "string",
        [MS_MEMBER_CONSTANT] = "string", [MS_MEMBER_PART] = "object",
        [MS_MEMBER_ROWS] = "array",      [MS_MEMBER_FIGURES] = "object",
    };
    const bool is_object = m->at.kind == MS_MEMBER_ROWS && m->rules & MS_KEYED;
    return m->words && m->at.kind == MS_MEMBER_COUNT ? "string"
           : is_object                               ? "object"
                                                     : types[m->at.kind];
}

static bool has_type(node n, const char *type)
{
    ms_json_value v;
    if (ms_json_find(n.at, "type", &v))
        return has_item(v, type);
    return strcmp(type, "string") == 0 &&
           (ms_json_find(n.at, "enum", &v) || ms_json_find(n.at, "const", &v));
}

static void compare_words(comparison *c, const char *name, const ms_member *m, node n)
{
    ms_words possible = *m->words;
    const ms_words *words = &possible;
    possible.count = m->most ? (uint32_t)m->most + 1 : possible.count;
    ms_json_value list, item;
    ms_error err = {0};
    if (!ms_json_find(n.at, "enum", &list))
        return;
    for (uint32_t i = 0; i < words->count; i++)
        if (!has_item(list, ms_words_at(words, i)))
            complain(c, "%s: the schema has no \"%s\"\n", name, ms_words_at(words, i));
    for (bool more = ms_json_first(list, &item); more; more = ms_json_next(&item)) {
        const char *word = NULL;
        if (ms_json_kind_of(item) != MS_JSON_NULL &&
            (ms_json_get_string(item, &word, &err) != MS_OK ||
             ms_words_find(words, word) == words->count))
            complain(c, "%s: nothing writes \"%s\"\n", name, word ? word : "");
    }
}

static void compare_object(comparison *c, const char *name, const ms_members *members, node n,
                           bool is_whole);

static void compare_value(comparison *c, const ms_member *m, const char *name, node n)
{
    ms_json_value v;
    if (m->at.kind == MS_MEMBER_WRITTEN)
        return;
    const bool is_whole = m->at.kind == MS_MEMBER_NUMBER && m->decimals == 0;
    if (!has_type(n, type_of(m)) && !(is_whole && has_type(n, "integer")))
        complain(c, "%s: %s is written\n", name, type_of(m));
    if (m->words && m->at.kind == MS_MEMBER_COUNT)
        compare_words(c, name, m, n);
    if (m->at.kind == MS_MEMBER_PART)
        compare_object(c, name, m->inner, n, !c->is_read);
    if (m->at.kind == MS_MEMBER_FIGURES) {
        for (uint32_t i = 0; i < m->words->count; i++) {
            const ms_member figure = {.name = ms_words_at(m->words, i),
                                      .at = {0, 8, m->count.kind}};
            ms_json_value value;
            if (ms_json_find(n.at, "properties", &v)
                    ? ms_json_find(v, figure.name, &value)
                    : ms_json_find(n.at, "additionalProperties", &value) &&
                          ms_json_kind_of(value) == MS_JSON_OBJECT)
                compare_value(c, &figure, figure.name, follow(c, value));
            else
                complain(c, "%s: the schema has no \"%s\"\n", name, figure.name);
        }
    }
    if (m->at.kind != MS_MEMBER_ROWS)
        return;
    if (!ms_json_find(n.at, m->rules & MS_KEYED ? "additionalProperties" : "items", &v)) {
        complain(c, "%s: the schema says nothing of its rows\n", name);
        return;
    }
    const bool is_keyed = m->rules & MS_KEYED;
    const ms_members rest = {.items = m->inner->items + is_keyed,
                             .count = m->inner->count - is_keyed};
    if (m->inner->is_plain)
        compare_value(c, &m->inner->items[is_keyed], name, follow(c, v));
    else
        compare_object(c, name, &rest, follow(c, v), !c->is_read);
}

/* ---- objects ---- */

static const ms_member *find_member(const ms_members *members, const char *name, bool *is_certain)
{
    for (uint32_t i = 0; i < members->count; i++) {
        const ms_member *m = &members->items[i], *inside;
        const bool is_sure = !(m->rules & MS_IF_ANY);
        if (m->name && strcmp(m->name, name) == 0) {
            *is_certain = is_sure;
            return m;
        }
        if (!m->name && (inside = find_member(m->inner, name, is_certain)) != NULL) {
            *is_certain = *is_certain && is_sure;
            return inside;
        }
    }
    return NULL;
}

static void compare_members(comparison *c, const char *name, const ms_members *members,
                            ms_json_value properties)
{
    for (uint32_t i = 0; i < members->count; i++) {
        const ms_member *m = &members->items[i];
        ms_json_value property;
        if (!m->name) {
            compare_members(c, name, m->inner, properties);
            continue;
        }
        if (!ms_json_find(properties, m->name, &property)) {
            complain(c, "%s: the schema has no \"%s\"\n", name, m->name);
            continue;
        }
        const node n = follow(c, property);
        const bool accepts_null = (m->rules & MS_OR_NULL) != 0;
        if (c->is_read ? n.may_be_null && !accepts_null : n.may_be_null != accepts_null)
            complain(c, "%s: null is %swritten\n", m->name, n.may_be_null ? "never " : "");
        compare_value(c, m, m->name, n);
    }
}

static void compare_object(comparison *c, const char *name, const ms_members *members, node n,
                           bool is_whole)
{
    ms_json_value properties, v, required;
    ms_error err = {0};
    bool is_certain = false;
    const bool is_elsewhere = !ms_json_find(n.at, "properties", &properties);
    if (is_elsewhere && !ms_json_find(n.at, "additionalProperties", &v))
        return; /* "as in the static report" */
    if (is_elsewhere) {
        complain(c, "%s: the schema says nothing of its members\n", name);
        return;
    }
    compare_members(c, name, members, properties);
    for (bool more = is_whole && ms_json_first(properties, &v); more; more = ms_json_next(&v))
        if (!find_member(members, ms_json_key(v), &is_certain) &&
            strcmp(ms_json_key(v), "schema_version") != 0)
            complain(c, "%s: no row writes \"%s\"\n", name, ms_json_key(v));
    if (c->is_read || !ms_json_find(n.at, "required", &required))
        return;
    for (bool more = ms_json_first(required, &v); more; more = ms_json_next(&v)) {
        const char *key = "";
        assert_int_equal(ms_json_get_string(v, &key, &err), MS_OK);
        if (find_member(members, key, &is_certain) && !is_certain)
            complain(c, "%s: \"%s\" is not always written\n", name, key);
    }
}

static void compare(comparison *c, const char *text, size_t length, const char *pointer,
                    const ms_members *members, bool is_whole, bool is_read)
{
    ms_json *document = NULL;
    ms_json_value at;
    ms_error err = {0};
    const ms_json_source source = {"schema", text, length};
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    *c = (comparison){.root = ms_json_root(document), .is_read = is_read};
    assert_true(ms_json_find_pointer(c->root, pointer, &at));
    compare_object(c, "the document", members, follow(c, at), is_whole);
    ms_json_free(document);
}

/* ---- documents ---- */

typedef struct document {
    const char *schema, *pointer;
    const ms_members *members;
    bool is_whole, is_read;
    const char *complaints;
} document;

#define DOCUMENT(schema, table) {schema, "", &(table), true, false, ""},
#define READ(schema, pointer, table, complaints)                                                   \
    {                                                                                              \
        schema, pointer, &(table), false, true, complaints                                         \
    }
#define TRACE(kind, table, is_whole)                                                               \
    {                                                                                              \
        "trace", "/properties/" kind, &(table), is_whole, false, ""                                \
    }
/* Runs without files, where nothing is unknown. */
#define NEVER_UNKNOWN                                                                              \
    "fits: null is written\nverdict: the schema has no \"unknown\"\n"                              \
    "verdict_reason: the schema has no \"not-predicted\"\n"
/* The operands and products of an operator are written after its own members. */
static const document documents[] = {
    MS_DOCUMENT_TABLES(DOCUMENT){"stream", "", &ms_stream_document, true, false, NEVER_UNKNOWN},
    TRACE("symbol", ms_symbol_members, true),
    TRACE("scope", ms_scope_members, true),
    TRACE("stream", ms_stream_members, true),
    TRACE("storage", ms_storage_members, true),
    TRACE("mark", ms_mark_members, true),
    TRACE("work", ms_work_members, true),
    TRACE("wait", ms_wait_members, true),
    TRACE("use", ms_use_members, true),
    TRACE("begin", ms_op_members, false),
    /* What is rounded, only predictions tell. */
    {"infer_rows", "/items", &ms_infer_row_table, false, false, ""},
    READ("runtime_report", "", ms_recorded_table,
         "categories: the schema has no \"rounded_bytes\"\n"),
    READ("runtime_report", "", ms_captured_table, ""),
    READ("runtime_report", "", ms_captured_modules_table,
         "modules: the schema has no \"peak_rounded_bytes\"\n"),
    READ("static_report", "", ms_predicted_modules_table, ""),
    READ("static_report", "/properties/summary", ms_step_summary_table, ""),
    READ("static_report", "/properties/metadata", ms_predicted_step_table, ""),
    READ("runtime_report", "/properties/step", ms_captured_step_table, ""),
    READ("runtime_report", "/properties/step", ms_captured_lists_table, ""),
};

static void check_document(void **state)
{
    const document *d = *state;
    comparison c;
    size_t i = 0;
    while (i < ms_embedded_schema_count && strcmp(ms_embedded_schemas[i].name, d->schema) != 0)
        i++;
    assert_true(i < ms_embedded_schema_count);
    compare(&c, ms_embedded_schemas[i].text, ms_embedded_schemas[i].length, d->pointer, d->members,
            d->is_whole, d->is_read);
    assert_string_equal(c.complaints, d->complaints);
}

/* ---- what differs ---- */

typedef struct small {
    uint64_t bytes;
    const char *name;
    uint8_t word;
} small;
static const char *const words[] = {"first", "second"};
static const ms_words small_words = {words, 2, 0, 0};
static const ms_member small_members[] = {
    MS_MEMBER(small, "bytes", bytes, .rules = MS_OR_NULL),
    MS_MEMBER(small, "name", name, .rules = MS_IF_ANY),
    MS_MEMBER(small, "word", word, .words = &small_words),
};
static const ms_members small_table = MS_MEMBERS(small, small_members);

#define SCHEMA(bytes, name, enum, more)                                                            \
    "{\"properties\":{\"bytes\":{\"type\":" bytes "},\"name\":{\"type\":" name                     \
    "},\"word\":{\"enum\":" enum "}" more "}"
#define WORDS "[\"first\",\"second\"]"
#define COUNT "[\"integer\",\"null\"]"
static const struct difference {
    const char *label, *schema, *complaints;
} differences[] = {
    {"none", SCHEMA(COUNT, "\"string\"", WORDS, "") "}", ""},
    {"another type", SCHEMA(COUNT, "\"number\"", WORDS, "") "}", "name: string is written\n"},
    {"null is not allowed", SCHEMA("\"integer\"", "\"string\"", WORDS, "") "}",
     "bytes: null is written\n"},
    {"null is allowed", SCHEMA(COUNT, "[\"string\",\"null\"]", WORDS, "") "}",
     "name: null is never written\n"},
    {"a word too few", SCHEMA(COUNT, "\"string\"", "[\"first\"]", "") "}",
     "word: the schema has no \"second\"\n"},
    {"a word too many", SCHEMA(COUNT, "\"string\"", "[\"first\",\"second\",\"third\"]", "") "}",
     "word: nothing writes \"third\"\n"},
    {"a member too many", SCHEMA(COUNT, "\"string\"", WORDS, ",\"more\":{\"type\":\"object\"}") "}",
     "the document: no row writes \"more\"\n"},
    {"required", SCHEMA(COUNT, "\"string\"", WORDS, "") ",\"required\":[\"bytes\",\"name\"]}",
     "the document: \"name\" is not always written\n"},
    {"a member too few", "{\"properties\":{}}",
     "the document: the schema has no \"bytes\"\nthe document: the schema has no \"name\"\n"
     "the document: the schema has no \"word\"\n"},
};

static void check_difference(void **state)
{
    const struct difference *d = *state;
    comparison c;
    compare(&c, d->schema, strlen(d->schema), "", &small_table, true, false);
    assert_string_equal(c.complaints, d->complaints);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(documents) + COUNT_OF(differences)];
    size_t count = ADD_ROWS(tests, check_document, documents);
    ADD_ROWS(tests + count, check_difference, differences);
    return cmocka_run_group_tests_name("documents", tests, NULL, NULL);
}
