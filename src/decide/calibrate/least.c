/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/least.h"

#include <math.h>
#include <string.h>

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
