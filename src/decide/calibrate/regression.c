/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/regression.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "base/locale.h"

static ms_status no_memory(const ms_regression *f)
{
    return ms_fail(f->err, MS_ERR_NOMEM, "out of memory for a fit");
}

ms_status ms_regression_note(ms_regression *f, const char *format, ...)
{
    char text[240];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    const char *kept = ms_arena_strdup(f->arena, text);
    if (!kept)
        return no_memory(f);
    f->result->notes[f->result->note_count++] = kept;
    return MS_OK;
}

ms_status ms_regression_too_few(ms_regression *f, const char *what, uint32_t needed)
{
    return ms_regression_note(f, "%s: %" PRIu32 " point%s, and %" PRIu32 " are needed", what,
                              f->count, f->count == 1 ? "" : "s", needed);
}

static void add_error(ms_calibration_error *error, double predicted, double measured,
                      uint32_t count)
{
    double off = fabs(predicted - measured) / measured;
    error->mean += off / count;
    error->worst = off > error->worst ? off : error->worst;
}

/* `before`, `after`: the prediction for a point without and with the fit; `measured`: its true
 * value. */
void ms_regression_add_quality(ms_regression *f, const char *figure, ms_predictor before,
                               ms_predictor after, ms_predictor measured)
{
    ms_calibration_quality *q = &f->result->qualities[f->result->quality_count++];
    *q = (ms_calibration_quality){.figure = figure, .points = f->count};
    for (uint32_t i = 0; i < f->count; i++) {
        double truth = measured(f, i, MS_NONE_HELD_OUT);
        add_error(&q->before, before(f, i, MS_NONE_HELD_OUT), truth, f->count);
        add_error(&q->after, after(f, i, MS_NONE_HELD_OUT), truth, f->count);
        add_error(&q->held_out, after(f, i, i), truth, f->count);
    }
}

/* Bytes are whole numbers of them. */
static double rounded(ms_parameter_kind kind, double value)
{
    return ms_parameter_rows[kind].is_bytes ? floor(value + 0.5) : value;
}

void ms_regression_set_parameter(ms_regression *f, ms_parameter_kind kind, double value)
{
    value = rounded(kind, value);
    f->result->calibration.parameters[kind] = (ms_fitted){f->count, value, value, value};
}

void ms_regression_widen(ms_regression *f, ms_parameter_kind kind, double value)
{
    ms_fitted *fitted = &f->result->calibration.parameters[kind];
    value = rounded(kind, value);
    fitted->low = value < fitted->low ? value : fitted->low;
    fitted->high = value > fitted->high ? value : fitted->high;
}

void ms_regression_solve(const ms_regression *f, uint32_t held_out, double c[MS_LEAST_COLUMNS])
{
    ms_least_solve(f->rows, f->count, held_out, f->is_joined ? 1 : f->wanted, c);
    for (int i = 1; i < MS_LEAST_COLUMNS && f->is_joined; i++)
        c[i] = f->wanted >> i & 1 ? c[0] : 0;
}

double ms_regression_dot(const ms_regression *f, const double c[MS_LEAST_COLUMNS], uint32_t point)
{
    double sum = 0;
    for (int i = 0; i < MS_LEAST_COLUMNS; i++)
        sum += f->is_joined && i > 0 ? 0 : c[i] * f->rows[point].columns[i];
    return sum;
}

/* Values and columns are shares of what was measured, so that all points count alike. */
void ms_regression_set_row(ms_regression *f, uint32_t i, const double columns[MS_LEAST_COLUMNS],
                           double rest, double measured)
{
    for (int c = 0; c < MS_LEAST_COLUMNS; c++)
        f->rows[i].columns[c] = columns[c] / measured;
    f->rows[i].value = rest / measured;
}

void ms_regression_set_coefficients(ms_regression *f,
                                    const ms_parameter_kind kinds[MS_LEAST_COLUMNS], double base)
{
    double c[MS_LEAST_COLUMNS];
    ms_regression_solve(f, MS_NONE_HELD_OUT, c);
    for (int i = 0; i < MS_LEAST_COLUMNS; i++)
        if (f->wanted >> i & 1)
            ms_regression_set_parameter(f, kinds[i], base + c[i]);
    for (uint32_t out = 0; out < f->count; out++) {
        ms_regression_solve(f, out, c);
        for (int i = 0; i < MS_LEAST_COLUMNS; i++)
            if (f->wanted >> i & 1)
                ms_regression_widen(f, kinds[i], base + c[i]);
    }
}
