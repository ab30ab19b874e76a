/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the figures of a report.
 */
#include "input/document/figures.h"

#include <string.h>

#include "input/document/operators.h"
#include "input/document/reading.h"

enum { MOST_PARTS = 256 }; /* far more than there are: each is looked up among the others */

/* ---- figures ---- */

/* A member that every version has. */
static ms_status read_count(const ms_reading *r, ms_json_value object, const char *key,
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

static ms_status read_counts(const ms_reading *r, ms_json_value object, const figure *figures,
                             size_t count)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = read_count(r, object, figures[i].key, figures[i].count);
    return status;
}

/* null where the device's rates are not known. */
static ms_status read_time(const ms_reading *r, ms_json_value object, const char *key)
{
    ms_json_value value;
    if (!ms_json_find(object, key, &value) || ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_number(value, 0, 1e15, &r->report->step_ms, r->err);
}

/* null where the device's memory is not known. */
static ms_status read_budget(const ms_reading *r, ms_json_value object)
{
    ms_json_value value;
    if (!ms_json_find(object, "budget_bytes", &value) || ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_count(value, 0, UINT64_MAX, &r->report->budget_bytes, r->err);
}

/* A word that is not known here leaves nothing. */
static ms_status read_reason(const ms_reading *r, ms_json_value object)
{
    const char *name = "";
    ms_status status = ms_reading_text(r, object, "verdict_reason", &name);
    r->report->has_reason = status == MS_OK && ms_reason_find(name, &r->report->reason);
    return status;
}

/* The keys that are not predicted, since 1.9. */
static ms_status read_left_out(const ms_reading *r)
{
    ms_json_value inputs, value, most;
    ms_report *report = r->report;
    if (!ms_json_find(r->root, "inputs", &inputs) || ms_json_kind_of(inputs) != MS_JSON_ARRAY)
        return MS_OK;
    for (bool more = ms_json_first(inputs, &value); more; more = ms_json_next(&value)) {
        const char *key = "", *read_as = "", *effect = "";
        const char *before = report->left_out.names;
        ms_status status = ms_reading_text(r, value, "read_as", &read_as);
        if (status == MS_OK)
            status = ms_reading_text(r, value, "key", &key);
        if (status == MS_OK)
            status = ms_reading_text(r, value, "effect", &effect);
        if (status != MS_OK)
            return status;
        bool is_left_out = strcmp(read_as, "not-predicted") == 0 || strcmp(read_as, "unknown") == 0;
        if (!is_left_out || ms_json_find(value, "most_bytes", &most))
            continue;
        report->left_out.adds |= strcmp(effect, "saves") != 0;
        report->left_out.saves |= strcmp(effect, "adds") != 0;
        report->left_out.names =
            ms_arena_printf(r->arena, "%s%s%s", before ? before : "", before ? ", " : "", key);
        if (!report->left_out.names)
            return ms_reading_no_memory(r);
    }
    return MS_OK;
}

static ms_status read_summary(const ms_reading *r)
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
        status = ms_reading_text(r, summary, "peak_stage", &report->peak_phase);
    if (status == MS_OK)
        status = read_reason(r, summary);
    if (status == MS_OK)
        status = read_left_out(r);
    if (status == MS_OK)
        status = read_budget(r, summary);
    return status == MS_OK ? read_time(r, summary, "step_time_ms") : status;
}

static ms_status read_plan_figures(const ms_reading *r)
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
        status = ms_reading_text(r, r->root, "peak_stage", &report->peak_phase);
    if (status == MS_OK)
        status = read_reason(r, r->root);
    if (status == MS_OK)
        status = read_left_out(r);
    if (status == MS_OK)
        status = read_budget(r, r->root);
    return status == MS_OK ? read_time(r, r->root, "step_ms") : status;
}

/* ---- parts ---- */

/* Adds to the part of that name, or appends one; `most` keeps the larger. */
static ms_status add_part(const ms_reading *r, ms_report_part *items, uint32_t *count,
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
        return ms_reading_no_memory(r);
    items[(*count)++] = (ms_report_part){copy, "", bytes};
    return MS_OK;
}

/* What one element of a list is called, and its bytes. */
typedef ms_status (*part_reader)(const ms_reading *r, ms_json_value item, const char **name,
                                 uint64_t *bytes);

static ms_status read_parts(const ms_reading *r, ms_json_value object, const char *key,
                            part_reader read, bool most, ms_report_parts *parts)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(object, key, &list, r->err);
    if (status != MS_OK)
        return status;
    ms_report_part *items = ms_arena_array(r->arena, ms_report_part, ms_json_length(list));
    if (!items)
        return ms_reading_no_memory(r);
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

static ms_status read_named(const ms_reading *r, ms_json_value item, const char *name_key,
                            const char *bytes_key, const char **name, uint64_t *bytes)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(item, name_key, &value, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(value, name, r->err);
    return status == MS_OK ? read_count(r, item, bytes_key, bytes) : status;
}

static ms_status read_category(const ms_reading *r, ms_json_value item, const char **name,
                               uint64_t *bytes)
{
    return read_named(r, item, "category", "bytes", name, bytes);
}

static ms_status read_phase(const ms_reading *r, ms_json_value item, const char **name,
                            uint64_t *bytes)
{
    return read_named(r, item, "phase", "peak_bytes", name, bytes);
}

static ms_status read_place(const ms_reading *r, ms_json_value item, const char **name,
                            uint64_t *bytes)
{
    ms_json_value first;
    ms_status status = ms_json_get_member(item, "first_layer", &first, r->err);
    if (status != MS_OK)
        return status;
    *name = ms_json_kind_of(first) == MS_JSON_NULL ? "outside the layers" : "layers";
    return read_count(r, item, "bytes", bytes);
}

static ms_status read_peak(const ms_reading *r)
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
static ms_status read_plan_categories(const ms_reading *r)
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
        return ms_reading_no_memory(r);
    parts->items = items;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        uint64_t bytes = 0;
        status = ms_json_get_count(v, 0, UINT64_MAX, &bytes, r->err);
        if (status == MS_OK)
            status = add_part(r, items, &parts->count, ms_json_key(v), bytes, false);
    }
    return status;
}

/* ---- all of it ---- */

/* What a plan treats layers with is a setting of the run as planned. */
static ms_status read_treatments(const ms_reading *r)
{
    const char *treat;
    ms_status status = ms_reading_text(r, r->root, "treat", &treat);
    ms_report_field *items =
        ms_arena_array(r->arena, ms_report_field, (size_t)r->report->settings.count + 1);
    if (status != MS_OK || !items)
        return status != MS_OK ? status : ms_reading_no_memory(r);
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->report->settings.count; i++)
        if (strcmp(r->report->settings.items[i].name, "treat") != 0)
            items[count++] = r->report->settings.items[i];
    items[count++] = (ms_report_field){"treat", *treat ? treat : "none"};
    r->report->settings = (ms_report_fields){items, count};
    return MS_OK;
}

ms_status ms_reading_plan(const ms_reading *r)
{
    ms_status status = read_plan_figures(r);
    if (status == MS_OK)
        status = read_plan_categories(r);
    return status == MS_OK ? read_treatments(r) : status;
}

/* Older reports, and those written by hand, may have no timeline. */
static ms_status read_levels(const ms_reading *r)
{
    ms_json_value list, v, member;
    ms_status status = MS_OK;
    if (!ms_json_find(r->root, "timeline", &list))
        return MS_OK;
    status = ms_json_expect(list, MS_JSON_ARRAY, r->err);
    uint32_t count = status == MS_OK ? ms_json_length(list) : 0;
    ms_report_level *levels = ms_arena_array(r->arena, ms_report_level, (size_t)count + 1);
    if (!levels)
        return ms_reading_no_memory(r);
    ms_report_level *at = levels;
    for (bool more = count > 0 && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), at++) {
        status = ms_json_get_member(v, "event", &member, r->err);
        if (status == MS_OK)
            status = ms_json_get_count(member, 0, UINT64_MAX, &at->event, r->err);
        if (status == MS_OK)
            status = ms_json_get_member(v, "bytes", &member, r->err);
        if (status == MS_OK)
            status = ms_json_get_count(member, 0, UINT64_MAX, &at->bytes, r->err);
    }
    r->report->levels = levels;
    r->report->level_count = count;
    return status;
}

ms_status ms_reading_static(const ms_reading *r)
{
    ms_status status = read_summary(r);
    if (status == MS_OK)
        status = read_peak(r);
    if (status == MS_OK)
        status = read_parts(r, r->root, "phases", read_phase, true, &r->report->phases);
    if (status == MS_OK)
        status = read_levels(r);
    return status == MS_OK ? ms_report_operators_read(r->arena, r->root, r->report, r->err)
                           : status;
}
