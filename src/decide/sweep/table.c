/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/csv.h"
#include "base/file.h"
#include "base/text/nearest.h"
#include "input/config/run/run_fields.h"

void ms_table_free(ms_table *table)
{
    ms_file_close(table->file);
    ms_vec_free(&table->fields);
    free(table->line);
    *table = (ms_table){0};
}

static ms_status fail_read(const ms_table *table, ms_error *err)
{
    int reason = errno;
    return ms_fail(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot read %s: %s",
                   table->name, ms_file_reason(reason));
}

/* The next line that holds something, without its end; false at the end of the file or after a
 * failure. */
static bool read_line(ms_table *table)
{
    ssize_t length;
    do {
        errno = 0;
        length = ms_file_line(table->file, &table->line, &table->line_bytes);
        table->line_number++;
        if (length < 0)
            return false;
        ms_csv_chomp(table->line, (size_t)length);
    } while (*table->line == '\0');
    return true;
}

static bool has_failed(const ms_table *table)
{
    return ferror(table->file) || errno == ENOMEM || errno == EFBIG;
}

/* ---- opening ---- */

/* A pipe cannot be read twice. */
static ms_status make_seekable(ms_table *table, ms_error *err)
{
    char buffer[4096];
    size_t bytes, all = 0;
    if (fseek(table->file, 0, SEEK_CUR) == 0)
        return MS_OK;
    FILE *copy = tmpfile(), *from = table->file;
    if (!copy)
        return fail_read(table, err);
    while (all <= MS_TABLE_PIPE_BYTES && (bytes = fread(buffer, 1, sizeof buffer, from)) > 0) {
        all += bytes;
        if (fwrite(buffer, 1, bytes, copy) != bytes)
            break;
    }
    table->file = copy;
    bool is_whole = bytes == 0 && !ferror(from) && fflush(copy) == 0;
    ms_file_close(from);
    if (all > MS_TABLE_PIPE_BYTES)
        return ms_fail(err, MS_ERR_LIMIT, "%s: the pipe delivers more than %d MiB", table->name,
                       MS_TABLE_PIPE_BYTES >> 20);
    if (!is_whole || fseek(copy, 0, SEEK_SET) != 0)
        return fail_read(table, err);
    return MS_OK;
}

typedef struct header {
    ms_table *table;
    ms_status status;
    ms_error *err;
} header;

static ms_status add_column(ms_table *table, const char *name, ms_error *err)
{
    char hint[MS_CONFIG_HINT_BYTES];
    int index = ms_run_field_find(name);
    if (index < 0)
        return ms_fail(err, MS_ERR_CONFIG, "%s: its header names '%.40s', which is not a field%s",
                       table->name, name, ms_run_field_hint(name, hint));
    for (uint32_t i = 0; i < table->fields.count; i++)
        if (table->fields.items[i] == (size_t)index)
            return ms_fail(err, MS_ERR_CONFIG, "%s: its header names '%.40s' twice", table->name,
                           name);
    return ms_vec_push(&table->fields, (size_t)index)
               ? MS_OK
               : ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", table->name);
}

static void take_name(void *context, char *name)
{
    header *h = context;
    if (h->status == MS_OK)
        h->status = add_column(h->table, name, h->err);
}

static ms_status read_header(ms_table *table, ms_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that spreadsheets begin UTF-8 with */
    header h = {table, MS_OK, err};
    bool has_line = read_line(table);
    if (!has_line && has_failed(table))
        return fail_read(table, err);
    if (!has_line || *table->line == '\0')
        return ms_fail(err, MS_ERR_CONFIG,
                       "%s is empty; expected a header such as config,batch,seq", table->name);
    char *line = table->line;
    if (strncmp(line, mark, sizeof mark - 1) == 0)
        line += sizeof mark - 1;
    if (!ms_csv_split(line, take_name, &h))
        return ms_fail(err, MS_ERR_CONFIG, "%s: its header is not CSV", table->name);
    return h.status;
}

ms_status ms_table_open(ms_table *table, ms_inputs *inputs, const char *path, ms_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    ms_error reason = {.status = MS_OK};
    *table = (ms_table){0};
    snprintf(table->name, sizeof table->name, "%.100s", is_stdin ? "<stdin>" : path);
    table->file = ms_file_open(inputs, path, &reason);
    if (!table->file)
        return ms_fail(err, reason.status, "cannot read %s: %s", table->name, reason.text);
    ms_status status = make_seekable(table, err);
    if (status == MS_OK)
        status = read_header(table, err);
    if (status != MS_OK)
        return status;
    table->first = ftell(table->file);
    if (table->first < 0)
        return fail_read(table, err);
    while (read_line(table))
        table->line_count++;
    return has_failed(table) ? fail_read(table, err) : ms_table_rewind(table, err);
}

ms_status ms_table_rewind(ms_table *table, ms_error *err)
{
    table->next = 0;
    table->line_number = 1;
    return fseek(table->file, table->first, SEEK_SET) == 0 ? MS_OK : fail_read(table, err);
}

/* ---- runs ---- */

typedef struct record {
    char **cells;
    uint32_t count, most;
} record;

static void take_cell(void *context, char *cell)
{
    record *r = context;
    if (r->count < r->most)
        r->cells[r->count] = cell;
    r->count++;
}

ms_status ms_table_read(ms_table *table, char **cells, ms_error *err)
{
    record r = {.cells = cells, .most = table->fields.count};
    if (!read_line(table)) {
        if (has_failed(table))
            return fail_read(table, err);
        return ms_fail(err, MS_ERR_IO, "%s has become shorter", table->name);
    }
    table->next++;
    if (!ms_csv_split(table->line, take_cell, &r))
        return ms_fail(err, MS_ERR_CONFIG, "line %" PRIu64 " of the runs: a quote is missing",
                       table->line_number);
    if (r.count != r.most)
        return ms_fail(err, MS_ERR_CONFIG,
                       "line %" PRIu64 " of the runs: found %" PRIu32 " cells, expected %" PRIu32,
                       table->line_number, r.count, r.most);
    return MS_OK;
}
