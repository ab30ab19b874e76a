/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Pareto front. One pass finds its rows, a second one writes them; only the front is kept in
 * memory.
 */
#include "decide/sweep/frontier.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/csv.h"
#include "base/text/nearest.h"
#include "base/json/value.h"
#include "decide/sweep/rows.h"

enum { MOST_OBJECTIVES = 8 };

/* How good a row is: the less the better in each. */
typedef struct candidate {
    uint64_t point;
    double costs[MOST_OBJECTIVES];
} candidate;

typedef struct frontier {
    char *names; /* cut into `objectives` */
    const char *objectives[MOST_OBJECTIVES];
    size_t count;
    size_t cells[MOST_OBJECTIVES], fits_cell; /* of a CSV file, which cells they are */
    ms_vec(candidate) kept;
    ms_error *err;
} frontier;

/* ---- objectives ---- */

static ms_status fail_objective(const char *name, ms_error *err)
{
    char hint[64];
    const char *known;
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; (known = ms_row_objective_at(i)) != NULL; i++)
        ms_nearest_offer(&nearest, known);
    return ms_fail(err, MS_ERR_USAGE,
                   "objectives: '%.40s' is not a column in which more or less is better%s", name,
                   ms_nearest_hint(&nearest, hint, sizeof hint));
}

static ms_status cut_objectives(frontier *f, const char *list)
{
    f->names = strdup(list);
    if (!f->names)
        return ms_fail(f->err, MS_ERR_NOMEM, "out of memory for objectives");
    for (char *rest = f->names, *name = rest; name; name = rest) {
        rest = strchr(name, ',');
        if (rest)
            *rest++ = '\0';
        if (ms_row_preference(name) == 0)
            return fail_objective(name, f->err);
        if (f->count == MOST_OBJECTIVES)
            return ms_fail(f->err, MS_ERR_USAGE, "objectives: more than %d", MOST_OBJECTIVES);
        f->objectives[f->count++] = name;
    }
    return MS_OK;
}

ms_status ms_rows_check_objectives(const char *objectives, ms_error *err)
{
    frontier f = {.err = err};
    ms_status status = cut_objectives(&f, objectives);
    free(f.names);
    return status;
}

/* ---- cells of CSV ---- */

typedef struct header {
    frontier *frontier;
    size_t index;
} header;

static void take_name(void *context, char *name)
{
    header *h = context;
    h->index++; /* from 1: 0 is none */
    for (size_t i = 0; i < h->frontier->count; i++)
        if (strcmp(name, h->frontier->objectives[i]) == 0)
            h->frontier->cells[i] = h->index;
    if (strcmp(name, "fits") == 0)
        h->frontier->fits_cell = h->index;
}

static ms_status find_cells(frontier *f, const ms_rows *rows)
{
    header h = {.frontier = f};
    if (!rows->header)
        return MS_OK;
    char *copy = strdup(rows->header);
    if (!copy)
        return ms_fail(f->err, MS_ERR_NOMEM, "out of memory for a header");
    ms_csv_chomp(copy, strlen(copy));
    ms_csv_split(copy, take_name, &h);
    free(copy);
    for (size_t i = 0; i < f->count; i++)
        if (f->cells[i] == 0)
            return ms_fail(f->err, MS_ERR_USAGE, "objectives: %s has no column %s", rows->name,
                           f->objectives[i]);
    return MS_OK;
}

typedef struct reading {
    const frontier *frontier;
    candidate *candidate;
    bool fits;
    size_t index;
} reading;

/* Digits and a point are all there is in rows of ours; NAN when there is nothing. */
static double read_number(const char *text)
{
    double number = 0, unit = 1;
    bool is_negative = *text == '-', is_fraction = false;
    text += is_negative;
    if (*text == '\0')
        return NAN;
    for (; *text; text++) {
        if (*text == '.') {
            is_fraction = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            return NAN;
        number = number * 10 + (*text - '0');
        unit *= is_fraction ? 10 : 1;
    }
    return (is_negative ? -number : number) / unit;
}

static double cost_of(const char *objective, double value)
{
    return isnan(value) ? INFINITY : -ms_row_preference(objective) * value;
}

static void take_cell(void *context, char *cell)
{
    reading *r = context;
    const frontier *f = r->frontier;
    r->index++;
    if (r->index == f->fits_cell)
        r->fits = strcmp(cell, "true") == 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->cells[i] == r->index)
            r->candidate->costs[i] = cost_of(f->objectives[i], read_number(cell));
}

static ms_status read_csv(const frontier *f, const ms_rows *rows, candidate *c, bool *fits)
{
    reading r = {.frontier = f, .candidate = c};
    char *copy = strdup(rows->line);
    if (!copy)
        return ms_fail(f->err, MS_ERR_NOMEM, "out of memory for a row");
    ms_csv_chomp(copy, rows->length);
    ms_csv_split(copy, take_cell, &r);
    free(copy);
    *fits = r.fits;
    return MS_OK;
}

/* ---- members of JSON ---- */

static ms_status read_json(const frontier *f, const ms_rows *rows, candidate *c, bool *fits)
{
    const ms_json_source source = {rows->name, rows->line, rows->length};
    ms_json *document = NULL;
    ms_json_value value;
    ms_status status = ms_json_parse(&source, &document, f->err);
    if (status != MS_OK)
        return status;
    ms_json_value root = ms_json_root(document);
    if (!ms_json_find(root, "fits", &value) || ms_json_get_bool(value, fits, NULL) != MS_OK)
        *fits = false;
    for (size_t i = 0; i < f->count; i++) {
        double number = NAN;
        if (!ms_json_find(root, f->objectives[i], &value))
            status = ms_fail(f->err, MS_ERR_USAGE, "objectives: %s has no column %s", rows->name,
                             f->objectives[i]);
        else if (ms_json_get_number(value, -1e300, 1e300, &number, NULL) != MS_OK)
            number = NAN;
        c->costs[i] = cost_of(f->objectives[i], number);
    }
    ms_json_free(document);
    return status;
}

/* ---- who beats whom ---- */

static bool beats(const frontier *f, const candidate *a, const candidate *b)
{
    bool is_better = false;
    for (size_t i = 0; i < f->count; i++) {
        if (a->costs[i] > b->costs[i])
            return false;
        is_better = is_better || a->costs[i] < b->costs[i];
    }
    return is_better;
}

static ms_status offer(frontier *f, const candidate *c)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < f->kept.count; i++)
        if (beats(f, &f->kept.items[i], c))
            return MS_OK;
    for (uint32_t i = 0; i < f->kept.count; i++)
        if (!beats(f, c, &f->kept.items[i]))
            f->kept.items[left++] = f->kept.items[i];
    f->kept.count = left;
    return ms_vec_push(&f->kept, *c) ? MS_OK
                                     : ms_fail(f->err, MS_ERR_NOMEM, "out of memory for rows");
}

static ms_status choose(frontier *f, ms_rows *rows)
{
    ms_status status = find_cells(f, rows);
    while (status == MS_OK && rows->has_row) {
        candidate c = {.point = rows->point};
        bool fits = false;
        if (!rows->is_error)
            status = rows->format == MS_ROWS_CSV ? read_csv(f, rows, &c, &fits)
                                                 : read_json(f, rows, &c, &fits);
        if (status == MS_OK && fits)
            status = offer(f, &c);
        if (status == MS_OK)
            status = ms_rows_next(rows, f->err);
    }
    return status;
}

static ms_status write_kept(const frontier *f, ms_rows *rows, FILE *out)
{
    ms_status status = MS_OK;
    if (rows->header)
        fputs(rows->header, out);
    for (uint32_t i = 0; i < f->kept.count && rows->has_row && status == MS_OK;) {
        if (rows->point == f->kept.items[i].point) {
            fwrite(rows->line, 1, rows->length, out);
            i++;
        }
        status = ms_rows_next(rows, f->err);
    }
    if (status == MS_OK && ferror(out))
        return ms_fail(f->err, MS_ERR_IO, "writing rows: %s", strerror(errno));
    return status;
}

ms_status ms_rows_frontier(FILE *file, const char *name, const char *objectives, FILE *out,
                           ms_error *err)
{
    frontier f = {.err = err};
    ms_rows rows = {.file = file};
    ms_status status = cut_objectives(&f, objectives);
    if (status == MS_OK)
        status = ms_rows_open(&rows, file, name, err);
    if (status == MS_OK)
        status = choose(&f, &rows);
    ms_rows_free(&rows);
    if (status == MS_OK && fseek(file, 0, SEEK_SET) != 0)
        status = ms_fail(err, MS_ERR_IO, "cannot read %s twice: %s", name, strerror(errno));
    if (status == MS_OK)
        status = ms_rows_open(&rows, file, name, err);
    if (status == MS_OK)
        status = write_kept(&f, &rows, out);
    ms_rows_free(&rows);
    ms_vec_free(&f.kept);
    free(f.names);
    return status;
}
