/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fits the times of operator classes relative to the roofline.
 */
#include "decide/calibrate/fit_times.h"

#include "decide/calibrate/regression.h"

static double predicted_ms(const ms_measured_point *p)
{
    double ms = p->predicted_copy_ms;
    for (int i = 0; i < MS_OP_CLASSES; i++)
        ms += p->predicted_ms[i];
    return ms;
}

static double time_before(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->step_ms > 0 ? f->used[i]->step_ms : predicted_ms(f->used[i]);
}

static double time_after(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    double c[MS_LEAST_COLUMNS];
    ms_regression_solve(f, held_out, c);
    return predicted_ms(f->used[i]) + ms_regression_dot(f, c, i) * f->used[i]->measured_ms;
}

static double time_measured(const ms_regression *f, uint32_t i, uint32_t held_out)
{
    (void)held_out;
    return f->used[i]->measured_ms;
}

static ms_status join_classes(ms_regression *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        for (int c = 1; c < MS_LEAST_COLUMNS; c++)
            f->rows[i].columns[0] += f->rows[i].columns[c];
    f->is_joined = true;
    return ms_regression_note(f, "classes of operators: their shares are similar in all points, so "
                                 "one factor is fitted for all");
}

_Static_assert((int)MS_OP_CLASSES <= (int)MS_LEAST_COLUMNS, "a class has no column");

ms_status ms_regression_times(ms_regression *f)
{
    static const ms_parameter_kind kinds[MS_LEAST_COLUMNS] = {
        MS_PARAMETER_PRODUCT, MS_PARAMETER_ATTENTION, MS_PARAMETER_OTHER};
    f->count = 0;
    for (uint32_t i = 0; i < f->points->count; i++) {
        const ms_measured_point *p = &f->points->items[i];
        if (p->measured_ms <= 0 || predicted_ms(p) - p->predicted_copy_ms <= 0)
            continue;
        ms_regression_set_row(f, f->count, p->predicted_ms, p->measured_ms - predicted_ms(p),
                              p->measured_ms);
        f->used[f->count++] = p;
    }
    if (f->count == 0)
        return MS_OK;
    f->is_joined = false;
    f->wanted = ms_least_used(f->rows, f->count);
    uint32_t needed = MS_SPARE_POINTS;
    for (uint32_t i = 0; i < MS_LEAST_COLUMNS; i++)
        needed += f->wanted >> i & 1;
    if (f->count < needed)
        return ms_regression_too_few(f, "times of operators", needed);
    ms_status status = MS_OK;
    if (!ms_least_tells_apart(f->rows, f->count, f->wanted))
        status = join_classes(f);
    ms_regression_set_coefficients(f, kinds, 1);
    ms_regression_add_quality(f, "step_time_ms", time_before, time_after, time_measured);
    return status;
}
