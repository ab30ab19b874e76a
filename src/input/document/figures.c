/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the figures of a report.
 */
#include "input/document/figures.h"

#include <string.h>

#include "base/json/members.h"
#include "input/document/operators.h"
#include "input/document/reading.h"

enum { MOST_PARTS = 256 }; /* far more than there are: each is looked up among the others */

/* ---- figures ---- */

#define REPORT(...) MS_MEMBER(ms_report, __VA_ARGS__)
#define IF_KNOWN .rules = MS_IF_ANY | MS_OR_NULL
static const ms_member summary_members[] = {
    REPORT("peak_memory_bytes", peak_bytes),
    REPORT("reserved_memory_bytes", reserved_bytes),
    REPORT("host_memory_bytes", host_bytes),
    REPORT("low_device_bytes", low_bytes),
    REPORT("expected_device_bytes", expected_bytes),
    REPORT("high_device_bytes", high_bytes),
    REPORT("peak_stage", peak_phase, .rules = MS_IF_ANY),
    REPORT("budget_bytes", budget_bytes, IF_KNOWN), /* not where the device's memory is not known */
    REPORT("step_time_ms", step_ms, IF_KNOWN),      /* nor its rates */
};
static const ms_members summary_table = MS_MEMBERS(ms_report, summary_members);

static const ms_member plan_members[] = {
    REPORT("peak_memory_bytes", peak_bytes),
    REPORT("reserved_memory_bytes", reserved_bytes),
    REPORT("host_bytes", host_bytes),
    REPORT("device_bytes", expected_bytes),
    REPORT("peak_stage", peak_phase, .rules = MS_IF_ANY),
    REPORT("budget_bytes", budget_bytes, IF_KNOWN),
    REPORT("step_ms", step_ms, IF_KNOWN),
};
static const ms_members plan_table = MS_MEMBERS(ms_report, plan_members);

/* A word that is not known here leaves nothing. */
static ms_status read_reason(const ms_reading *r, ms_json_value object)
{
    const char *name = "";
    ms_status status = ms_reading_text(r, object, "verdict_reason", &name);
    r->report->has_reason = status == MS_OK && ms_reason_find(name, &r->report->reason);
    return status;
}

typedef struct key {
    const char *read_as, *key, *effect;
} key;
static const ms_member key_members[] = {
    MS_MEMBER(key, "read_as", read_as, .rules = MS_IF_ANY),
    MS_MEMBER(key, "key", key, .rules = MS_IF_ANY),
    MS_MEMBER(key, "effect", effect, .rules = MS_IF_ANY),
};
static const ms_members key_table = MS_MEMBERS(key, key_members);

static bool is_text(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

/* The keys that are not predicted, since 1.9. */
static ms_status read_left_out(const ms_reading *r)
{
    ms_json_value inputs, value, most;
    ms_report *report = r->report;
    const ms_members_reading reading = ms_reading_members(r);
    if (!ms_json_find(r->root, "inputs", &inputs) || ms_json_kind_of(inputs) != MS_JSON_ARRAY)
        return MS_OK;
    for (bool more = ms_json_first(inputs, &value); more; more = ms_json_next(&value)) {
        key k = {0};
        const char *before = report->left_out.names;
        ms_status status = ms_members_read(&reading, &key_table, value, &k);
        if (status != MS_OK)
            return status;
        bool is_left_out = is_text(k.read_as, "not-predicted") || is_text(k.read_as, "unknown");
        if (!is_left_out || ms_json_find(value, "most_bytes", &most))
            continue;
        report->left_out.adds |= !is_text(k.effect, "saves");
        report->left_out.saves |= !is_text(k.effect, "adds");
        report->left_out.names = ms_arena_printf(r->arena, "%s%s%s", before ? before : "",
                                                 before ? ", " : "", k.key ? k.key : "");
        if (!report->left_out.names)
            return ms_reading_no_memory(r);
    }
    return MS_OK;
}

static ms_status read_figures(const ms_reading *r, ms_json_value object, const ms_members *members)
{
    const ms_members_reading reading = ms_reading_members(r);
    ms_status status = ms_members_read(&reading, members, object, r->report);
    if (status == MS_OK)
        status = read_reason(r, object);
    return status == MS_OK ? read_left_out(r) : status;
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

typedef struct part {
    const char *name;
    uint64_t first_layer, bytes;
} part;
typedef struct part_list {
    part *items;
    uint32_t count;
} part_list;
#define PART(...) MS_MEMBER(part, __VA_ARGS__)
static const ms_member category_members[] = {PART("category", name), PART("bytes", bytes)};
static const ms_member phase_members[] = {PART("phase", name), PART("peak_bytes", bytes)};
static const ms_member layer_members[] = {
    PART("first_layer", first_layer, .rules = MS_OR_NULL | MS_NONE_IS_MAX),
    PART("bytes", bytes),
};
static const ms_members category_table = MS_MEMBERS(part, category_members);
static const ms_members phase_table = MS_MEMBERS(part, phase_members);
static const ms_members layer_table = MS_MEMBERS(part, layer_members);

typedef struct lists {
    part_list categories, layers, phases;
} lists;
#define LIST(key, list, table) MS_ROWS(lists, key, list.items, list.count, table)
static const ms_member peak_members[] = {LIST("categories", categories, &category_table),
                                         LIST("layers", layers, &layer_table)};
static const ms_members peak_table = MS_MEMBERS(lists, peak_members);
static const ms_member list_members[] = {MS_PART("peak", &peak_table),
                                         LIST("phases", phases, &phase_table)};
static const ms_members list_table = MS_MEMBERS(lists, list_members);

static ms_status add_parts(const ms_reading *r, const part_list *read, bool most,
                           ms_report_parts *parts)
{
    ms_report_part *items = ms_arena_array(r->arena, ms_report_part, read->count);
    ms_status status = items ? MS_OK : ms_reading_no_memory(r);
    parts->items = items;
    for (uint32_t i = 0; i < read->count && status == MS_OK; i++) {
        const part *p = &read->items[i];
        const char *place = p->first_layer == UINT64_MAX ? "outside the layers" : "layers";
        status = add_part(r, items, &parts->count, p->name ? p->name : place, p->bytes, most);
    }
    return status;
}

static ms_status read_lists(const ms_reading *r)
{
    lists l = {0};
    ms_report *report = r->report;
    const ms_members_reading reading = ms_reading_members(r);
    ms_status status = ms_members_read(&reading, &list_table, r->root, &l);
    if (status == MS_OK)
        status = add_parts(r, &l.categories, false, &report->categories);
    if (status == MS_OK)
        status = add_parts(r, &l.layers, false, &report->places);
    return status == MS_OK ? add_parts(r, &l.phases, true, &report->phases) : status;
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
    ms_status status = read_figures(r, r->root, &plan_table);
    r->report->low_bytes = r->report->high_bytes = r->report->expected_bytes;
    if (status == MS_OK)
        status = read_plan_categories(r);
    return status == MS_OK ? read_treatments(r) : status;
}

static const ms_member level_members[] = {
    MS_MEMBER(ms_report_level, "event", event),
    MS_MEMBER(ms_report_level, "bytes", bytes),
};
static const ms_members level_table = MS_MEMBERS(ms_report_level, level_members);

/* Older reports, and those written by hand, may have no timeline. */
static const ms_member timeline_members[] = {
    MS_ROWS(ms_report, "timeline", levels, level_count, &level_table, .rules = MS_IF_ANY)};
static const ms_members timeline_table = MS_MEMBERS(ms_report, timeline_members);

ms_status ms_reading_static(const ms_reading *r)
{
    const ms_members_reading reading = ms_reading_members(r);
    ms_json_value summary;
    ms_status status = ms_json_get_member(r->root, "summary", &summary, r->err);
    if (status == MS_OK)
        status = read_figures(r, summary, &summary_table);
    if (status == MS_OK)
        status = read_lists(r);
    if (status == MS_OK)
        status = ms_members_read(&reading, &timeline_table, r->root, r->report);
    return status == MS_OK ? ms_report_operators_read(r->arena, r->root, r->report, r->err)
                           : status;
}
