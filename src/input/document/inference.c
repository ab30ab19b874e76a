/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/inference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/document/operators.h"

bool ms_reading_is_inference(ms_json_value root)
{
    ms_json_value v;
    return ms_json_find(root, "engine", &v) && ms_json_find(root, "buffers", &v) &&
           ms_json_find(root, "phases", &v);
}

/* ---- members ---- */

#define DEVICE(type)                                                                               \
    MS_MEMBER(type, "device", device, .rules = MS_OR_NULL | MS_NONE_IS_MAX, .most = 1024)

#define PLACE(...) MS_MEMBER(ms_serving_place, __VA_ARGS__)
static const ms_member place_members[] = {
    DEVICE(ms_serving_place),
    PLACE("bytes", bytes),
    PLACE("low_bytes", low_bytes),
    PLACE("high_bytes", high_bytes),
};
static const ms_members place_table =
    MS_MEMBERS(ms_serving_place, place_members, .is_inline = true);

static const ms_member phase_members[] = {
    MS_MEMBER(ms_serving_phase, "phase", name, .rules = MS_LATER),
    MS_ROWS(ms_serving_phase, "places", places, count, &place_table),
};
static const ms_members phase_table = MS_MEMBERS(ms_serving_phase, phase_members);

#define BUFFER(...) MS_MEMBER(ms_serving_buffer, __VA_ARGS__)
static const ms_member buffer_members[] = {
    BUFFER("part", part, .rules = MS_LATER),
    BUFFER("place", place, .rules = MS_LATER),
    DEVICE(ms_serving_buffer),
    MS_ROWS(ms_serving_buffer, "phases", phases, phase_count, &ms_plain_texts,
            .rules = MS_LATER | MS_ON_LINE),
    BUFFER("bytes", bytes),
    BUFFER("low_bytes", low_bytes, .rules = MS_LATER),
    BUFFER("high_bytes", high_bytes, .rules = MS_LATER),
    BUFFER("cells", cells, .rules = MS_IF_ANY),
    BUFFER("layers", layers, .rules = MS_IF_ANY, .when = MS_PLACE(ms_serving_buffer, cells)),
};
static const ms_members buffer_table = MS_MEMBERS(ms_serving_buffer, buffer_members);

static const ms_member serving_members[] = {
    MS_ROWS(ms_serving, "phases", phases, phase_count, &phase_table),
    MS_ROWS(ms_serving, "buffers", buffers, buffer_count, &buffer_table),
};
const ms_members ms_serving_table = MS_MEMBERS(ms_serving, serving_members);

static const ms_member root_members[] = {
    MS_MEMBER(ms_serving, "budget_bytes", budget_bytes),
    MS_MEMBER(ms_serving, "devices", devices),
    MS_PART(NULL, &ms_serving_table),
};
static const ms_members root_table = MS_MEMBERS(ms_serving, root_members);

/* ---- the peak ---- */

enum { MOST_PHASES = 16, MOST_PLACES = 64 };

/* What the phases show, and where the peak is. */
typedef struct peak {
    ms_report_part *phases, *places;
    const char *phase;
    uint64_t device;
    bool has_devices, is_found;
} peak;

/* The part of that name, a new one if need be; NULL when out of memory or there are too many. */
static ms_report_part *part_of(const ms_reading *r, ms_report_part *items, uint32_t most,
                               ms_report_parts *parts, const char *name)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    const char *copy = parts->count < most ? ms_report_text(r->arena, name) : NULL;
    if (!copy)
        return NULL;
    items[parts->count] = (ms_report_part){copy, "", 0};
    parts->items = items;
    return &items[parts->count++];
}

static ms_status fail_many(const ms_reading *r)
{
    ms_json_value at = r->root;
    (void)ms_json_find(r->root, "phases", &at);
    return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_LIMIT,
                        "more than %d phases or %d places", MOST_PHASES, MOST_PLACES);
}

static void keep_most(ms_report_part *part, uint64_t bytes)
{
    part->bytes = bytes > part->bytes ? bytes : part->bytes;
}

static ms_status add_place(const ms_reading *r, const ms_serving_place *place, const char *phase,
                           peak *p)
{
    ms_report *report = r->report;
    char name[32] = "host";
    const bool is_host = place->device == MS_SERVING_HOST;
    if (!is_host)
        snprintf(name, sizeof name, "device %" PRIu64, place->device);
    ms_report_part *of_place = part_of(r, p->places, MOST_PLACES, &report->places, name);
    ms_report_part *of_phase = part_of(r, p->phases, MOST_PHASES, &report->phases, phase);
    if (!of_place || !of_phase)
        return fail_many(r);
    keep_most(of_place, place->bytes);
    if (is_host && place->bytes > report->host_bytes)
        report->host_bytes = place->bytes;
    if (is_host == p->has_devices)
        return MS_OK;
    keep_most(of_phase, place->bytes);
    if (p->is_found && place->bytes <= report->expected_bytes)
        return MS_OK;
    p->is_found = true;
    p->phase = of_phase->name;
    p->device = place->device;
    report->low_bytes = place->low_bytes;
    report->expected_bytes = place->bytes;
    report->high_bytes = place->high_bytes;
    return MS_OK;
}

static ms_status add_phases(const ms_reading *r, const ms_serving *s, peak *p)
{
    ms_status status = MS_OK;
    p->phases = ms_arena_array(r->arena, ms_report_part, MOST_PHASES);
    p->places = ms_arena_array(r->arena, ms_report_part, MOST_PLACES);
    if (!p->phases || !p->places)
        return ms_reading_no_memory(r);
    for (uint32_t i = 0; i < s->phase_count; i++)
        for (uint32_t k = 0; k < s->phases[i].count && status == MS_OK; k++)
            status = add_place(r, &s->phases[i].places[k],
                               s->phases[i].name ? s->phases[i].name : "", p);
    r->report->peak_phase = p->phase ? p->phase : "";
    return status;
}

/* ---- parts ---- */

/* A buffer that says no phases is there in all. */
static bool is_in_phase(const ms_serving_buffer *buffer, const char *phase)
{
    for (uint32_t i = 0; phase && buffer->phases && i < buffer->phase_count; i++)
        if (strcmp(buffer->phases[i], phase) == 0)
            return true;
    return !phase || !buffer->phases;
}

static ms_status add_buffers(const ms_reading *r, const ms_serving *s, const peak *p)
{
    ms_report_part *parts = ms_arena_array(r->arena, ms_report_part, MOST_PLACES);
    if (!parts)
        return ms_reading_no_memory(r);
    for (uint32_t i = 0; i < s->buffer_count; i++) {
        const ms_serving_buffer *b = &s->buffers[i];
        const char *name = b->part ? b->part : "";
        if (b->device != p->device || !is_in_phase(b, p->phase))
            continue;
        ms_report_part *part = part_of(r, parts, MOST_PLACES, &r->report->categories, name);
        if (!part)
            return fail_many(r);
        part->bytes = ms_add_saturating(part->bytes, b->bytes);
        if (strcmp(name, "context") != 0)
            r->report->peak_bytes = ms_add_saturating(r->report->peak_bytes, b->bytes);
    }
    return MS_OK;
}

/* ---- all of it ---- */

static bool is_any(const char *name)
{
    (void)name;
    return true;
}

static bool is_of_engine(const char *name)
{
    return strcmp(name, "engine") == 0 || strcmp(name, "engine_version") == 0 ||
           strcmp(name, "context") == 0 || strcmp(name, "concurrency") == 0 ||
           strcmp(name, "device") == 0 || strcmp(name, "model") == 0;
}

/* Those that were given, after those that every report has. */
static ms_status read_settings(const ms_reading *r)
{
    ms_report_fields given = {NULL, 0}, *all = &r->report->settings;
    ms_json_value settings;
    ms_status status = ms_reading_fields(r, r->root, is_of_engine, all);
    if (status != MS_OK || !ms_json_find(r->root, "settings", &settings))
        return status;
    status = ms_json_expect(settings, MS_JSON_OBJECT, r->err);
    if (status == MS_OK)
        status = ms_reading_fields(r, settings, is_any, &given);
    ms_report_field *items = status == MS_OK ? ms_arena_array(r->arena, ms_report_field,
                                                              (size_t)all->count + given.count)
                                             : NULL;
    if (!items)
        return status != MS_OK ? status : ms_reading_no_memory(r);
    for (uint32_t i = 0; i < all->count; i++)
        items[i] = all->items[i];
    uint32_t count = all->count;
    for (uint32_t i = 0; i < given.count; i++)
        if (!is_of_engine(given.items[i].name))
            items[count++] = given.items[i];
    *all = (ms_report_fields){items, count};
    return MS_OK;
}

ms_status ms_reading_inference(const ms_reading *r)
{
    const ms_members_reading reading = ms_reading_members(r);
    peak p = {.device = MS_SERVING_HOST};
    ms_serving s = {0};
    const char *reason = "";
    ms_status status = ms_reading_text(r, r->root, "model", &r->report->name);
    if (status == MS_OK)
        status = ms_reading_text(r, r->root, "device", &r->report->device);
    if (status == MS_OK)
        status = read_settings(r);
    if (status == MS_OK)
        status = ms_reading_text(r, r->root, "verdict_reason", &reason);
    if (status == MS_OK)
        status = ms_members_read(&reading, &root_table, r->root, &s);
    r->report->has_reason = status == MS_OK && ms_reason_find(reason, &r->report->reason);
    r->report->budget_bytes = s.budget_bytes;
    p.has_devices = s.devices > 0;
    if (status == MS_OK)
        status = add_phases(r, &s, &p);
    return status == MS_OK ? add_buffers(r, &s, &p) : status;
}
