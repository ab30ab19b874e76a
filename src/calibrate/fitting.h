/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A figure while it is fitted, for the files that fit one.
 */
#ifndef MS_CALIBRATE_FITTING_H
#define MS_CALIBRATE_FITTING_H

#include "calibrate/fit.h"
#include "calibrate/least.h"

/* In addition to as many points as there are parameters, two that can contradict them. */
enum { MS_SPARE_POINTS = 2 };
#define MS_NONE_LEFT_OUT UINT32_MAX

/* One figure: its points, and what a fit without one of them predicts for each. */
typedef struct ms_fitting {
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
} ms_fitting;

/* A sentence on what was not fitted. */
__attribute__((format(printf, 2, 3))) ms_status ms_fitting_note(ms_fitting *f, const char *format,
                                                                ...);
ms_status ms_fitting_too_few(ms_fitting *f, const char *what, uint32_t needed);

/* The prediction for a point by a fit without `left_out`. */
typedef double (*ms_teller)(const ms_fitting *f, uint32_t point, uint32_t left_out);
/* `before`, `after`: the prediction for a point without and with the fit; `measured`: its true
 * value. */
void ms_fitting_add_quality(ms_fitting *f, const char *figure, ms_teller before, ms_teller after,
                            ms_teller measured);

/* Values and columns become shares of what was measured, so that all points count alike. */
void ms_fitting_set_row(ms_fitting *f, uint32_t i, const double columns[MS_LEAST_COLUMNS],
                        double rest, double measured);
/* Sets a parameter from all points; then its range takes in a value of fewer. Bytes are whole. */
void ms_fitting_set_parameter(ms_fitting *f, ms_parameter_kind kind, double value);
void ms_fitting_widen(ms_fitting *f, ms_parameter_kind kind, double value);
/* Parameters are `base` and the coefficients of the wanted columns. */
void ms_fitting_set_coefficients(ms_fitting *f, const ms_parameter_kind kinds[MS_LEAST_COLUMNS],
                                 double base);
void ms_fitting_solve(const ms_fitting *f, uint32_t left_out, double c[MS_LEAST_COLUMNS]);
/* What coefficients add to a point, as a share. */
double ms_fitting_dot(const ms_fitting *f, const double c[MS_LEAST_COLUMNS], uint32_t point);

#endif
