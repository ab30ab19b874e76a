/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json/number.h"
#include "base/json/value.h"
#include "base/text/csv.h"
#include "base/vec.h"

/* ---- merge ---- */

typedef struct merge {
    ms_rows *shards;
    size_t count;
    const ms_rows *first; /* what the others are compared with: the first that has a row */
    FILE *out;
    ms_error *err;
} merge;

static ms_status check_shard(const merge *m, const ms_rows *rows)
{
    const ms_rows *first = m->first;
    if (rows->is_cut)
        return ms_fail(m->err, MS_ERR_CONFIG,
                       "%s:%" PRIu64 ": its last row is incomplete: resume the sweep", rows->name,
                       rows->line_number);
    if (!rows->has_row)
        return MS_OK;
    bool has_same_header = !rows->header || !first->header
                               ? rows->header == first->header
                               : strcmp(rows->header, first->header) == 0;
    if (rows->sweep != first->sweep || rows->point_count != first->point_count || !has_same_header)
        return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": a row of a different sweep than %s",
                       rows->name, rows->line_number, first->name);
    return MS_OK;
}

/* The shard whose next row is that point. Shards take turns, so the one after the last is looked at
 * first. */
static ms_status find_shard(const merge *m, uint64_t point, size_t *shard)
{
    for (size_t i = 1; i <= m->count; i++) {
        size_t index = (*shard + i) % m->count;
        const ms_rows *rows = &m->shards[index];
        if (rows->has_row && rows->point < point)
            return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": point %" PRIu64 " appears twice",
                           rows->name, rows->line_number, rows->point);
        if (rows->has_row && rows->point == point) {
            *shard = index;
            return MS_OK;
        }
    }
    return ms_fail(m->err, MS_ERR_CONFIG,
                   "point %" PRIu64 " of %" PRIu64 " is in none of the files", point,
                   m->first->point_count);
}

static ms_status write_row(const merge *m, ms_rows *rows)
{
    if (fwrite(rows->line, 1, rows->length, m->out) != rows->length)
        return ms_fail(m->err, MS_ERR_IO, "writing rows: %s", strerror(errno));
    ms_status status = ms_rows_next(rows, m->err);
    return status == MS_OK ? check_shard(m, rows) : status;
}

/* Nothing may be left when every point was found. */
static ms_status check_ends(const merge *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->shards[i].has_row)
            return ms_fail(m->err, MS_ERR_CONFIG, "%s:%" PRIu64 ": point %" PRIu64 " appears twice",
                           m->shards[i].name, m->shards[i].line_number, m->shards[i].point);
    return MS_OK;
}

ms_status ms_rows_merge(ms_rows *shards, size_t count, FILE *out, ms_error *err)
{
    merge m = {shards, count, NULL, out, err};
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && !m.first; i++)
        m.first = shards[i].has_row ? &shards[i] : NULL;
    if (!m.first)
        return ms_fail(err, MS_ERR_CONFIG, "the files contain no rows");
    const ms_rows first = *m.first; /* it moves on */
    m.first = &first;
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = check_shard(&m, &shards[i]);
    if (status == MS_OK && first.header)
        fputs(first.header, out);
    size_t shard = count - 1;
    for (uint64_t point = 0; point < first.point_count && status == MS_OK; point++) {
        status = find_shard(&m, point, &shard);
        if (status == MS_OK)
            status = write_row(&m, &shards[shard]);
    }
    return status == MS_OK ? check_ends(&m) : status;
}

/* ---- row texts ---- */

enum { MS_ROW_TEXTS_MOST = 100000 };

typedef struct cells {
    const char **texts;
    uint32_t count, room;
} cells;

static void take_cell(void *context, char *value)
{
    cells *c = context;
    if (c->count < c->room)
        c->texts[c->count++] = value;
}

/* A line of so many cells. */
static const char **split(ms_arena *arena, const char *line, uint32_t count)
{
    char *copy = ms_arena_strdup(arena, line);
    cells c = {.texts = ms_arena_array(arena, const char *, count), .room = count};
    if (!copy || !c.texts)
        return NULL;
    ms_csv_chomp(copy, strlen(copy));
    ms_csv_split(copy, take_cell, &c);
    while (c.count < count)
        c.texts[c.count++] = "";
    return c.texts;
}

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of rows");
}

/* Options lie between the status of a row and its model. */
static ms_status read_names(ms_arena *arena, const ms_rows *rows, ms_row_texts *t, ms_error *err)
{
    if (!rows->header)
        return ms_fail(err, MS_ERR_USAGE, "a table is made of rows in CSV, not of %s", rows->name);
    t->column_count = rows->cell_count;
    t->names = split(arena, rows->header, rows->cell_count);
    if (!t->names)
        return no_memory(err);
    for (uint32_t i = 0; i < t->column_count; i++)
        if (strcmp(t->names[i], "status") == 0)
            t->first_input = i + 1;
    for (uint32_t i = t->first_input; i < t->column_count && strcmp(t->names[i], "model") != 0; i++)
        t->input_count++;
    return MS_OK;
}

static ms_status add_row(ms_arena *arena, const ms_rows *rows, ms_row_texts *t, ms_error *err)
{
    if (t->rows.count == MS_ROW_TEXTS_MOST)
        return ms_fail(err, MS_ERR_LIMIT,
                       "a table for people has at most %d rows: write them as CSV",
                       MS_ROW_TEXTS_MOST);
    const char *const *row = split(arena, rows->line, t->column_count);
    return row && ms_vec_push(&t->rows, row) ? MS_OK : no_memory(err);
}

ms_status ms_row_texts_read(ms_arena *arena, FILE *file, const char *name, ms_row_texts *t,
                            ms_error *err)
{
    ms_rows rows = {.file = file};
    *t = (ms_row_texts){0};
    ms_status status = ms_rows_open(&rows, file, name, err);
    if (status == MS_OK)
        status = read_names(arena, &rows, t, err);
    while (status == MS_OK && rows.has_row) {
        status = add_row(arena, &rows, t, err);
        if (status == MS_OK)
            status = ms_rows_next(&rows, err);
    }
    ms_rows_free(&rows);
    return status;
}

void ms_row_texts_free(ms_row_texts *texts)
{
    ms_vec_free(&texts->rows);
}

const char *ms_row_text(const ms_row_texts *t, uint32_t row, const char *column)
{
    for (uint32_t i = 0; i < t->column_count; i++)
        if (strcmp(t->names[i], column) == 0)
            return t->rows.items[row][i];
    return "";
}

/* ---- rows ---- */

void ms_rows_free(ms_rows *rows)
{
    free(rows->header);
    free(rows->line);
    rows->header = rows->line = NULL;
}

static ms_status fail_read(const ms_rows *rows, ms_error *err)
{
    int reason = errno;
    return ms_fail(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot read %s: %s",
                   rows->name, ms_file_reason(reason));
}

static ms_status fail_row(const ms_rows *rows, ms_error *err)
{
    return ms_fail(err, MS_ERR_CONFIG, "%s:%" PRIu64 ": not a row of a sweep", rows->name,
                   rows->line_number);
}

/* The next complete line; `has_row`: whether there is one. */
static ms_status read_line(ms_rows *rows, ms_error *err)
{
    errno = 0;
    ssize_t length = ms_file_line(rows->file, &rows->line, &rows->line_bytes);
    rows->line_number++;
    if (length < 0 && (ferror(rows->file) || errno == ENOMEM || errno == EFBIG))
        return fail_read(rows, err);
    rows->has_row = length > 0 && rows->line[length - 1] == '\n';
    rows->is_cut = length > 0 && !rows->has_row;
    rows->length = rows->has_row ? (size_t)length : 0;
    rows->whole_bytes += rows->length;
    /* A zero byte would end the text before the line does. */
    return rows->has_row && strlen(rows->line) != rows->length ? fail_row(rows, err) : MS_OK;
}

/* ---- who a row is ---- */

static uint32_t count_cells(const char *line)
{
    uint32_t count = 1;
    bool is_quoted = false;
    for (; *line; line++) {
        is_quoted = is_quoted != (*line == '"');
        if (*line == ',' && !is_quoted)
            count++;
    }
    return is_quoted ? 0 : count;
}

static bool read_digest(const char *text, uint64_t *sweep)
{
    char *end;
    if (strspn(text, "0123456789abcdef") < 16)
        return false;
    *sweep = strtoull(text, &end, 16);
    return end == text + 16;
}

/* The number before the next comma; what follows that, or NULL. */
static const char *read_number(const char *text, uint64_t *number)
{
    size_t length = strcspn(text, ",");
    bool is_good = text[length] == ',' && ms_number_count(text, length, number) == MS_COUNT_OK;
    return is_good ? text + length + 1 : NULL;
}

static bool read_csv(ms_rows *rows)
{
    const char *rest = rows->line;
    if (count_cells(rest) != rows->cell_count || !read_digest(rest, &rows->sweep) ||
        rest[16] != ',')
        return false;
    rest = read_number(rest + 17, &rows->point);
    rest = rest ? read_number(rest, &rows->point_count) : NULL;
    rows->is_error = rest && strncmp(rest, "error,", 6) == 0;
    return rest && (rows->is_error || strncmp(rest, "ok,", 3) == 0);
}

static bool read_object(ms_rows *rows, ms_json_value root)
{
    ms_json_value value;
    const char *sweep, *status;
    bool is_good = ms_json_find(root, "sweep", &value) &&
                   ms_json_get_string(value, &sweep, NULL) == MS_OK && strlen(sweep) == 16 &&
                   read_digest(sweep, &rows->sweep) && ms_json_find(root, "point", &value) &&
                   ms_json_get_count(value, 0, UINT64_MAX, &rows->point, NULL) == MS_OK &&
                   ms_json_find(root, "points", &value) &&
                   ms_json_get_count(value, 0, UINT64_MAX, &rows->point_count, NULL) == MS_OK &&
                   ms_json_find(root, "status", &value) &&
                   ms_json_get_string(value, &status, NULL) == MS_OK;
    rows->is_error = is_good && strcmp(status, "error") == 0;
    return is_good;
}

static ms_status read_json(ms_rows *rows, bool *is_good)
{
    const ms_json_source source = {rows->name, rows->line, rows->length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, NULL);
    *is_good = status == MS_OK && read_object(rows, ms_json_root(document));
    ms_json_free(document);
    return status == MS_ERR_NOMEM ? status : MS_OK;
}

static ms_status read_row(ms_rows *rows, ms_error *err)
{
    bool is_good = true;
    if (rows->format == MS_ROWS_CSV)
        is_good = read_csv(rows);
    else if (read_json(rows, &is_good) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", rows->name);
    return is_good && rows->point < rows->point_count ? MS_OK : fail_row(rows, err);
}

ms_status ms_rows_next(ms_rows *rows, ms_error *err)
{
    ms_status status = read_line(rows, err);
    return status == MS_OK && rows->has_row ? read_row(rows, err) : status;
}

ms_status ms_rows_open(ms_rows *rows, FILE *file, const char *name, ms_error *err)
{
    static const char begin[] = "sweep,point,points,status,";
    *rows = (ms_rows){.file = file};
    snprintf(rows->name, sizeof rows->name, "%.120s", name);
    ms_status status = read_line(rows, err);
    if (status != MS_OK || !rows->has_row)
        return status;
    if (rows->line[0] == '{') {
        rows->format = MS_ROWS_JSONL;
        return read_row(rows, err);
    }
    if (strncmp(rows->line, begin, sizeof begin - 1) != 0)
        return fail_row(rows, err);
    rows->header = strdup(rows->line);
    rows->cell_count = count_cells(rows->line);
    if (!rows->header)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", rows->name);
    return ms_rows_next(rows, err);
}
