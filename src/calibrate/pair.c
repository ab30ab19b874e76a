/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calibrate/pair.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "calibrate/points.h"

/* ---- figures ---- */

static ms_status get_number(ms_json_value root, const char *pointer, bool must, double *number,
                            ms_error *err)
{
    ms_json_value v;
    if (ms_json_find_pointer(root, pointer, &v) && ms_json_kind_of(v) != MS_JSON_NULL)
        return ms_json_get_number(v, 0, MS_MEASURED_MOST, number, err);
    return must ? ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no %s in it", pointer)
                : MS_OK;
}

/* An operator's time, in its class. */
static ms_status add_operator(ms_json_value operator, ms_measured_point * point, ms_error *err)
{
    ms_json_value name, flops;
    const char *text = NULL;
    double us = 0, count = 1;
    ms_status status = ms_json_get_member(operator, "name", &name, err);
    if (status == MS_OK)
        status = ms_json_get_string(name, &text, err);
    if (status == MS_OK)
        status = get_number(operator, "/extra/time_us", false, &us, err);
    if (status == MS_OK)
        status = get_number(operator, "/extra/count", false, &count, err);
    if (status != MS_OK)
        return status;
    double value = 0;
    if (ms_json_find_pointer(operator, "/extra/flops", &flops))
        status = ms_json_get_number(flops, 0, 1e300, &value, err);
    point->predicted_ms[ms_op_class_of(text, value > 0)] += us * count / 1e3;
    return status;
}

static ms_status add_operators(ms_json_value predicted, ms_measured_point *point, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(predicted, "operators", &list, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v))
        status = add_operator(v, point, err);
    return status;
}

/* ---- whether it measures the predicted step ---- */

static ms_status get_text(ms_json_value root, const char *pointer, ms_json_value *found,
                          const char **text, ms_error *err)
{
    if (!ms_json_find_pointer(root, pointer, found))
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no %s in it", pointer);
    return ms_json_get_string(*found, text, err);
}

static ms_status check_predicted(ms_json_value predicted, ms_error *err)
{
    ms_json_value v;
    if (ms_json_find(predicted, "calibration", &v) ||
        ms_json_find_pointer(predicted, "/metadata/calibration", &v))
        return ms_json_fail(err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "the prediction is already calibrated: analyze it without "
                            "--calibration");
    return MS_OK;
}

static ms_status check_measured(ms_json_value measured, ms_error *err)
{
    ms_json_value v;
    const char *text = NULL;
    ms_status status = get_text(measured, "/metadata/mode", &v, &text, err);
    if (status == MS_OK && strcmp(text, "null") == 0)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "measured on a simulated device: expected a report of "
                            "`memscope capture --real`");
    if (status == MS_OK && strcmp(text, "cuda") != 0)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "found '%.40s', expected a runtime_report.json, whose mode is 'cuda'",
                            text);
    if (status == MS_OK)
        status = get_text(measured, "/outcome", &v, &text, err);
    if (status == MS_OK && strcmp(text, "stepped") != 0)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "found '%.40s', expected steps that were measured to completion: "
                            "'stepped'",
                            text);
    return status;
}

/* The first word of a title with a digit: "A100" of "NVIDIA A100 SXM 80 GB". */
static const char *model_word(const char *title, size_t *length)
{
    for (const char *word = title; *word; word += strspn(word, " ")) {
        *length = strcspn(word, " ");
        if (strcspn(word, "0123456789") < *length)
            return word;
        word += *length;
    }
    return NULL;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; *at; at++)
        if (strncmp(at, word, length) == 0 && (at == text || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

static ms_status check_title(const ms_device *device, ms_json_value measured, ms_error *err)
{
    ms_json_value v;
    const char *text = NULL;
    size_t length = 0;
    ms_status status = get_text(measured, "/metadata/device_title", &v, &text, err);
    if (status != MS_OK)
        return status;
    const char *word = model_word(device->title, &length);
    if (word && has_word(text, word, length))
        return MS_OK;
    return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "measured on '%.60s', but predicted for %.40s, %.60s", text, device->name,
                        device->title);
}

/* Drivers keep more or less of it for themselves; models of one name are further apart. */
static ms_status check_size(const ms_device *device, ms_json_value measured, ms_error *err)
{
    enum { MIB = 1 << 20 };
    static const double tolerance = 1.0 / 16;
    const double predicted = (double)ms_device_usable_bytes(device);
    double bytes = 0;
    ms_json_value v;
    ms_status status = get_number(measured, "/metadata/device_bytes", false, &bytes, err);
    if (status != MS_OK || bytes <= 0 || fabs(bytes - predicted) <= tolerance * predicted)
        return status;
    ms_json_find_pointer(measured, "/metadata/device_bytes", &v);
    return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "measured on a device of %.0f MiB, but predicted for %.40s with %.0f MiB",
                        bytes / MIB, device->name, predicted / MIB);
}

static ms_status check_device(const ms_report_pair *pair, const char *name, ms_error *err)
{
    for (uint32_t i = 0; i < pair->device_count; i++) {
        const ms_device *device = &pair->devices[i];
        if (strcmp(device->name, name) != 0)
            continue;
        ms_status status = check_title(device, pair->measured, err);
        return status == MS_OK ? check_size(device, pair->measured, err) : status;
    }
    return MS_OK; /* the fit refuses its name */
}

/* ---- the point ---- */

ms_status ms_measured_point_pair(ms_arena *arena, const ms_report_pair *pair,
                                 ms_measured_points *points, ms_error *err)
{
    const ms_json_value predicted = pair->predicted, measured = pair->measured;
    ms_measured_point p = {.name = ms_arena_strdup(arena, pair->name)};
    ms_json_value device;
    const char *text = NULL;
    const struct figure {
        ms_json_value root;
        const char *pointer;
        bool must;
        double *number;
    } figures[] = {
        {predicted, "/summary/reserved_memory_bytes", true, &p.predicted_reserved},
        {predicted, "/summary/exposed_copy_ms", false, &p.predicted_copy_ms},
        {measured, "/summary/reserved_memory_bytes", true, &p.measured_reserved},
        {measured, "/summary/device_used_bytes", false, &p.measured_device},
        {measured, "/summary/step_time_ms", false, &p.measured_ms},
    };
    ms_status status = MS_OK;
    if (!ms_json_find_pointer(predicted, "/metadata/device", &device))
        status = ms_json_fail(err, predicted, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                              "no /metadata/device in it: expected a static_report.json");
    if (status == MS_OK)
        status = ms_json_get_string(device, &text, err);
    if (status == MS_OK)
        status = check_predicted(predicted, err);
    if (status == MS_OK)
        status = check_measured(measured, err);
    if (status == MS_OK)
        status = check_device(pair, text, err);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0] && status == MS_OK; i++)
        status = get_number(figures[i].root, figures[i].pointer, figures[i].must, figures[i].number,
                            err);
    if (status == MS_OK && p.measured_ms > 0)
        status = add_operators(predicted, &p, err);
    if (status != MS_OK)
        return status;
    p.device = ms_arena_strdup(arena, text);
    if (!p.name || !p.device || !ms_vec_push(points, p))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for points");
    return MS_OK;
}
