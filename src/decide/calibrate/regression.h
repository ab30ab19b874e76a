/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fit of one figure, shared by the files that fit figures.
 */
#ifndef MS_DECIDE_CALIBRATE_REGRESSION_H
#define MS_DECIDE_CALIBRATE_REGRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "decide/calibrate/fit_memory.h"

/* ---- least ---- */

/* Non-negative least squares for a few columns. */

enum { MS_LEAST_COLUMNS = 3 };

typedef struct ms_least_row {
    double columns[MS_LEAST_COLUMNS], value;
} ms_least_row;

/* The coefficients with the least squared error; `skip` is a row to omit, or UINT32_MAX. Columns
 * that are not in `wanted` (bits) get 0. */
void ms_least_solve(const ms_least_row *rows, uint32_t count, uint32_t skip, uint32_t wanted,
                    double coefficients[MS_LEAST_COLUMNS]);

/* Bits of the columns that are non-zero in some row. */
uint32_t ms_least_used(const ms_least_row *rows, uint32_t count);

/* Whether the wanted columns are linearly independent. */
bool ms_least_tells_apart(const ms_least_row *rows, uint32_t count, uint32_t wanted);

/* Points required beyond the number of parameters, so that errors can be seen. */
enum { MS_SPARE_POINTS = 2 };
#define MS_NONE_HELD_OUT UINT32_MAX

/* One figure: its points, and the predictions of leave-one-out fits. */
typedef struct ms_regression {
    ms_arena *arena;
    const ms_measured_points *points;
    const ms_device *device;
    ms_calibration_result *result;
    const ms_measured_point **used;
    ms_least_row *rows;
    double *samples, *sorted;
    uint32_t count, wanted;
    uint32_t reserved_count; /* rows of the fit of reserved memory; 0: none */
    bool is_joined;          /* the columns cannot be separated: one coefficient for all */
    ms_error *err;
} ms_regression;

/* Adds a note on a parameter that was not fitted. */
__attribute__((format(printf, 2, 3))) ms_status ms_regression_note(ms_regression *f,
                                                                   const char *format, ...);
ms_status ms_regression_too_few(ms_regression *f, const char *what, uint32_t needed);

/* The prediction for a point by a fit without `held_out`. */
typedef double (*ms_predictor)(const ms_regression *f, uint32_t point, uint32_t held_out);
/* `before`, `after`: prediction for a point without and with the fit; `measured`: its measured
 * value. */
void ms_regression_add_quality(ms_regression *f, const char *figure, ms_predictor before,
                               ms_predictor after, ms_predictor measured);

/* Divides value and columns by the measured value, so that all points have equal weight. */
void ms_regression_set_row(ms_regression *f, uint32_t i, const double columns[MS_LEAST_COLUMNS],
                           double rest, double measured);
/* Set a parameter fitted to all points; widen its range by the value of a fit to fewer. Bytes are
 * rounded. */
void ms_regression_set_parameter(ms_regression *f, ms_parameter_kind kind, double value);
void ms_regression_widen(ms_regression *f, ms_parameter_kind kind, double value);
/* Sets parameters to `base` plus the coefficients of the wanted columns. */
void ms_regression_set_coefficients(ms_regression *f,
                                    const ms_parameter_kind kinds[MS_LEAST_COLUMNS], double base);
void ms_regression_solve(const ms_regression *f, uint32_t held_out, double c[MS_LEAST_COLUMNS]);
/* The contribution of coefficients to a point, relative to its measured value. */
double ms_regression_dot(const ms_regression *f, const double c[MS_LEAST_COLUMNS], uint32_t point);

#endif
