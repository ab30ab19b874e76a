/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/inference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/document/operators.h"

enum { HOST = -1, MOST_DEVICES = 1024 };

bool ms_reading_is_inference(ms_json_value root)
{
    ms_json_value v;
    return ms_json_find(root, "engine", &v) && ms_json_find(root, "buffers", &v) &&
           ms_json_find(root, "phases", &v);
}

/* ---- members ---- */

static ms_status get_count(const ms_reading *r, ms_json_value object, const char *key,
                           uint64_t *count)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(object, key, &value, r->err);
    return status == MS_OK ? ms_json_get_count(value, 0, UINT64_MAX, count, r->err) : status;
}

static ms_status get_device(const ms_reading *r, ms_json_value object, int *device)
{
    ms_json_value value;
    uint64_t index = 0;
    ms_status status = ms_json_get_member(object, "device", &value, r->err);
    *device = HOST;
    if (status != MS_OK || ms_json_kind_of(value) == MS_JSON_NULL)
        return status;
    status = ms_json_get_count(value, 0, MOST_DEVICES, &index, r->err);
    *device = (int)index;
    return status;
}

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

/* ---- phases ---- */

enum { MOST_PHASES = 16, MOST_PLACES = 64 };

/* What the phases show, and where the peak is. */
typedef struct peak {
    ms_report_part *phases, *places;
    const char *phase;
    int device;
    bool has_devices, is_found;
} peak;

static ms_status fail_many(const ms_reading *r, ms_json_value at)
{
    return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_LIMIT,
                        "more than %d phases or %d places", MOST_PHASES, MOST_PLACES);
}

static void keep_most(ms_report_part *part, uint64_t bytes)
{
    part->bytes = bytes > part->bytes ? bytes : part->bytes;
}

static ms_status read_place(const ms_reading *r, ms_json_value place, const char *phase, peak *p)
{
    ms_report *report = r->report;
    uint64_t bytes = 0, low = 0, high = 0;
    char name[24] = "host";
    int device;
    ms_status status = get_device(r, place, &device);
    if (status == MS_OK)
        status = get_count(r, place, "bytes", &bytes);
    if (status == MS_OK)
        status = get_count(r, place, "low_bytes", &low);
    if (status == MS_OK)
        status = get_count(r, place, "high_bytes", &high);
    if (status != MS_OK)
        return status;
    if (device != HOST)
        snprintf(name, sizeof name, "device %d", device);
    ms_report_part *of_place = part_of(r, p->places, MOST_PLACES, &report->places, name);
    ms_report_part *of_phase = part_of(r, p->phases, MOST_PHASES, &report->phases, phase);
    if (!of_place || !of_phase)
        return fail_many(r, place);
    keep_most(of_place, bytes);
    if (device == HOST && bytes > report->host_bytes)
        report->host_bytes = bytes;
    if ((device == HOST) == p->has_devices)
        return MS_OK;
    keep_most(of_phase, bytes);
    if (p->is_found && bytes <= report->expected_bytes)
        return MS_OK;
    p->is_found = true;
    p->phase = of_phase->name;
    p->device = device;
    report->low_bytes = low;
    report->expected_bytes = bytes;
    report->high_bytes = high;
    return MS_OK;
}

static ms_status read_phase(const ms_reading *r, ms_json_value phase, peak *p)
{
    ms_json_value places, v;
    const char *name = "";
    ms_status status = ms_reading_text(r, phase, "phase", &name);
    if (status == MS_OK)
        status = ms_json_get_list(phase, "places", &places, r->err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(places, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_place(r, v, name, p);
    return status;
}

static ms_status read_phases(const ms_reading *r, peak *p)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(r->root, "phases", &list, r->err);
    p->phases = ms_arena_array(r->arena, ms_report_part, MOST_PHASES);
    p->places = ms_arena_array(r->arena, ms_report_part, MOST_PLACES);
    if (status != MS_OK || !p->phases || !p->places)
        return status != MS_OK ? status : ms_reading_no_memory(r);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_phase(r, v, p);
    r->report->peak_phase = p->phase ? p->phase : "";
    return status;
}

/* ---- parts ---- */

/* A buffer that says no phases is there in all. */
static bool is_in_phase(ms_json_value buffer, const char *phase)
{
    ms_json_value list, v;
    const char *name;
    ms_error ignored = {.status = MS_OK};
    if (!phase || !ms_json_find(buffer, "phases", &list) || ms_json_kind_of(list) != MS_JSON_ARRAY)
        return true;
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v))
        if (ms_json_get_string(v, &name, &ignored) == MS_OK && strcmp(name, phase) == 0)
            return true;
    return false;
}

static ms_status read_buffer(const ms_reading *r, ms_json_value buffer, const peak *p,
                             ms_report_part *parts)
{
    const char *name = "";
    uint64_t bytes = 0;
    int device = 0;
    ms_status status = ms_reading_text(r, buffer, "part", &name);
    if (status == MS_OK)
        status = get_device(r, buffer, &device);
    if (status == MS_OK)
        status = get_count(r, buffer, "bytes", &bytes);
    if (status != MS_OK || device != p->device || !is_in_phase(buffer, p->phase))
        return status;
    ms_report_part *part = part_of(r, parts, MOST_PLACES, &r->report->categories, name);
    if (!part)
        return fail_many(r, buffer);
    part->bytes = ms_add_saturating(part->bytes, bytes);
    if (strcmp(name, "context") != 0)
        r->report->peak_bytes = ms_add_saturating(r->report->peak_bytes, bytes);
    return MS_OK;
}

static ms_status read_buffers(const ms_reading *r, const peak *p)
{
    ms_json_value list, v;
    ms_report_part *parts = ms_arena_array(r->arena, ms_report_part, MOST_PLACES);
    ms_status status = ms_json_get_list(r->root, "buffers", &list, r->err);
    if (status != MS_OK || !parts)
        return status != MS_OK ? status : ms_reading_no_memory(r);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_buffer(r, v, p, parts);
    return status;
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

static ms_status read_verdict(const ms_reading *r)
{
    const char *name = "";
    ms_status status = get_count(r, r->root, "budget_bytes", &r->report->budget_bytes);
    if (status == MS_OK)
        status = ms_reading_text(r, r->root, "verdict_reason", &name);
    r->report->has_reason = status == MS_OK && ms_reason_find(name, &r->report->reason);
    return status;
}

ms_status ms_reading_inference(const ms_reading *r)
{
    peak p = {.device = HOST};
    uint64_t devices = 0;
    ms_status status = ms_reading_text(r, r->root, "model", &r->report->name);
    if (status == MS_OK)
        status = ms_reading_text(r, r->root, "device", &r->report->device);
    if (status == MS_OK)
        status = read_settings(r);
    if (status == MS_OK)
        status = read_verdict(r);
    if (status == MS_OK)
        status = get_count(r, r->root, "devices", &devices);
    p.has_devices = devices > 0;
    if (status == MS_OK)
        status = read_phases(r, &p);
    return status == MS_OK ? read_buffers(r, &p) : status;
}
