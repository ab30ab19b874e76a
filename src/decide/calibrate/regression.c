/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/regression.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/locale.h"

/* ---- least ---- */

enum { N = MS_LEAST_COLUMNS, EVERY = (1 << N) - 1 };

/* Columns whose angle is smaller are taken as one. */
static const double least_pivot = 1e-9;

/* Products of columns, of unit length each; the values are the last column. */
typedef struct products {
    double of[N + 1][N + 1];
    double lengths[N];
} products;

static products multiply(const ms_least_row *rows, uint32_t count, uint32_t skip)
{
    products p;
    memset(&p, 0, sizeof p);
    for (uint32_t r = 0; r < count; r++) {
        double cells[N + 1];
        if (r == skip)
            continue;
        memcpy(cells, rows[r].columns, sizeof rows[r].columns);
        cells[N] = rows[r].value;
        for (int i = 0; i <= N; i++)
            for (int k = 0; k <= N; k++)
                p.of[i][k] += cells[i] * cells[k];
    }
    for (int i = 0; i < N; i++)
        p.lengths[i] = p.of[i][i] > 0 ? sqrt(p.of[i][i]) : 1;
    for (int i = 0; i < N; i++)
        for (int k = 0; k <= N; k++)
            p.of[i][k] /= p.lengths[i] * (k < N ? p.lengths[k] : 1);
    return p;
}

/* Solves for the columns in `mask` by elimination; false if they cannot be separated. */
static bool eliminate(const products *p, uint32_t mask, double found[N])
{
    double m[N][N + 1];
    memcpy(m, p->of, sizeof m);
    for (int i = 0; i < N; i++)
        if (!(mask >> i & 1))
            for (int k = 0; k <= N; k++)
                m[i][k] = i == k;
    for (int i = 0; i < N; i++) {
        if (fabs(m[i][i]) < least_pivot)
            return false;
        for (int r = 0; r < N; r++) {
            double factor = r == i ? 0 : m[r][i] / m[i][i];
            for (int k = i; k <= N; k++)
                m[r][k] -= factor * m[i][k];
        }
    }
    for (int i = 0; i < N; i++)
        found[i] = mask >> i & 1 ? m[i][N] / m[i][i] / p->lengths[i] : 0;
    return true;
}

/* Without the values' own square, which is the same for all. */
static double cost_of(const products *p, const double c[N])
{
    double cost = 0;
    for (int i = 0; i < N; i++) {
        cost -= 2 * c[i] * p->lengths[i] * p->of[i][N];
        for (int k = 0; k < N; k++)
            cost += c[i] * c[k] * p->of[i][k] * p->lengths[i] * p->lengths[k];
    }
    return cost;
}

/* Where coefficients may not be negative, the best has some at 0 and is the free best of the
 * others: with so few columns all choices are tried. */
void ms_least_solve(const ms_least_row *rows, uint32_t count, uint32_t skip, uint32_t wanted,
                    double coefficients[MS_LEAST_COLUMNS])
{
    const products p = multiply(rows, count, skip);
    double best = 0;
    memset(coefficients, 0, N * sizeof *coefficients);
    for (uint32_t mask = 1; mask <= EVERY; mask++) {
        double found[N];
        if ((mask & ~wanted) || !eliminate(&p, mask, found))
            continue;
        bool is_allowed = found[0] >= 0 && found[1] >= 0 && found[2] >= 0;
        double cost = is_allowed ? cost_of(&p, found) : 0;
        if (is_allowed && cost < best) {
            best = cost;
            memcpy(coefficients, found, sizeof found);
        }
    }
}

uint32_t ms_least_used(const ms_least_row *rows, uint32_t count)
{
    uint32_t used = 0;
    for (uint32_t r = 0; r < count; r++)
        for (int i = 0; i < N; i++)
            if (rows[r].columns[i] != 0)
                used |= 1u << i;
    return used;
}

bool ms_least_tells_apart(const ms_least_row *rows, uint32_t count, uint32_t wanted)
{
    const products p = multiply(rows, count, UINT32_MAX);
    double found[N];
    return eliminate(&p, wanted, found);
}

/* ---- regression ---- */

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
