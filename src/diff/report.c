/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diff/report.h"

#include <inttypes.h>
#include <string.h>

#include "diff/operators.h"
#include "json/number.h"

/* Far more than a report has: each is looked up among the others. */
enum { MOST_FIELDS = 1024, MOST_PARTS = 256 };

/* One report that is being read. */
typedef struct reading {
    ms_arena *arena;
    ms_json_value root;
    ms_report *report;
    ms_error *err;
} reading;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
}

/* ---- versions ---- */

/* "1.2": both parts are digits. */
static bool split_version(const char *text, uint64_t *major, uint64_t *minor)
{
    const char *point = strchr(text, '.');
    return point && ms_number_count(text, (size_t)(point - text), major) == MS_COUNT_OK &&
           ms_number_count(point + 1, strlen(point + 1), minor) == MS_COUNT_OK;
}

static ms_status check_version(const reading *r)
{
    ms_json_value value;
    const char *text = NULL;
    uint64_t major = 0, minor = 0;
    ms_status status = ms_json_get_member(r->root, "schema_version", &value, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(value, &text, r->err);
    if (status != MS_OK)
        return status;
    if (!split_version(text, &major, &minor))
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.20s' is no schema version; expected one such as \"1.0\"", text);
    if (major > MS_REPORT_MAJOR)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "schema version %.20s is newer than this memscope, which reads %d.x",
                            text, MS_REPORT_MAJOR);
    if (major < MS_REPORT_MAJOR)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "schema version %.20s is not read, only %d.x", text, MS_REPORT_MAJOR);
    return MS_OK;
}

bool ms_report_is_one(ms_json_value root)
{
    ms_json_value v;
    return ms_json_find(root, "schema_version", &v) && ms_json_find(root, "metadata", &v);
}

/* ---- fields ---- */

/* Of the metadata: what the model's config says. */
static const char *const model_fields[] = {
    "model_type",   "num_layers", "hidden_size",       "intermediate_size",
    "num_experts",  "num_heads",  "experts_per_token", "expert_intermediate_size",
    "num_kv_heads", "head_dim",   "vocab_size",        "tie_word_embeddings",
};
/* What another field says as well, or no run is told apart by. */
static const char *const left_aside[] = {"mode",    "model",        "device_title", "folded",
                                         "symbols", "budget_bytes", "budget_given"};

#define IS_IN(name, list) is_in(name, list, sizeof(list) / sizeof *(list))

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

const char *ms_report_text(ms_arena *arena, const char *text)
{
    char *copy = ms_arena_strdup(arena, text);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return copy;
}

/* Without zeros at the end of a fraction: a file may have been written again by something else. */
static size_t significant(const char *text, size_t bytes)
{
    if (!memchr(text, '.', bytes) || memchr(text, 'e', bytes) || memchr(text, 'E', bytes))
        return bytes;
    while (text[bytes - 1] == '0')
        bytes--;
    return text[bytes - 1] == '.' ? bytes - 1 : bytes;
}

static const char *value_text(const reading *r, ms_json_value value)
{
    const char *text = NULL;
    size_t bytes;
    if (ms_json_kind_of(value) == MS_JSON_STRING &&
        ms_json_get_string(value, &text, r->err) == MS_OK)
        return ms_report_text(r->arena, text);
    text = ms_json_source_text(value, &bytes);
    if (ms_json_kind_of(value) == MS_JSON_NUMBER)
        bytes = significant(text, bytes);
    text = ms_arena_printf(r->arena, "%.*s", (int)bytes, text);
    return text ? ms_report_text(r->arena, text) : NULL;
}

/* The members of an object that `is_wanted` takes. */
static ms_status read_fields(const reading *r, ms_json_value object,
                             bool (*is_wanted)(const char *name), ms_report_fields *fields)
{
    ms_report_field *items = ms_arena_array(r->arena, ms_report_field, ms_json_length(object));
    ms_json_value v;
    if (!items)
        return no_memory(r->err);
    if (ms_json_length(object) > MOST_FIELDS)
        return ms_json_fail(r->err, object, MS_JSON_AT_KEY, MS_ERR_LIMIT, "more than %d members",
                            MOST_FIELDS);
    fields->items = items;
    for (bool more = ms_json_first(object, &v); more; more = ms_json_next(&v)) {
        if (!is_wanted(ms_json_key(v)))
            continue;
        ms_report_field field = {ms_report_text(r->arena, ms_json_key(v)), value_text(r, v)};
        if (!field.name || !field.value)
            return no_memory(r->err);
        items[fields->count++] = field;
    }
    return MS_OK;
}

static bool is_of_run(const char *name)
{
    return !IS_IN(name, model_fields) && !IS_IN(name, left_aside);
}

static bool is_of_model(const char *name)
{
    return IS_IN(name, model_fields);
}

static bool is_any(const char *name)
{
    (void)name;
    return true;
}

static ms_status read_text(const reading *r, ms_json_value object, const char *key,
                           const char **text)
{
    ms_json_value value;
    const char *found = "";
    ms_status status = MS_OK;
    if (ms_json_find(object, key, &value))
        status = ms_json_get_string(value, &found, r->err);
    *text = ms_report_text(r->arena, found);
    return status == MS_OK && !*text ? no_memory(r->err) : status;
}

static ms_status read_metadata(const reading *r)
{
    ms_json_value metadata, config;
    ms_status status = ms_json_get_member(r->root, "metadata", &metadata, r->err);
    if (status == MS_OK)
        status = ms_json_expect(metadata, MS_JSON_OBJECT, r->err);
    if (status == MS_OK)
        status = read_text(r, metadata, "model", &r->report->name);
    if (status == MS_OK)
        status = read_text(r, metadata, "device", &r->report->device);
    if (status == MS_OK)
        status = read_fields(r, metadata, is_of_run, &r->report->settings);
    if (status == MS_OK)
        status = read_fields(r, metadata, is_of_model, &r->report->model);
    if (status != MS_OK || !ms_json_find(r->root, "config", &config))
        return status;
    status = ms_json_expect(config, MS_JSON_OBJECT, r->err);
    return status == MS_OK ? read_fields(r, config, is_any, &r->report->config) : status;
}

/* ---- figures ---- */

/* A member that every version has. */
static ms_status read_count(const reading *r, ms_json_value object, const char *key,
                            uint64_t *count)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(object, key, &value, r->err);
    return status == MS_OK ? ms_json_get_count(value, 0, UINT64_MAX, count, r->err) : status;
}

typedef struct figure {
    const char *key;
    uint64_t *count;
} figure;

static ms_status read_counts(const reading *r, ms_json_value object, const figure *figures,
                             size_t count)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = read_count(r, object, figures[i].key, figures[i].count);
    return status;
}

/* null where the device's rates are not known. */
static ms_status read_time(const reading *r, ms_json_value object, const char *key)
{
    ms_json_value value;
    if (!ms_json_find(object, key, &value) || ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_number(value, 0, 1e15, &r->report->step_ms, r->err);
}

static ms_status read_summary(const reading *r)
{
    ms_report *report = r->report;
    ms_json_value summary;
    const figure figures[] = {
        {"peak_memory_bytes", &report->peak_bytes},
        {"reserved_memory_bytes", &report->reserved_bytes},
        {"host_memory_bytes", &report->host_bytes},
        {"low_device_bytes", &report->low_bytes},
        {"expected_device_bytes", &report->expected_bytes},
        {"high_device_bytes", &report->high_bytes},
    };
    ms_status status = ms_json_get_member(r->root, "summary", &summary, r->err);
    if (status == MS_OK)
        status = read_counts(r, summary, figures, sizeof figures / sizeof figures[0]);
    if (status == MS_OK)
        status = read_text(r, summary, "peak_stage", &report->peak_phase);
    return status == MS_OK ? read_time(r, summary, "step_time_ms") : status;
}

static ms_status read_plan_figures(const reading *r)
{
    ms_report *report = r->report;
    const figure figures[] = {
        {"peak_memory_bytes", &report->peak_bytes},
        {"reserved_memory_bytes", &report->reserved_bytes},
        {"host_bytes", &report->host_bytes},
        {"device_bytes", &report->expected_bytes},
    };
    ms_status status = read_counts(r, r->root, figures, sizeof figures / sizeof figures[0]);
    report->low_bytes = report->high_bytes = report->expected_bytes;
    if (status == MS_OK)
        status = read_text(r, r->root, "peak_stage", &report->peak_phase);
    return status == MS_OK ? read_time(r, r->root, "step_ms") : status;
}

/* ---- parts ---- */

/* Adds to the part of that name, or appends one; `most` keeps the larger. */
static ms_status add_part(const reading *r, ms_report_part *items, uint32_t *count,
                          const char *name, uint64_t bytes, bool most)
{
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(items[i].name, name) == 0) {
            if (most)
                items[i].bytes = items[i].bytes > bytes ? items[i].bytes : bytes;
            else
                items[i].bytes = ms_add_saturating(items[i].bytes, bytes);
            return MS_OK;
        }
    if (*count == MOST_PARTS)
        return ms_fail(r->err, MS_ERR_LIMIT, "a report with more than %d categories or phases",
                       MOST_PARTS);
    const char *copy = ms_report_text(r->arena, name);
    if (!copy)
        return no_memory(r->err);
    items[(*count)++] = (ms_report_part){copy, "", bytes};
    return MS_OK;
}

/* What one element of a list is called, and its bytes. */
typedef ms_status (*part_reader)(const reading *r, ms_json_value item, const char **name,
                                 uint64_t *bytes);

static ms_status read_parts(const reading *r, ms_json_value object, const char *key,
                            part_reader read, bool most, ms_report_parts *parts)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(object, key, &list, r->err);
    if (status != MS_OK)
        return status;
    ms_report_part *items = ms_arena_array(r->arena, ms_report_part, ms_json_length(list));
    if (!items)
        return no_memory(r->err);
    parts->items = items;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const char *name = "";
        uint64_t bytes = 0;
        status = read(r, v, &name, &bytes);
        if (status == MS_OK)
            status = add_part(r, items, &parts->count, name, bytes, most);
    }
    return status;
}

static ms_status read_named(const reading *r, ms_json_value item, const char *name_key,
                            const char *bytes_key, const char **name, uint64_t *bytes)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(item, name_key, &value, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(value, name, r->err);
    return status == MS_OK ? read_count(r, item, bytes_key, bytes) : status;
}

static ms_status read_category(const reading *r, ms_json_value item, const char **name,
                               uint64_t *bytes)
{
    return read_named(r, item, "category", "bytes", name, bytes);
}

static ms_status read_phase(const reading *r, ms_json_value item, const char **name,
                            uint64_t *bytes)
{
    return read_named(r, item, "phase", "peak_bytes", name, bytes);
}

static ms_status read_place(const reading *r, ms_json_value item, const char **name,
                            uint64_t *bytes)
{
    ms_json_value first;
    ms_status status = ms_json_get_member(item, "first_layer", &first, r->err);
    if (status != MS_OK)
        return status;
    *name = ms_json_kind_of(first) == MS_JSON_NULL ? "outside the layers" : "layers";
    return read_count(r, item, "bytes", bytes);
}

static ms_status read_peak(const reading *r)
{
    ms_json_value peak;
    ms_report *report = r->report;
    ms_status status = ms_json_get_member(r->root, "peak", &peak, r->err);
    if (status == MS_OK)
        status = read_parts(r, peak, "categories", read_category, false, &report->categories);
    if (status == MS_OK)
        status = read_parts(r, peak, "layers", read_place, false, &report->places);
    return status;
}

/* A plan's are an object: name and bytes. */
static ms_status read_plan_categories(const reading *r)
{
    ms_json_value object, v;
    ms_report_parts *parts = &r->report->categories;
    ms_status status = ms_json_get_member(r->root, "categories", &object, r->err);
    if (status == MS_OK)
        status = ms_json_expect(object, MS_JSON_OBJECT, r->err);
    if (status != MS_OK)
        return status;
    ms_report_part *items = ms_arena_array(r->arena, ms_report_part, ms_json_length(object));
    if (!items)
        return no_memory(r->err);
    parts->items = items;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        uint64_t bytes = 0;
        status = ms_json_get_count(v, 0, UINT64_MAX, &bytes, r->err);
        if (status == MS_OK)
            status = add_part(r, items, &parts->count, ms_json_key(v), bytes, false);
    }
    return status;
}

uint64_t ms_report_part_bytes(const ms_report_parts *parts, const char *name)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (strcmp(parts->items[i].name, name) == 0)
            return parts->items[i].bytes;
    return 0;
}

/* ---- all of it ---- */

/* What a plan treats layers with is a setting of the run as planned. */
static ms_status read_treatments(const reading *r)
{
    const char *treat;
    ms_status status = read_text(r, r->root, "treat", &treat);
    ms_report_field *items =
        ms_arena_array(r->arena, ms_report_field, (size_t)r->report->settings.count + 1);
    if (status != MS_OK || !items)
        return status != MS_OK ? status : no_memory(r->err);
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->report->settings.count; i++)
        if (strcmp(r->report->settings.items[i].name, "treat") != 0)
            items[count++] = r->report->settings.items[i];
    items[count++] = (ms_report_field){"treat", *treat ? treat : "none"};
    r->report->settings = (ms_report_fields){items, count};
    return MS_OK;
}

static ms_status read_plan(const reading *r)
{
    ms_status status = read_plan_figures(r);
    if (status == MS_OK)
        status = read_plan_categories(r);
    return status == MS_OK ? read_treatments(r) : status;
}

static ms_status read_static(const reading *r)
{
    ms_status status = read_summary(r);
    if (status == MS_OK)
        status = read_peak(r);
    if (status == MS_OK)
        status = read_parts(r, r->root, "phases", read_phase, true, &r->report->phases);
    return status == MS_OK
               ? ms_report_operators_read(r->arena, r->root, &r->report->operators, r->err)
               : status;
}

ms_status ms_report_read(ms_arena *arena, ms_json_value root, ms_report *report, ms_error *err)
{
    const reading r = {arena, root, report, err};
    ms_json_value v;
    *report = (ms_report){.name = "", .device = "", .peak_phase = ""};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = check_version(&r);
    if (status == MS_OK)
        status = read_metadata(&r);
    if (status != MS_OK)
        return status;
    report->is_plan = ms_json_find(root, "planner", &v);
    return report->is_plan ? read_plan(&r) : read_static(&r);
}
