/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/file.h"
#include "base/json/number.h"
#include "base/json/value.h"

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
