/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A figure while it is fitted, for the files that fit one.
 */
#ifndef MS_CALIBRATE_REGRESSION_H
#define MS_CALIBRATE_REGRESSION_H

#include "calibrate/fit_memory.h"
#include "calibrate/least.h"

/* In addition to as many points as there are parameters, two that can contradict them. */
enum { MS_SPARE_POINTS = 2 };
#define MS_NONE_HELD_OUT UINT32_MAX

/* One figure: its points, and what a fit without one of them predicts for each. */
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

/* A sentence on what was not fitted. */
__attribute__((format(printf, 2, 3))) ms_status ms_regression_note(ms_regression *f,
                                                                   const char *format, ...);
ms_status ms_regression_too_few(ms_regression *f, const char *what, uint32_t needed);

/* The prediction for a point by a fit without `held_out`. */
typedef double (*ms_predictor)(const ms_regression *f, uint32_t point, uint32_t held_out);
/* `before`, `after`: the prediction for a point without and with the fit; `measured`: its true
 * value. */
void ms_regression_add_quality(ms_regression *f, const char *figure, ms_predictor before,
                               ms_predictor after, ms_predictor measured);

/* Values and columns become shares of what was measured, so that all points count alike. */
void ms_regression_set_row(ms_regression *f, uint32_t i, const double columns[MS_LEAST_COLUMNS],
                           double rest, double measured);
/* Sets a parameter from all points; then its range takes in a value of fewer. Bytes are whole. */
void ms_regression_set_parameter(ms_regression *f, ms_parameter_kind kind, double value);
void ms_regression_widen(ms_regression *f, ms_parameter_kind kind, double value);
/* Parameters are `base` and the coefficients of the wanted columns. */
void ms_regression_set_coefficients(ms_regression *f,
                                    const ms_parameter_kind kinds[MS_LEAST_COLUMNS], double base);
void ms_regression_solve(const ms_regression *f, uint32_t held_out, double c[MS_LEAST_COLUMNS]);
/* What coefficients add to a point, as a share. */
double ms_regression_dot(const ms_regression *f, const double c[MS_LEAST_COLUMNS], uint32_t point);

#endif
