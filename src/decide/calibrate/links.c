/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/links.h"

#include <inttypes.h>
#include <string.h>

#include "core/device/device.h"
#include "core/tensor/dtype.h"
#include "hardware/replay/links.h"

/* Less, or more, is a mistake; no time is divided by it. */
enum { LEAST_RATE = 1000 }; /* per second */
#define MOST_RATE UINT64_C(1000000000000000000)
#define LEAST_MS 1e-6

/* ---- members ---- */

#define COPY(...) MS_MEMBER(ms_link_sample, __VA_ARGS__)
static const ms_member copy_members[] = {
    COPY("kind", kind),
    COPY("pinned", is_pinned),
    COPY("bytes", bytes, .least = 1),
    COPY("bytes_per_s", bytes_per_s, .least = LEAST_RATE, .most = MOST_RATE),
};
static const ms_members copy_table = MS_MEMBERS(ms_link_sample, copy_members, .is_inline = true);

#define PRODUCT(...) MS_MEMBER(ms_product_sample, __VA_ARGS__)
static const ms_member product_members[] = {
    PRODUCT("dtype", dtype, .words = &ms_dtype_words, .most = MS_DTYPE_F16),
    PRODUCT("rows", rows, .least = 1),
    PRODUCT("inner", inner, .least = 1),
    PRODUCT("columns", columns, .least = 1),
    PRODUCT("ms", ms, .decimals = 6),
    PRODUCT("flops_per_s", flops_per_s, .most = MOST_RATE),
};
static const ms_members product_table =
    MS_MEMBERS(ms_product_sample, product_members, .is_inline = true);

static const ms_member in_use_members[] = {
    MS_MEMBER(ms_links, "opened_bytes", opened_used_bytes),
    MS_MEMBER(ms_links, "loaded_bytes", loaded_used_bytes),
};
static const ms_members in_use_table = MS_MEMBERS(ms_links, in_use_members);

static const ms_member members[] = {
    MS_ROWS(ms_links, "copies", copies.items, copies.count, &copy_table),
    MS_ROWS(ms_links, "products", products.items, products.count, &product_table),
    MS_PART("in_use", &in_use_table),
};
const ms_members ms_links_table = MS_MEMBERS(ms_links, members);

/* ---- reading ---- */

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

/* Pinned, as copies of a run are, where the device knows that; both ways at once is not what a link
 * reaches in one. */
static ms_status add_copy(reading *r, const ms_link_sample *s)
{
    double bytes = (double)s->bytes, memory_rate = r->device->memory_bytes_per_s;
    if (strcmp(s->kind, "memory") == 0 && memory_rate > 0)
        return add(
            r, (ms_measured_point){.predicted_ms = {[MS_OP_OTHER] = 2 * bytes / memory_rate * 1e3},
                                   .measured_ms = 2 * bytes / s->bytes_per_s * 1e3});
    bool is_one_way = strcmp(s->kind, "to_device") == 0 || strcmp(s->kind, "to_host") == 0;
    if (!is_one_way || (!s->is_pinned && !r->is_of_host))
        return MS_OK;
    return add(r, (ms_measured_point){.host_link_gb_per_s = s->bytes_per_s / 1e9});
}

static double peak_flops(const ms_device *device, ms_dtype dtype)
{
    double rate = dtype == MS_DTYPE_BF16  ? device->bf16_flops
                  : dtype == MS_DTYPE_F16 ? device->fp16_flops
                                          : device->fp32_flops;
    return rate > 0 ? rate : device->fp32_flops;
}

/* The roofline of a product, as the clock has it. */
static ms_status add_product(reading *r, const ms_product_sample *p, uint32_t index)
{
    double rate = peak_flops(r->device, p->dtype), memory = r->device->memory_bytes_per_s;
    double rows = (double)p->rows, inner = (double)p->inner, columns = (double)p->columns;
    ms_json_value list = r->root;
    if (p->ms < LEAST_MS && ms_json_find(r->root, "products", &list))
        return ms_json_fail(r->err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "row %" PRIu32 " took no time", index);
    if (!(rate > 0) || !(memory > 0))
        return MS_OK;
    double unit = (double)ms_dtype_bytes(p->dtype);
    double arithmetic = 2 * rows * inner * columns / rate;
    double traffic = (rows * inner + inner * columns + rows * columns) * unit / memory;
    double roofline = arithmetic > traffic ? arithmetic : traffic;
    return add(r, (ms_measured_point){.predicted_ms = {[MS_OP_PRODUCT] = roofline * 1e3},
                                      .measured_ms = p->ms});
}

/* The memory of the host has no context. */
static ms_status add_points(reading *r)
{
    const ms_members_reading rows = {.what = "measured links", .arena = r->arena, .err = r->err};
    ms_links links = {0};
    ms_status status = ms_members_read(&rows, &ms_links_table, r->root, &links);
    for (uint32_t i = 0; i < links.copies.count && status == MS_OK; i++)
        status = add_copy(r, &links.copies.items[i]);
    for (uint32_t i = 0; i < links.products.count && status == MS_OK; i++)
        status = add_product(r, &links.products.items[i], i);
    if (status != MS_OK || links.loaded_used_bytes == 0)
        return status;
    return add(r, (ms_measured_point){.measured_context = (double)links.loaded_used_bytes});
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
    return status == MS_OK ? add_points(&r) : status;
}
