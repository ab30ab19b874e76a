/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/members.h"
#include "base/json/number.h"
#include "base/json/value.h"
#include "input/document/reading.h"

/* ---- step places ---- */

ms_status ms_placed_text(const ms_placed *placed, const char **text, ms_error *err)
{
    if (!placed->is_there)
        return ms_json_fail(err, placed->at, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "it has no %s",
                            placed->pointer);
    return ms_json_get_string(placed->at, text, err);
}

ms_status ms_placed_number(const ms_placed *placed, bool must, double *number, ms_error *err)
{
    if (placed->is_there && ms_json_kind_of(placed->at) != MS_JSON_NULL)
        return ms_json_get_number(placed->at, 0, MS_MEASURED_MOST, number, err);
    return must ? ms_json_fail(err, placed->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "it has no %s",
                               placed->pointer)
                : MS_OK;
}

static ms_placed find(ms_json_value root, const char *pointer)
{
    ms_placed placed = {.pointer = pointer, .root = root, .at = root};
    placed.is_there = ms_json_find_pointer(root, pointer, &placed.at);
    if (!placed.is_there)
        placed.at = root;
    return placed;
}

/* What says how, or the line of the metadata. */
static ms_placed find_calibration(ms_json_value root)
{
    ms_placed placed = find(root, "/calibration");
    return placed.is_there ? placed : find(root, "/metadata/calibration");
}

ms_predicted_step ms_predicted_step_find(ms_json_value root)
{
    return (ms_predicted_step){
        .root = root,
        .device = find(root, "/metadata/device"),
        .calibration = find_calibration(root),
        .reserved_bytes = find(root, "/summary/reserved_memory_bytes"),
        .exposed_copy_ms = find(root, "/summary/exposed_copy_ms"),
        .step_time_ms = find(root, "/summary/step_time_ms"),
        .roofline_product_ms = find(root, "/times/roofline_ms/product"),
        .roofline_attention_ms = find(root, "/times/roofline_ms/attention"),
        .roofline_other_ms = find(root, "/times/roofline_ms/other"),
    };
}

ms_measured_step ms_measured_step_find(ms_json_value root)
{
    return (ms_measured_step){
        .mode = find(root, "/metadata/mode"),
        .outcome = find(root, "/outcome"),
        .device_title = find(root, "/metadata/device_title"),
        .device_bytes = find(root, "/metadata/device_bytes"),
        .reserved_bytes = find(root, "/summary/reserved_memory_bytes"),
        .device_used_bytes = find(root, "/summary/device_used_bytes"),
        .step_time_ms = find(root, "/summary/step_time_ms"),
    };
}

/* ---- operators ---- */

/* One record of the file. */
typedef struct record {
    const char *name, *phase, *pass, *layers; /* layers: "0-2,5", or NULL */
    uint64_t memory_bytes, saved_bytes, temporary_bytes, count, peak_bytes;
    bool persistent, has_peak;
} record;

/* ---- reading ---- */

#define RECORD(...) MS_MEMBER(record, __VA_ARGS__)
static const ms_member extra_members[] = {
    RECORD("count", count, .rules = MS_IF_ANY),
    RECORD("layers", layers, .rules = MS_IF_ANY | MS_OR_NULL),
    RECORD("pass", pass, .rules = MS_IF_ANY | MS_OR_NULL),
    RECORD("saved_bytes", saved_bytes, .rules = MS_IF_ANY),
    RECORD("temporary_bytes", temporary_bytes, .rules = MS_IF_ANY),
    RECORD("peak_bytes", peak_bytes, .rules = MS_IF_ANY, .when = MS_PLACE(record, has_peak)),
};
static const ms_members extra_table = MS_MEMBERS(record, extra_members);

static const ms_member record_members[] = {
    RECORD("name", name),
    RECORD("phase", phase, .rules = MS_IF_ANY | MS_OR_NULL),
    RECORD("memory_bytes", memory_bytes),
    RECORD("persistent", persistent),
    MS_PART("extra", &extra_table, .rules = MS_IF_ANY),
};
static const ms_members record_table = MS_MEMBERS(record, record_members);

/* ---- layers ---- */

/* Reads digits; *text moves behind them. */
static uint64_t read_digits(const char **text)
{
    uint64_t number = 0;
    for (; ms_is_digit(**text); (*text)++)
        number = number < UINT32_MAX ? number * 10 + (uint64_t)(**text - '0') : number;
    return number;
}

/* How many layers "0-2,5" names; 1 for none. */
static uint64_t count_layers(const char *layers)
{
    uint64_t total = 0;
    for (const char *p = layers; p && ms_is_digit(*p);) {
        uint64_t first = read_digits(&p), last = first;
        if (*p == '-') {
            p++;
            last = read_digits(&p);
        }
        total += last >= first ? last - first + 1 : 1;
        p += *p == ',';
    }
    return total ? total : 1;
}

static const char *star(ms_arena *arena, const char *name, size_t before, const char *after)
{
    const char *text = ms_arena_printf(arena, "%.*s*%s", (int)before, name, after);
    return text ? ms_report_text(arena, text) : NULL;
}

/* A layer on its own has its number in the name; in its place goes the star of many. */
static const char *fold_name(ms_arena *arena, const record *r)
{
    size_t length = r->layers ? strlen(r->layers) : 0;
    const char *p = r->name;
    if (length == 0 || r->layers[strspn(r->layers, "0123456789")] != '\0')
        return ms_report_text(arena, r->name);
    for (; *p; p += strcspn(p, "."), p += *p == '.')
        if (strncmp(p, r->layers, length) == 0 && (p[length] == '.' || p[length] == '\0'))
            return star(arena, r->name, (size_t)(p - r->name), p + length);
    return ms_report_text(arena, r->name);
}

/* ---- parts ---- */

/* What the layers keep adds up; what an operator holds while it runs is held once. */
typedef struct part {
    const char *name, *where;
    uint64_t kept_bytes, working_bytes, peak_bytes;
} part;

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static bool make_part(ms_arena *arena, const record *r, part *p)
{
    bool again = strcmp(r->pass, "recompute") == 0;
    uint64_t saved = r->saved_bytes < r->memory_bytes ? r->saved_bytes : r->memory_bytes;
    p->name = fold_name(arena, r);
    p->where = ms_report_text(arena, again ? r->pass : r->phase);
    p->peak_bytes = r->peak_bytes;
    if (r->persistent) {
        p->kept_bytes = times(r->memory_bytes, r->count);
    } else {
        p->kept_bytes = times(saved, count_layers(r->layers));
        p->working_bytes = ms_add_saturating(r->memory_bytes - saved, r->temporary_bytes);
    }
    return p->name && p->where;
}

static int by_name(const void *a, const void *b)
{
    const part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->where, y->where);
}

/* Parts of one name become one, in either list; what holds nothing at the peak is not in that. */
static uint32_t merge(const part *parts, uint32_t count, ms_report_part *merged,
                      ms_report_part *at_peak, uint32_t *alive)
{
    uint32_t length = 0;
    *alive = 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        uint64_t kept = 0, working = 0, peak = 0;
        for (end = i; end < count && by_name(&parts[i], &parts[end]) == 0; end++) {
            kept = ms_add_saturating(kept, parts[end].kept_bytes);
            working = parts[end].working_bytes > working ? parts[end].working_bytes : working;
            peak = ms_add_saturating(peak, parts[end].peak_bytes);
        }
        if (peak > 0)
            at_peak[(*alive)++] = (ms_report_part){parts[i].name, parts[i].where, peak};
        merged[length++] =
            (ms_report_part){parts[i].name, parts[i].where, ms_add_saturating(kept, working)};
    }
    return length;
}

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the operators of a report");
}

ms_status ms_report_operators_read(ms_arena *arena, ms_json_value root, ms_report *report,
                                   ms_error *err)
{
    const ms_members_reading reading = {.what = "a report", .arena = arena, .err = err};
    ms_json_value list, v;
    uint32_t count = 0;
    ms_status status = ms_json_get_list(root, "operators", &list, err);
    if (status != MS_OK)
        return status;
    part *parts = ms_arena_array(arena, part, ms_json_length(list));
    ms_report_part *merged = ms_arena_array(arena, ms_report_part, ms_json_length(list));
    ms_report_part *at_peak = ms_arena_array(arena, ms_report_part, ms_json_length(list));
    if (!parts || !merged || !at_peak)
        return no_memory(err);
    report->has_operators_at_peak = true;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        record r = {.name = "", .phase = "", .pass = "", .count = 1};
        status = ms_members_read(&reading, &record_table, v, &r);
        report->has_operators_at_peak = report->has_operators_at_peak && r.has_peak;
        if (status == MS_OK && !make_part(arena, &r, &parts[count++]))
            status = no_memory(err);
    }
    if (status != MS_OK)
        return status;
    qsort(parts, count, sizeof *parts, by_name);
    uint32_t alive;
    report->operators = (ms_report_parts){merged, merge(parts, count, merged, at_peak, &alive)};
    report->operators_at_peak = (ms_report_parts){at_peak, alive};
    return MS_OK;
}

/* ---- times ---- */

static ms_status read_number(ms_json_value item, const char *pointer, double most, double *number,
                             ms_error *err)
{
    ms_json_value v;
    return ms_json_find_pointer(item, pointer, &v) && ms_json_kind_of(v) != MS_JSON_NULL
               ? ms_json_get_number(v, 0, most, number, err)
               : MS_OK;
}

static ms_status read_operator_time(ms_json_value item, ms_operator_time *time, ms_error *err)
{
    ms_json_value name;
    double us = 0, count = 1, flops = 0;
    const struct {
        const char *pointer;
        double most, *number;
    } numbers[] = {{"/extra/time_us", MS_MEASURED_MOST, &us},
                   {"/extra/count", MS_MEASURED_MOST, &count},
                   {"/extra/flops", 1e300, &flops}};
    ms_status status = ms_json_get_member(item, "name", &name, err);
    if (status == MS_OK)
        status = ms_json_get_string(name, &time->name, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == MS_OK; i++)
        status = read_number(item, numbers[i].pointer, numbers[i].most, numbers[i].number, err);
    time->ms = us * count / 1e3;
    time->has_flops = flops > 0;
    return status;
}

ms_status ms_report_operator_times(ms_json_value root,
                                   void (*take)(void *context, const ms_operator_time *time),
                                   void *context, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(root, "operators", &list, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        ms_operator_time time = {.name = ""};
        status = read_operator_time(v, &time, err);
        if (status == MS_OK)
            take(context, &time);
    }
    return status;
}
