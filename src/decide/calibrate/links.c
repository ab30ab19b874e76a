/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/links.h"

#include <string.h>

#include "core/device/device.h"
#include "core/tensor/dtype.h"

#define LEAST_RATE 1e3 /* per second; less is a mistake, and no time is divided by it */

typedef struct reading {
    ms_arena *arena;
    ms_json_value root;
    const char *name;
    const ms_device *device;
    bool is_of_host;
    ms_measured_points *points;
    ms_error *err;
} reading;

bool ms_measured_links_is(ms_json_value root)
{
    ms_json_value mode;
    const char *text = NULL;
    ms_error ignored = {0};
    return ms_json_find_pointer(root, "/metadata/mode", &mode) &&
           ms_json_get_string(mode, &text, &ignored) == MS_OK && strcmp(text, "links") == 0;
}

/* ---- what it is of ---- */

static ms_status get_flag(reading *r, const char *pointer, bool *is_true, ms_json_value *at)
{
    ms_json_value found;
    if (!ms_json_find_pointer(r->root, pointer, &found))
        return ms_json_fail(r->err, r->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "it has no %s",
                            pointer);
    *at = found;
    return ms_json_get_bool(found, is_true, r->err);
}

static ms_status check_measured(reading *r)
{
    ms_json_value at;
    bool is_simulated = false, is_partial = false;
    ms_status status = get_flag(r, "/metadata/simulated_device", &is_simulated, &at);
    if (status == MS_OK && is_simulated)
        return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it was measured on a simulated device, which runs nothing, so its "
                            "figures are not measurements");
    if (status == MS_OK)
        status = get_flag(r, "/metadata/partial", &is_partial, &at);
    if (status == MS_OK && is_partial)
        return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "the measurement was cut off: expected a complete one");
    return status;
}

static ms_status find_device(reading *r, const ms_report_pair *file)
{
    ms_json_value at;
    const char *name = NULL;
    if (!ms_json_find_pointer(r->root, "/metadata/device", &at) ||
        ms_json_kind_of(at) == MS_JSON_NULL)
        return ms_json_fail(r->err, r->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "its device is not given: measure the links with --device NAME");
    ms_status status = ms_json_get_string(at, &name, r->err);
    for (uint32_t i = 0; i < file->device_count && status == MS_OK; i++)
        if (strcmp(file->devices[i].name, name) == 0) {
            r->device = &file->devices[i];
            return MS_OK;
        }
    if (status != MS_OK)
        return status;
    return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "unknown device '%.40s'; `memscope devices` lists the known ones", name);
}

bool ms_measured_links_is_of_host(ms_json_value root)
{
    ms_json_value backend;
    const char *text = NULL;
    ms_error ignored = {0};
    return ms_json_find_pointer(root, "/metadata/backend", &backend) &&
           ms_json_get_string(backend, &text, &ignored) == MS_OK && strcmp(text, "host") == 0;
}

/* As for other measurements: a driver's name for it says which device they are of. */
static ms_status check_title(reading *r)
{
    ms_json_value at;
    const char *title = NULL;
    if (r->is_of_host)
        return MS_OK;
    if (!ms_json_find_pointer(r->root, "/metadata/device_title", &at))
        return ms_json_fail(r->err, r->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it has no /metadata/device_title");
    ms_status status = ms_json_get_string(at, &title, r->err);
    if (status != MS_OK || ms_device_is_titled(r->device, title))
        return status;
    return ms_json_fail(r->err, at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "it was measured on '%.60s', but is meant for %.40s, %.60s", title,
                        r->device->name, r->device->title);
}

/* ---- points ---- */

static ms_status add(reading *r, ms_measured_point point)
{
    point.name = r->name;
    point.device = r->device->name;
    if (!ms_vec_push(r->points, point))
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for points");
    return MS_OK;
}

static ms_status get_text(reading *r, ms_json_value row, const char *key, const char **text)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(row, key, &v, r->err);
    return status == MS_OK ? ms_json_get_string(v, text, r->err) : status;
}

static ms_status get_number(reading *r, ms_json_value row, const char *key, double least,
                            double *number)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(row, key, &v, r->err);
    return status == MS_OK ? ms_json_get_number(v, least, MS_MEASURED_MOST * 1e3, number, r->err)
                           : status;
}

/* Pinned, as copies of a run are, where the device knows that; both ways at once is not what a link
 * reaches in one. */
static ms_status read_copy(reading *r, ms_json_value row)
{
    const char *kind = NULL;
    double bytes = 0, rate = 0;
    bool is_pinned = false;
    ms_json_value pinned;
    ms_status status = get_text(r, row, "kind", &kind);
    if (status == MS_OK)
        status = get_number(r, row, "bytes", 1, &bytes);
    if (status == MS_OK)
        status = get_number(r, row, "bytes_per_s", LEAST_RATE, &rate);
    if (status == MS_OK)
        status = ms_json_get_member(row, "pinned", &pinned, r->err);
    if (status == MS_OK)
        status = ms_json_get_bool(pinned, &is_pinned, r->err);
    if (status != MS_OK)
        return status;
    double memory_rate = r->device->memory_bytes_per_s;
    if (strcmp(kind, "memory") == 0 && memory_rate > 0)
        return add(
            r, (ms_measured_point){.predicted_ms = {[MS_OP_OTHER] = 2 * bytes / memory_rate * 1e3},
                                   .measured_ms = 2 * bytes / rate * 1e3});
    bool is_one_way = strcmp(kind, "to_device") == 0 || strcmp(kind, "to_host") == 0;
    if (!is_one_way || (!is_pinned && !r->is_of_host))
        return MS_OK;
    return add(r, (ms_measured_point){.host_link_gb_per_s = rate / 1e9});
}

static double peak_flops(const ms_device *device, ms_dtype dtype)
{
    double rate = dtype == MS_DTYPE_BF16  ? device->bf16_flops
                  : dtype == MS_DTYPE_F16 ? device->fp16_flops
                                          : device->fp32_flops;
    return rate > 0 ? rate : device->fp32_flops;
}

/* The roofline of a product, as the clock has it. */
static ms_status read_product(reading *r, ms_json_value row)
{
    const char *type = NULL;
    double rows = 0, inner = 0, columns = 0, ms = 0;
    ms_dtype dtype = MS_DTYPE_F32;
    ms_status status = get_text(r, row, "dtype", &type);
    if (status == MS_OK)
        status = get_number(r, row, "rows", 1, &rows);
    if (status == MS_OK)
        status = get_number(r, row, "inner", 1, &inner);
    if (status == MS_OK)
        status = get_number(r, row, "columns", 1, &columns);
    if (status == MS_OK)
        status = get_number(r, row, "ms", 1e-6, &ms);
    if (status == MS_OK && !ms_dtype_parse(type, &dtype))
        return ms_json_fail(r->err, row, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no dtype '%.40s'", type);
    if (status != MS_OK)
        return status;
    double rate = peak_flops(r->device, dtype), memory = r->device->memory_bytes_per_s;
    if (!(rate > 0) || !(memory > 0))
        return MS_OK;
    double unit = (double)ms_dtype_bytes(dtype);
    double arithmetic = 2 * rows * inner * columns / rate;
    double traffic = (rows * inner + inner * columns + rows * columns) * unit / memory;
    double roofline = arithmetic > traffic ? arithmetic : traffic;
    return add(r, (ms_measured_point){.predicted_ms = {[MS_OP_PRODUCT] = roofline * 1e3},
                                      .measured_ms = ms});
}

static ms_status read_list(reading *r, const char *key,
                           ms_status (*read)(reading *r, ms_json_value row))
{
    ms_json_value list, row;
    ms_status status = ms_json_get_list(r->root, key, &list, r->err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &row); more && status == MS_OK; more = ms_json_next(&row))
        status = read(r, row);
    return status;
}

/* The memory of the host has none. */
static ms_status read_context(reading *r)
{
    ms_json_value in_use;
    double bytes = 0;
    ms_status status = ms_json_get_member(r->root, "in_use", &in_use, r->err);
    if (status == MS_OK)
        status = get_number(r, in_use, "loaded_bytes", 0, &bytes);
    if (status != MS_OK || bytes <= 0)
        return status;
    return add(r, (ms_measured_point){.measured_context = bytes});
}

ms_status ms_measured_links_read(ms_arena *arena, const ms_report_pair *file,
                                 ms_measured_points *points, ms_error *err)
{
    reading r = {.arena = arena,
                 .root = file->measured,
                 .is_of_host = ms_measured_links_is_of_host(file->measured),
                 .points = points,
                 .err = err};
    r.name = ms_arena_strdup(arena, file->name);
    if (!r.name)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for points");
    ms_status status = check_measured(&r);
    if (status == MS_OK)
        status = find_device(&r, file);
    if (status == MS_OK)
        status = check_title(&r);
    if (status == MS_OK)
        status = read_list(&r, "copies", read_copy);
    if (status == MS_OK)
        status = read_list(&r, "products", read_product);
    return status == MS_OK ? read_context(&r) : status;
}
