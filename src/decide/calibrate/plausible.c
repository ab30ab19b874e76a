/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/plausible.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/locale.h"
#include "base/text/number.h"

static const double gib = 1073741824.0;

/* PyTorch reserves no less at a time, and a context takes more. */
static const double least_bytes = 2 * 1048576.0;
static const double most_context = 10 * 1073741824.0;

ms_status ms_measured_point_fail(const ms_measured_point *p, ms_error *err, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    if (err->status != MS_OK)
        return err->status;
    if (p->line == 0)
        return ms_fail(err, MS_ERR_CONFIG, "%.100s: %s", *p->name ? p->name : "a point", text);
    ms_error_set(err, MS_ERR_CONFIG, "%.100s%s%s", p->name, *p->name ? ": " : "", text);
    snprintf(err->file, sizeof err->file, "%s", p->file);
    err->line = p->line;
    err->column = 1;
    return MS_ERR_CONFIG;
}

static const char *bytes_text(double bytes, char text[MS_BYTES_TEXT])
{
    return ms_bytes_text(bytes < MS_MEASURED_MOST ? (uint64_t)bytes : UINT64_MAX, text);
}

/* ---- points ---- */

/* The largest of the sizes by which it is known; 0: not known. */
static double size_of(const ms_device *device)
{
    uint64_t bytes = ms_device_usable_bytes(device);
    bytes = device->driver_bytes > bytes ? device->driver_bytes : bytes;
    return (double)(device->nominal_bytes > bytes ? device->nominal_bytes : bytes);
}

/* A table has names of columns. */
typedef struct figure {
    const char *column, *title;
    double bytes;
} figure;

static const char *name_of(const ms_measured_point *p, const figure *f)
{
    return p->line > 0 ? f->column : f->title;
}

static ms_status check_bytes(const ms_measured_point *p, const ms_device *device, ms_error *err)
{
    const figure figures[] = {
        {"told_reserved_bytes", "the predicted reserved memory", p->predicted_reserved},
        {"measured_reserved_bytes", "the measured reserved memory", p->measured_reserved},
        {"measured_device_bytes", "the memory in use that the device showed", p->measured_device}};
    char text[MS_BYTES_TEXT], size[MS_BYTES_TEXT];
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double bytes = figures[i].bytes, most = size_of(device);
        if (bytes > 0 && bytes < least_bytes)
            return ms_measured_point_fail(p, err,
                                          "%s is %s, and no step takes less than 2 MiB: bytes are "
                                          "expected, not MiB or GiB",
                                          name_of(p, &figures[i]), bytes_text(bytes, text));
        if (most > 0 && bytes > most)
            return ms_measured_point_fail(p, err, "%s is %s, more than the %s of %.40s",
                                          name_of(p, &figures[i]), bytes_text(bytes, text),
                                          bytes_text(most, size), device->name);
    }
    return MS_OK;
}

static ms_status check_context(const ms_measured_point *p, ms_error *err)
{
    char text[MS_BYTES_TEXT], reserved[MS_BYTES_TEXT];
    static const double share = 0.25; /* that a prediction may be too low by */
    double context = 0;
    bool is_beside = p->measured_device > 0 && p->measured_reserved > 0;
    if (is_beside)
        context = p->measured_device - p->measured_reserved;
    else if (p->measured_device > 0 && p->predicted_reserved > 0)
        context = fmax(0, p->measured_device - (1 + share) * p->predicted_reserved);
    if (context < 0)
        return ms_measured_point_fail(p, err,
                                      "the device shows less than its reserved memory: %s, and %s "
                                      "are reserved",
                                      bytes_text(p->measured_device, text),
                                      bytes_text(p->measured_reserved, reserved));
    context = fmax(context, p->measured_context);
    if (context > most_context)
        return ms_measured_point_fail(
            p, err,
            "a context of %s, where the usual ones take 150 MiB to 2 GiB: the memory in use that "
            "the device showed is another program's too, or something else",
            bytes_text(context, text));
    return MS_OK;
}

/* Nothing is faster than the roofline; rates of a table may be a little low. */
static ms_status check_times(const ms_measured_point *p, ms_error *err)
{
    double roofline = 0;
    for (int i = 0; i < MS_OP_CLASSES; i++)
        roofline += p->predicted_ms[i];
    if (p->measured_ms <= 0 || p->measured_ms >= roofline / 2)
        return MS_OK;
    return ms_measured_point_fail(p, err,
                                  "the step took %.6g ms, and no step is faster than its "
                                  "roofline, %.6g ms: milliseconds are expected",
                                  p->measured_ms, roofline);
}

/* What libraries and fragmentation take adds to a prediction: where it is too high everywhere, the
 * columns are swapped, or the steps are others. */
static ms_status check_order(const ms_measured_points *points, ms_error *err)
{
    enum { LEAST_POINTS = 3 };
    static const double most_above = 0.02;
    const ms_measured_point *first = NULL;
    double above = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const ms_measured_point *p = &points->items[i];
        if (p->predicted_reserved <= 0 || p->measured_reserved <= 0)
            continue;
        if (p->predicted_reserved <= p->measured_reserved)
            return MS_OK;
        first = first ? first : p;
        above += p->predicted_reserved / p->measured_reserved - 1;
        count++;
    }
    if (count < LEAST_POINTS || above / count <= most_above)
        return MS_OK;
    return ms_measured_point_fail(first, err,
                                  "reserved memory is predicted above what was measured, here "
                                  "and in all %" PRIu32 " points, by %.2f %% on average: the two "
                                  "are swapped, or other steps were measured",
                                  count, 100 * above / count);
}

ms_status ms_measured_points_check(const ms_measured_points *points, const ms_device *device,
                                   ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < points->count && status == MS_OK; i++) {
        const ms_measured_point *p = &points->items[i];
        status = check_bytes(p, device, err);
        if (status == MS_OK)
            status = check_context(p, err);
        if (status == MS_OK)
            status = check_times(p, err);
    }
    return status == MS_OK ? check_order(points, err) : status;
}

/* ---- what was fitted ---- */

typedef struct remarks {
    ms_arena *arena;
    ms_calibration_result *result;
    bool has_failed;
} remarks;

__attribute__((format(printf, 2, 3))) static void remark(remarks *r, const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    const char *kept = ms_arena_strdup(r->arena, text);
    r->has_failed = r->has_failed || !kept;
    if (kept && r->result->remark_count < MS_CALIBRATION_MOST_REMARKS)
        r->result->remarks[r->result->remark_count++] = kept;
}

static void remark_context(remarks *r, const ms_fitted *f)
{
    static const double few = 150 * 1048576.0, many = 2 * 1073741824.0, spread = 256 * 1048576.0;
    char a[MS_BYTES_TEXT], b[MS_BYTES_TEXT];
    if (f->points == 0)
        return;
    if (f->value < few || f->value > many)
        remark(r,
               "context: %s, usually 150 MiB to 2 GiB. It is added to each prediction, so memory "
               "that other programs used on the device is counted every time",
               bytes_text(f->value, a));
    if (f->high - f->low > spread)
        remark(r,
               "context: from %s to %s, usually within 256 MiB. It depends only on the device and "
               "driver, so some points were measured beside other programs or with other "
               "libraries; the median is used",
               bytes_text(f->low, a), bytes_text(f->high, b));
}

/* Predictions that are too high are left as they are. */
static void remark_unchanged(remarks *r)
{
    static const double least = 0.005;
    const ms_fitted *fitted = r->result->calibration.parameters;
    const ms_calibration_quality *q = &r->result->qualities[0];
    bool is_nothing = fitted[MS_PARAMETER_MARGIN].points > 0 &&
                      fitted[MS_PARAMETER_MARGIN].value <= 0 &&
                      fitted[MS_PARAMETER_WORKSPACE].value <= 0;
    if (is_nothing && r->result->quality_count > 0 && q->before.mean > least)
        remark(r,
               "reserved memory: predictions are off by %.2f %% on average, too high for most "
               "points. They are not lowered, so the calibration changes nothing",
               100 * q->before.mean);
}

static void remark_reserved(remarks *r, const ms_fitted *workspace, const ms_fitted *margin)
{
    char text[MS_BYTES_TEXT];
    if (workspace->points > 0 && workspace->value > gib)
        remark(r,
               "workspaces: %s, usually below 1 GiB. They are added to each prediction, also to "
               "those of small models",
               bytes_text(workspace->value, text));
    if (margin->points > 0 && margin->value > 0.1)
        remark(r,
               "margin: %.1f %%, usually below 10 %%. The steps reserve more than predicted, more "
               "likely because a setting differs than because of fragmentation: memscope compare "
               "names it",
               100 * margin->value);
    if (margin->points > 0 && margin->high - margin->low > 0.05)
        remark(r,
               "margin: from %.1f to %.1f %%, depending on a single point. The points follow no "
               "common rule, so the next step may not either",
               100 * margin->low, 100 * margin->high);
}

static void remark_times(remarks *r, const ms_device *device)
{
    static const double most = 10;
    const ms_fitted *fitted = r->result->calibration.parameters;
    for (int i = MS_PARAMETER_PRODUCT; i <= MS_PARAMETER_OTHER; i++)
        if (fitted[i].points > 0 && fitted[i].value > most)
            remark(r,
                   "%s: %.1f, usually below 10. The time includes something other than these "
                   "operators, such as waiting for data or the host, or was measured elsewhere",
                   ms_parameter_rows[i].title, fitted[i].value);
    const struct {
        ms_parameter_kind kind;
        double rate;
    } links[] = {{MS_PARAMETER_HOST_LINK, device->host_link_bytes_per_s},
                 {MS_PARAMETER_PEER_LINK, device->peer_link_bytes_per_s}};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        const ms_fitted *f = &fitted[links[i].kind];
        if (f->points > 0 && links[i].rate > 0 && f->value > 1.1 * links[i].rate)
            remark(r,
                   "%s: %.1f GB/s, but the link of %.40s carries %.1f. Predicted copies will be "
                   "too fast",
                   ms_parameter_rows[links[i].kind].title, f->value / 1e9, device->name,
                   links[i].rate / 1e9);
    }
}

static void remark_errors(remarks *r)
{
    static const double most = 0.1;
    for (uint32_t i = 0; i < r->result->quality_count; i++) {
        const ms_calibration_quality *q = &r->result->qualities[i];
        if (q->held_out.worst > most)
            remark(r,
                   "%s: off by up to %.1f %% for a point that was left out, usually below 10 %%. "
                   "Predictions of other steps may be as far off",
                   q->figure, 100 * q->held_out.worst);
    }
}

ms_status ms_calibration_remark(ms_arena *arena, const ms_device *device,
                                ms_calibration_result *result, ms_error *err)
{
    remarks r = {.arena = arena, .result = result};
    const ms_fitted *fitted = result->calibration.parameters;
    const ms_fitted *context = &fitted[MS_PARAMETER_CONTEXT];
    char text[MS_BYTES_TEXT];
    if (context->points > 0 && context->value > most_context)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the context is fitted as %s, and takes less than 10 GiB: the measurements "
                       "are not of the predicted steps",
                       bytes_text(context->value, text));
    remark_context(&r, context);
    remark_reserved(&r, &fitted[MS_PARAMETER_WORKSPACE], &fitted[MS_PARAMETER_MARGIN]);
    remark_unchanged(&r);
    remark_times(&r, device);
    remark_errors(&r);
    return r.has_failed ? ms_fail(err, MS_ERR_NOMEM, "out of memory for a fit") : MS_OK;
}
