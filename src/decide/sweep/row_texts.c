/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/row_texts.h"

#include <string.h>

#include "base/text/csv.h"

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
