/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/fit_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/calibrate/fit_times.h"
#include "decide/calibrate/plausible.h"
#include "decide/calibrate/regression.h"

enum { LEAST_CONTEXTS = 3, LEAST_LINKS = 2 };

/* ---- reserved memory ---- */

static double reserved_before(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->predicted_reserved;
}

static double reserved_after(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    double c[MS_LEAST_COLUMNS];
    ms_regression_solve(f, held_out, c);
    return f->used[i]->predicted_reserved +
           ms_regression_dot(f, c, i) * f->used[i]->measured_reserved;
}

static double reserved_measured(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->measured_reserved;
}

static bool tells_reserved(const ms_measured_point *p)
{
    return p->predicted_reserved > 0 && p->measured_reserved > 0;
}

static ms_status fit_reserved(ms_regression *f)
{
    enum { PARAMETERS = 2 };
    static const ms_parameter_kind kinds[MS_LEAST_COLUMNS] = {
        MS_PARAMETER_WORKSPACE, MS_PARAMETER_MARGIN, MS_PARAMETER_COUNT};
    f->count = 0;
    for (uint32_t i = 0; i < f->points->count; i++)
        if (tells_reserved(&f->points->items[i]))
            f->used[f->count++] = &f->points->items[i];
    if (f->count == 0)
        return MS_OK;
    if (f->count < PARAMETERS + MS_SPARE_POINTS)
        return ms_regression_too_few(f, "reserved memory", PARAMETERS + MS_SPARE_POINTS);
    for (uint32_t i = 0; i < f->count; i++) {
        const ms_measured_point *p = f->used[i];
        const double columns[MS_LEAST_COLUMNS] = {1, p->predicted_reserved};
        ms_regression_set_row(f, i, columns, p->measured_reserved - p->predicted_reserved,
                              p->measured_reserved);
    }
    f->is_joined = false;
    f->wanted = 3;
    ms_status status = MS_OK;
    if (!ms_least_tells_apart(f->rows, f->count, f->wanted)) {
        f->wanted = 2; /* all of one size */
        status = ms_regression_note(f, "workspaces: all points have one size, so workspaces cannot "
                                       "be separated from the margin");
    }
    ms_regression_set_coefficients(f, kinds, 0);
    ms_regression_add_quality(f, "reserved_memory_bytes", reserved_before, reserved_after,
                              reserved_measured);
    f->reserved_count = f->count;
    return status;
}

/* ---- the context, links: medians ---- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(const ms_regression *f, uint32_t held_out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->count; i++)
        if (i != held_out)
            f->sorted[count++] = f->samples[i];
    qsort(f->sorted, count, sizeof *f->sorted, by_size);
    return (f->sorted[(count - 1) / 2] + f->sorted[count / 2]) / 2;
}

/* The row of a point in the fit of reserved memory; MS_NONE_HELD_OUT if it has none. */
static uint32_t reserved_row(const ms_regression *f, const ms_measured_point *p)
{
    uint32_t row = 0;
    for (const ms_measured_point *before = f->points->items; before < p; before++)
        row += tells_reserved(before);
    return tells_reserved(p) ? row : MS_NONE_HELD_OUT;
}

/* Workspaces and a margin, fitted without `held_out` of the points in use; the rows are still those
 * of the fit of what is reserved. */
static void solve_reserved(const ms_regression *f, uint32_t held_out, double c[MS_LEAST_COLUMNS])
{
    uint32_t skip =
        held_out == MS_NONE_HELD_OUT ? MS_NONE_HELD_OUT : reserved_row(f, f->used[held_out]);
    ms_least_solve(f->rows, f->reserved_count, skip, f->reserved_count > 0 ? f->wanted : 0, c);
}

static double predicted_with(const ms_measured_point *p, const double c[MS_LEAST_COLUMNS])
{
    return p->predicted_reserved + c[1] * p->predicted_reserved + c[0];
}

/* What the device shows on top of reserved memory: that as measured, else as predicted. */
static double context_of(const ms_measured_point *p, const double c[MS_LEAST_COLUMNS])
{
    return p->measured_device -
           (p->measured_reserved > 0 ? p->measured_reserved : predicted_with(p, c));
}

static double device_before(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->predicted_reserved + (double)f->device->context_expected_bytes;
}

static double device_after(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    double c[MS_LEAST_COLUMNS];
    solve_reserved(f, held_out, c);
    for (uint32_t k = 0; k < f->count; k++)
        f->samples[k] = context_of(f->used[k], c);
    return predicted_with(f->used[i], c) + median(f, held_out);
}

static double device_measured(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->measured_device;
}

static ms_status note_below(ms_regression *f, uint32_t count)
{
    return ms_regression_note(f,
                              "the context: without %" PRIu32 " point%s, whose device shows less "
                              "than the predicted reserved memory",
                              count, count == 1 ? "" : "s");
}

/* Where the context was measured by itself, nothing need be derived. False: it was not. */
static bool fit_own_context(ms_regression *f)
{
    f->count = 0;
    for (uint32_t i = 0; i < f->points->count; i++)
        if (f->points->items[i].measured_context > 0)
            f->samples[f->count++] = f->points->items[i].measured_context;
    if (f->count == 0)
        return false;
    ms_regression_set_parameter(f, MS_PARAMETER_CONTEXT, median(f, MS_NONE_HELD_OUT));
    for (uint32_t i = 0; i < f->count; i++)
        ms_regression_widen(f, MS_PARAMETER_CONTEXT, f->samples[i]);
    return true;
}

static ms_status fit_context(ms_regression *f)
{
    double c[MS_LEAST_COLUMNS];
    if (fit_own_context(f))
        return MS_OK;
    uint32_t below = 0;
    solve_reserved(f, MS_NONE_HELD_OUT, c);
    f->count = 0;
    for (uint32_t i = 0; i < f->points->count; i++) {
        const ms_measured_point *p = &f->points->items[i];
        if (p->measured_device <= 0 || p->predicted_reserved <= 0)
            continue;
        double context = context_of(p, c);
        if (context < 0 && p->measured_reserved > 0)
            return ms_measured_point_fail(p, f->err,
                                          "the device shows less than its reserved memory");
        if (context < 0) {
            below++;
            continue;
        }
        f->used[f->count] = p;
        f->samples[f->count++] = context;
    }
    ms_status status = below == 0 ? MS_OK : note_below(f, below);
    if (status != MS_OK || f->count == 0)
        return status;
    if (f->count < LEAST_CONTEXTS)
        return ms_regression_too_few(f, "the context", LEAST_CONTEXTS);
    ms_regression_set_parameter(f, MS_PARAMETER_CONTEXT, median(f, MS_NONE_HELD_OUT));
    for (uint32_t i = 0; i < f->count; i++)
        ms_regression_widen(f, MS_PARAMETER_CONTEXT, f->samples[i]);
    ms_regression_add_quality(f, "expected_device_bytes", device_before, device_after,
                              device_measured);
    return MS_OK;
}

static ms_status fit_link(ms_regression *f, ms_parameter_kind kind, size_t offset)
{
    f->count = 0;
    for (uint32_t i = 0; i < f->points->count; i++) {
        double rate;
        memcpy(&rate, (const char *)&f->points->items[i] + offset, sizeof rate);
        if (rate > 0)
            f->samples[f->count++] = rate * 1e9;
    }
    if (f->count == 0)
        return MS_OK;
    if (f->count < LEAST_LINKS)
        return ms_regression_too_few(f, ms_parameter_rows[kind].title, LEAST_LINKS);
    ms_regression_set_parameter(f, kind, median(f, MS_NONE_HELD_OUT));
    for (uint32_t i = 0; i < f->count; i++)
        ms_regression_widen(f, kind, median(f, i));
    return MS_OK;
}

/* ---- all of it ---- */

ms_status ms_calibration_device(const ms_measured_points *points, const char **name, ms_error *err)
{
    *name = points->count > 0 ? points->items[0].device : "";
    for (uint32_t i = 0; i < points->count; i++) {
        const ms_measured_point *p = &points->items[i];
        if (!*p->device)
            return ms_measured_point_fail(p, err, "its device is not given");
        if (strcmp(p->device, *name) != 0)
            return ms_measured_point_fail(
                p, err, "the points are from %.40s and %.40s: a calibration is for one device",
                *name, p->device);
    }
    return MS_OK;
}

static ms_status check_fitted(const ms_regression *f)
{
    const ms_calibration_result *r = f->result;
    bool is_any = false;
    for (int i = 0; i < MS_PARAMETER_COUNT; i++) {
        const ms_fitted *fitted = &r->calibration.parameters[i];
        if (fitted->high > ms_parameter_rows[i].most)
            return ms_fail(
                f->err, MS_ERR_CONFIG,
                "%s is fitted as %.3g: the measurements do not belong to the predicted steps",
                ms_parameter_rows[i].title, fitted->high);
        is_any = is_any || fitted->points > 0;
    }
    if (is_any)
        return MS_OK;
    return ms_fail(f->err, MS_ERR_CONFIG, "there are too few points to fit anything: %s%s%s",
                   r->note_count > 0 ? r->notes[0] : "no point has a measured figure",
                   r->note_count > 1 ? "; " : "", r->note_count > 1 ? r->notes[1] : "");
}

ms_status ms_calibration_fit(ms_arena *arena, const ms_measured_points *points,
                             const ms_device *device, ms_calibration_result *result, ms_error *err)
{
    ms_regression f = {
        .arena = arena, .points = points, .device = device, .result = result, .err = err};
    *result =
        (ms_calibration_result){.calibration = {.device = device->name, .points = points->count}};
    f.used = ms_arena_alloc(arena, points->count, sizeof *f.used);
    f.rows = ms_arena_array(arena, ms_least_row, points->count);
    f.samples = ms_arena_array(arena, double, points->count);
    f.sorted = ms_arena_array(arena, double, points->count);
    if (!f.used || !f.rows || !f.samples || !f.sorted)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a fit");
    ms_status status = ms_measured_points_check(points, device, err);
    if (status == MS_OK)
        status = fit_reserved(&f);
    if (status == MS_OK)
        status = fit_context(&f);
    if (status == MS_OK)
        status = ms_regression_times(&f);
    if (status == MS_OK)
        status =
            fit_link(&f, MS_PARAMETER_HOST_LINK, offsetof(ms_measured_point, host_link_gb_per_s));
    if (status == MS_OK)
        status =
            fit_link(&f, MS_PARAMETER_PEER_LINK, offsetof(ms_measured_point, peer_link_gb_per_s));
    if (status == MS_OK)
        status = check_fitted(&f);
    return status == MS_OK ? ms_calibration_remark(arena, device, result, err) : status;
}
