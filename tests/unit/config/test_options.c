/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An option is one row: the tables themselves, and what schemas and reports have of each row.
 */
#include "unit/support.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/run/run_fields.h"
#include "base/json/read.h"
#include "base/json/value.h"
#include "memscope/plan.h"
#include "memscope/sweep.h"
#include "model/load.h"
#include "decide/plan/settings.h"
#include "report/view/metadata.h"
#include "decide/sweep/settings.h"

/* ---- the tables ---- */

/* A table, and room for an object of it. */
typedef struct table_case {
    const char *label;
    const ms_config_table *table;
    size_t bytes;
} table_case;

static const table_case tables[] = {
    {"run", &ms_run_table, sizeof(ms_run_draft)},
    {"plan", &ms_plan_table, sizeof(ms_plan_settings)},
    {"sweep", &ms_sweep_table, sizeof(ms_sweep_settings)},
};

static void check_row(const table_case *c, size_t i, void *object, ms_arena *arena)
{
    const ms_config_field *row = &c->table->rows[i];
    const ms_run_field *text = &c->table->texts[i];
    const char *value;
    assert_string_equal(row->name, text->name);
    assert_int_equal(ms_config_field_find(c->table, row->name), i);
    assert_true(text->help && *text->help && text->group && *text->group);
    assert_int_equal(row->bytes, row->kind->bytes);
    assert_true(row->offset + row->bytes <= c->table->is_set ||
                row->offset >= c->table->is_set + sizeof(uint64_t));
    assert_true(row->offset + row->bytes <= c->bytes);
    assert_int_equal(row->kind->written == MS_WRITTEN_FLAG, !text->value_name);
    for (size_t j = 0; j < i; j++) {
        const ms_config_field *other = &c->table->rows[j];
        if (row->offset < other->offset + other->bytes && other->offset < row->offset + row->bytes)
            fail_msg("%s and %s have one member", row->name, other->name);
    }
    for (size_t k = 0; (value = ms_config_field_choice(row, k)) != NULL; k++)
        assert_int_equal(ms_config_field_set(c->table, object, arena, row->name, value, NULL),
                         MS_OK);
    for (size_t k = 0; (value = ms_config_field_example(row, k)) != NULL; k++)
        assert_int_equal(ms_config_field_set(c->table, object, arena, row->name, value, NULL),
                         MS_OK);
    if (text->default_text && !row->default_is_words)
        assert_int_equal(
            ms_config_field_set(c->table, object, arena, row->name, text->default_text, NULL),
            MS_OK);
}

static void rows_are_whole(void **state)
{
    const table_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    void *object = ms_arena_alloc(arena, 1, c->bytes);
    for (size_t i = 0; i < c->table->count; i++)
        check_row(c, i, object, arena);
    ms_arena_free(arena);
}

/* What is filled in is what setting the default gives, and is not "set". */
static void defaults_are_filled_in(void **state)
{
    const table_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    void *filled = ms_arena_alloc(arena, 1, c->bytes), *set = ms_arena_alloc(arena, 1, c->bytes);
    assert_int_equal(ms_config_field_fill(c->table, filled, arena, NULL), MS_OK);
    for (size_t i = 0; i < c->table->count; i++) {
        const ms_config_field *row = &c->table->rows[i];
        const char *text = c->table->texts[i].default_text;
        ms_config_shown a = {0}, b = {0};
        assert_false(ms_config_field_is_set(c->table, filled, i));
        if (!text || row->default_is_words)
            continue;
        assert_int_equal(ms_config_field_set(c->table, set, arena, row->name, text, NULL), MS_OK);
        assert_true(ms_config_field_is_set(c->table, set, i));
        ms_config_field_show(row, filled, &a);
        ms_config_field_show(row, set, &b);
        assert_int_equal(a.form, b.form);
        assert_int_equal(a.count, b.count);
        assert_true(!a.text || strcmp(a.text, b.text) == 0);
        ms_config_field_unset(c->table, set, i);
        assert_false(ms_config_field_is_set(c->table, set, i));
        for (size_t k = 0; k < row->bytes; k++)
            assert_int_equal(((const char *)set)[row->offset + k], 0);
    }
    ms_arena_free(arena);
}

/* ---- a table of more fields than a word has bits ---- */

enum { MANY = 150 };

typedef struct many {
    uint64_t values[MANY];
    uint64_t is_set[MS_CONFIG_WORDS(MANY)];
} many;

static void tables_are_of_any_size(void **state)
{
    static char names[MANY][8];
    static ms_config_field rows[MANY];
    static ms_run_field texts[MANY];
    const ms_config_table table = {texts, rows, MANY, offsetof(many, is_set), NULL};
    many object = {{0}, {0}};
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "f%zu", i);
        texts[i] = (ms_run_field){names[i], "N", "help", "7", "Group"};
        rows[i] = (ms_config_field){.name = names[i],
                                    .kind = ms_run_field_kind((size_t)ms_run_field_find("batch")),
                                    .offset = offsetof(many, values) + i * sizeof(uint64_t),
                                    .bytes = sizeof(uint64_t),
                                    .minimum = 1};
    }
    for (size_t i = 0; i < MANY; i += 3)
        assert_int_equal(ms_config_field_set(&table, &object, NULL, names[i], "5", NULL), MS_OK);
    ms_config_field_unset(&table, &object, 69);
    assert_int_equal(ms_config_field_fill(&table, &object, NULL, NULL), MS_OK);
    for (size_t i = 0; i < MANY; i++) {
        bool is_set = i % 3 == 0 && i != 69;
        assert_int_equal(ms_config_field_is_set(&table, &object, i), is_set);
        assert_int_equal(object.values[i], is_set ? 5 : 7);
    }
}

static void lists_are_of_any_size(void **state)
{
    ms_arena *arena = ms_arena_create(0);
    ms_field_list list = {.arena = arena};
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        ms_field_list_add(&list, (ms_field){.name = "f", .kind = MS_FIELD_COUNT, .count = i});
    assert_false(list.has_failed);
    assert_int_equal(list.count, 1000);
    for (uint64_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].count, i);
    ms_field_list_add(&list, (ms_field){.name = "f", .kind = MS_FIELD_TEXT});
    assert_true(list.has_failed);
    ms_arena_free(arena);
}

/* ---- schemas ---- */

typedef struct schema {
    ms_json_source source;
    char *text;
    ms_json *document;
} schema;

static ms_json_value open_schema(schema *s, const char *path, const char *pointer)
{
    ms_json_value properties;
    assert_int_equal(ms_json_read(NULL, path, &s->source, &s->text, NULL), MS_OK);
    assert_int_equal(ms_json_parse(&s->source, &s->document, NULL), MS_OK);
    assert_true(ms_json_find_pointer(ms_json_root(s->document), pointer, &properties));
    return properties;
}

static void close_schema(schema *s)
{
    ms_json_free(s->document);
    free(s->text);
}

/* Whether `text` stands anywhere in what the schema says of a value. */
static bool says(ms_json_value value, const char *text)
{
    size_t bytes, length = strlen(text);
    const char *source = ms_json_source_text(value, &bytes);
    for (size_t i = 0; i + length <= bytes; i++)
        if (memcmp(source + i, text, length) == 0)
            return true;
    return false;
}

static void check_bounds(const ms_config_field *row, ms_json_value property)
{
    static const char *const keys[] = {"minimum", "maximum"};
    const double bounds[] = {row->minimum, row->maximum};
    ms_json_value list, bound;
    if (ms_json_find(property, "anyOf", &list))
        assert_true(ms_json_first(list, &property));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        double found = 0;
        bool has = ms_json_find(property, keys[i], &bound);
        if (has)
            assert_int_equal(ms_json_get_number(bound, 0, 1e18, &found, NULL), MS_OK);
        if (found < bounds[i] || found > bounds[i])
            fail_msg("%s of %s: the row has %g, the schema %g", keys[i], row->name, bounds[i],
                     found);
    }
}

/* A run file writes each value as its kind has it, with the bounds of the row. */
static void run_files_have_the_rows(void **state)
{
    schema s;
    (void)state;
    ms_json_value properties = open_schema(&s, "schemas/run.schema.json", "/properties"), property;
    for (size_t i = 1; i < MS_RUN_FIELD_COUNT; i++) { /* the first is the config */
        const ms_config_field *row = &ms_run_table.rows[i];
        const char *default_text = ms_run_table.texts[i].default_text;
        ms_config_written written = row->kind->written;
        ms_json_value value;
        assert_true(ms_json_find(properties, row->name, &property));
        bool is_number = says(property, "\"integer\"") || says(property, "\"number\"");
        assert_int_equal(is_number, written == MS_WRITTEN_NUMBER);
        assert_int_equal(says(property, "\"boolean\""), written == MS_WRITTEN_FLAG);
        assert_int_equal(says(property, "[KMGT]iB"), written == MS_WRITTEN_SIZE);
        if (row->kind->is_count)
            assert_true(says(property, "\"integer\""));
        if (is_number && !says(property, "512, 1024"))
            check_bounds(row, property);
        if (written != MS_WRITTEN_FLAG && !row->kind->is_file && default_text &&
            !row->default_is_words && !ms_json_find(property, "default", &value) &&
            strcmp(default_text, "none") != 0)
            fail_msg("the schema has no default of %s", row->name);
        const char *choice;
        for (size_t k = 0; written != MS_WRITTEN_FLAG && (choice = ms_config_field_choice(row, k));
             k++) {
            char quoted[64];
            snprintf(quoted, sizeof quoted, "\"%s\"", choice);
            assert_true(says(property, quoted));
        }
    }
    close_schema(&s);
}

/* ---- reports ---- */

typedef struct report_run {
    const char *label;
    ms_run_setting settings[6];
    size_t count;
} report_run;

/* Together they have each option that a report may have. */
static const report_run report_runs[] = {
    {"plain", {{"config", "gpt2"}}, 1},
    {"addresses", {{"config", "gpt2"}, {"addresses", "down"}}, 2},
    {"padded", {{"config", "gpt2"}, {"padding", "yes"}}, 2},
    {"packed", {{"config", "gpt2"}, {"padding", "yes"}, {"documents", "3"}}, 3},
    {"of TRL's trainer",
     {{"config", "gpt2"}, {"loop", "trainer"}, {"loss", "trl"}, {"labels", "40"}},
     4},
    {"images", {{"config", "qwen2.5-vl-3b"}, {"images", "2"}, {"image-size", "112x112"}}, 3},
    {"from a source", {{"config", "t5-small"}, {"source-length", "96"}}, 2},
    {"experts", {{"config", "mixtral-8x7b"}, {"experts", "eager"}}, 2},
    {"quantised",
     {{"config", "llama-3.2-1b"}, {"quantize", "nf4"}, {"lora", "r=8,targets=all-linear"}},
     3},
    {"sharded",
     {{"config", "gpt2"}, {"parallel", "fsdp=8"}, {"param-dtype", "fp16"}, {"accumulate", "2"}},
     4},
    {"among fewer ranks", {{"config", "gpt2"}, {"parallel", "fsdp=8"}, {"reshard-ranks", "2"}}, 3},
    {"of a root that is divided again",
     {{"config", "gpt2"}, {"parallel", "fsdp=8"}, {"reshard-root", "yes"}},
     3},
    {"in copies", {{"config", "gpt2"}, {"parallel", "hsdp=2x4"}, {"accumulate", "2"}}, 3},
    {"of flat parameters", {{"config", "gpt2"}, {"parallel", "fsdp1=8"}}, 2},
    {"of parts that are cast",
     {{"config", "gpt2"},
      {"parallel", "fsdp1=8"},
      {"dtype", "fp32"},
      {"load-dtype", "bf16"},
      {"param-dtype", "bf16"}},
     5},
    {"copies", {{"config", "gpt2"}, {"parallel", "dp=8"}, {"zero-optimizer", "yes"}}, 3},
    {"by DeepSpeed", {{"config", "llama-3.2-1b"}, {"parallel", "zero=3,dp=8"}}, 2},
    {"in two groups",
     {{"config", "gpt2"}, {"parallel", "zero=2,dp=4"}, {"decay-groups", "yes"}},
     3},
    {"tensor parallel", {{"config", "llama-3.1-8b"}, {"parallel", "tp=4"}}, 2},
    {"at an MFU", {{"config", "gpt2"}, {"mfu", "0.45"}}, 2},
    {"with a network", {{"config", "gpt2"}, {"network", "50GB"}}, 2},
    {"priced",
     {{"config", "gpt2"},
      {"prices", "tests/golden/cli/analyze/prices/files/prices.json"},
      {"device", "h100-80gb"}},
     3},
    {"calibrated", {{"config", "gpt2"}, {"calibration", NULL}, {"device", "h100-80gb"}}, 3},
};

/* Each value is one that the schema of static reports has. */
static void check_shown(ms_json_value properties, const char *name, const ms_config_shown *shown)
{
    static const char *const types[] = {
        [MS_SHOWN_NOWHERE] = "",          [MS_SHOWN_TEXT] = "\"string\"",
        [MS_SHOWN_COUNT] = "\"integer\"", [MS_SHOWN_BOOL] = "\"boolean\"",
        [MS_SHOWN_NUMBER] = "\"number\"", [MS_SHOWN_NULL] = "\"null\""};
    ms_json_value property, choices;
    char quoted[80];
    if (!ms_json_find(properties, name, &property))
        fail_msg("the schema of reports lacks \"%s\"", name);
    bool is_choice = ms_json_find(property, "enum", &choices);
    snprintf(quoted, sizeof quoted, "\"%s\"", shown->text ? shown->text : "");
    if (!says(property, is_choice ? quoted : types[shown->form]))
        fail_msg("the schema of reports has no such %s: %s", name, quoted);
}

/* Choices that a report shows as they are: the schema has each. */
static void check_choices(ms_json_value properties, const ms_config_field *row, const char *name)
{
    ms_json_value property;
    const char *choice;
    assert_true(ms_json_find(properties, name, &property));
    for (size_t k = 0; (choice = ms_config_field_choice(row, k)) != NULL; k++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", choice);
        if (!says(property, quoted) && !says(property, "\"boolean\"") &&
            strcmp(choice, "auto") != 0)
            fail_msg("the schema of reports lacks %s of %s", quoted, name);
    }
}

static bool is_in(const ms_field_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    return false;
}

static void see_run(const report_run *r, ms_arena *arena, ms_json_value properties,
                    bool seen_rows[MS_RUN_FIELD_COUNT])
{
    ms_run_setting settings[6];
    ms_model_config model;
    ms_run_config run;
    ms_notes notes = {0};
    ms_error err = {0};
    ms_field_list list;
    memcpy(settings, r->settings, sizeof settings);
    for (size_t i = 0; i < r->count; i++)
        if (!settings[i].value)
            settings[i].value = "tests/golden/cli/analyze/calibration/files/calibration.json";
    if (ms_run_load(arena, settings, r->count, &model, &run, &notes, &err) != MS_OK)
        fail_msg("%s", err.text);
    const ms_run_seen seen = {&model, &run, MS_ATTENTION_FLASH};
    assert_true(ms_metadata_fill(&seen, arena, &list));
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++) {
        ms_config_shown shown;
        const char *name = ms_run_field_report(i, &seen, arena, &shown);
        if (name) {
            seen_rows[i] = true;
            check_shown(properties, name, &shown);
            assert_true(is_in(&list, name));
        }
        name = ms_run_field_detail(i, &seen, arena, &shown);
        if (name) {
            check_shown(properties, name, &shown);
            assert_true(is_in(&list, name));
        }
    }
}

static void reports_have_the_rows(void **state)
{
    schema s;
    bool seen[MS_RUN_FIELD_COUNT] = {false};
    ms_arena *arena = ms_arena_create(0);
    (void)state;
    ms_json_value properties =
        open_schema(&s, "schemas/static_report.schema.json", "/properties/metadata/properties");
    for (size_t i = 0; i < COUNT_OF(report_runs); i++)
        see_run(&report_runs[i], arena, properties, seen);
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++) {
        const ms_config_field *row = &ms_run_table.rows[i];
        if (!row->report)
            continue;
        if (!seen[i])
            fail_msg("no run showed %s", row->name);
        check_choices(properties, row, row->report);
        /* What a report calls an option is its name with underscores. */
        for (size_t k = 0; k <= strlen(row->name); k++)
            assert_int_equal(row->report[k], row->name[k] == '-' ? '_' : row->name[k]);
        if (!row->show_report)
            assert_true(row->offset + row->bytes <= sizeof(ms_run_config));
    }
    close_schema(&s);
    ms_arena_free(arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_of_any_size),
        cmocka_unit_test(lists_are_of_any_size),
        cmocka_unit_test(run_files_have_the_rows),
        cmocka_unit_test(reports_have_the_rows),
    };
    int failed = run_rows("rows", rows_are_whole, tables);
    failed += run_rows("defaults", defaults_are_filled_in, tables);
    failed += cmocka_run_group_tests_name("options", tests, NULL, NULL);
    return failed;
}
