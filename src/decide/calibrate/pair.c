/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/pair.h"

#include <math.h>
#include <string.h>

#include "decide/calibrate/points.h"
#include "core/device/device.h"
#include "input/document/operators.h"

/* ---- whether it measures the predicted step ---- */

static ms_status check_predicted(const ms_predicted_step *step, ms_error *err)
{
    if (step->calibration.is_there)
        return ms_json_fail(err, step->calibration.at, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "the prediction is already calibrated: analyze it without "
                            "--calibration");
    return MS_OK;
}

static ms_status check_measured(const ms_measured_step *step, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_placed_text(&step->mode, &text, err);
    if (status == MS_OK && strcmp(text, "null") == 0)
        return ms_json_fail(err, step->mode.at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it was measured on a simulated device: expected a report of `memscope "
                            "capture --real`");
    if (status == MS_OK && strcmp(text, "cuda") != 0)
        return ms_json_fail(err, step->mode.at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "found '%.40s', expected a runtime_report.json, whose mode is 'cuda'",
                            text);
    if (status == MS_OK)
        status = ms_placed_text(&step->outcome, &text, err);
    if (status == MS_OK && strcmp(text, "stepped") != 0)
        return ms_json_fail(err, step->outcome.at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "found '%.40s', expected steps that were measured to completion: "
                            "'stepped'",
                            text);
    return status;
}

static ms_status check_title(const ms_device *device, const ms_measured_step *step, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_placed_text(&step->device_title, &text, err);
    if (status != MS_OK || ms_device_is_titled(device, text))
        return status;
    return ms_json_fail(err, step->device_title.at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "it was measured on '%.60s', but predicted for %.40s, %.60s", text,
                        device->name, device->title);
}

/* Drivers keep more or less of it for themselves; models of one name are further apart. */
static ms_status check_size(const ms_device *device, const ms_measured_step *step, ms_error *err)
{
    enum { MIB = 1 << 20 };
    static const double tolerance = 1.0 / 16;
    const double predicted = (double)ms_device_usable_bytes(device);
    double bytes = 0;
    ms_status status = ms_placed_number(&step->device_bytes, false, &bytes, err);
    if (status != MS_OK || bytes <= 0 || fabs(bytes - predicted) <= tolerance * predicted)
        return status;
    return ms_json_fail(
        err, step->device_bytes.at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
        "it was measured on a device with %.0f MiB, but predicted for %.40s with %.0f MiB",
        bytes / MIB, device->name, predicted / MIB);
}

static ms_status check_device(const ms_report_pair *pair, const ms_measured_step *step,
                              const char *name, ms_error *err)
{
    for (uint32_t i = 0; i < pair->device_count; i++) {
        const ms_device *device = &pair->devices[i];
        if (strcmp(device->name, name) != 0)
            continue;
        ms_status status = check_title(device, step, err);
        return status == MS_OK ? check_size(device, step, err) : status;
    }
    return MS_OK; /* the fit refuses its name */
}

static ms_status check_pair(const ms_report_pair *pair, const ms_predicted_step *predicted,
                            const ms_measured_step *measured, const char **device, ms_error *err)
{
    if (!predicted->device.is_there)
        return ms_json_fail(err, predicted->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it has no %s: expected a static_report.json",
                            predicted->device.pointer);
    ms_status status = ms_placed_text(&predicted->device, device, err);
    if (status == MS_OK)
        status = check_predicted(predicted, err);
    if (status == MS_OK)
        status = check_measured(measured, err);
    return status == MS_OK ? check_device(pair, measured, *device, err) : status;
}

/* ---- the point ---- */

/* Of a report that has no sums: an operator's time, in its class. */
static void add_time(void *context, const ms_operator_time *time)
{
    ms_measured_point *point = context;
    point->predicted_ms[ms_op_class_of(time->name, time->has_flops)] += time->ms;
}

static ms_status read_figures(const ms_predicted_step *predicted, const ms_measured_step *measured,
                              ms_measured_point *p, ms_error *err)
{
    const struct figure {
        const ms_placed *placed;
        bool must;
        double *number;
    } figures[] = {
        {&predicted->reserved_bytes, true, &p->predicted_reserved},
        {&predicted->exposed_copy_ms, false, &p->predicted_copy_ms},
        {&measured->reserved_bytes, true, &p->measured_reserved},
        {&measured->device_used_bytes, false, &p->measured_device},
        {&measured->step_time_ms, false, &p->measured_ms},
        {&predicted->roofline_product_ms, false, &p->predicted_ms[MS_OP_PRODUCT]},
        {&predicted->roofline_attention_ms, false, &p->predicted_ms[MS_OP_ATTENTION]},
        {&predicted->roofline_other_ms, false, &p->predicted_ms[MS_OP_OTHER]},
        {&predicted->step_time_ms, false, &p->step_ms},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0] && status == MS_OK; i++)
        status = ms_placed_number(figures[i].placed, figures[i].must, figures[i].number, err);
    if (status == MS_OK && p->measured_ms > 0 && !predicted->roofline_product_ms.is_there)
        status = ms_report_operator_times(predicted->root, add_time, p, err);
    return status;
}

ms_status ms_measured_point_pair(ms_arena *arena, const ms_report_pair *pair,
                                 ms_measured_points *points, ms_error *err)
{
    const ms_predicted_step predicted = ms_predicted_step_find(pair->predicted);
    const ms_measured_step measured = ms_measured_step_find(pair->measured);
    ms_measured_point p = {.name = ms_arena_strdup(arena, pair->name)};
    const char *device = NULL;
    ms_status status = check_pair(pair, &predicted, &measured, &device, err);
    if (status == MS_OK)
        status = read_figures(&predicted, &measured, &p, err);
    if (status != MS_OK)
        return status;
    p.device = ms_arena_strdup(arena, device);
    if (!p.name || !p.device || !ms_vec_push(points, p))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for points");
    return MS_OK;
}
