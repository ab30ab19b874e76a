/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"

typedef struct status_row {
    ms_status status;
    int exit_code;
    const char *text;
} status_row;

static const status_row status_rows[] = {
#define STATUS_ROW(name, value, exit_code, text) {name, exit_code, text},
    MS_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_row *row_of(ms_status status)
{
    for (size_t i = 0; i < sizeof status_rows / sizeof status_rows[0]; i++)
        if (status_rows[i].status == status)
            return &status_rows[i];
    return NULL;
}

const char *ms_status_text(ms_status status)
{
    const status_row *row = row_of(status);
    return row ? row->text : "unknown status";
}

int ms_status_exit_code(ms_status status)
{
    const status_row *row = row_of(status);
    return row ? row->exit_code : 70;
}

void ms_error_vset(ms_error *err, ms_status status, const char *format, va_list args)
{
    if (!err || err->status != MS_OK)
        return;
    char text[2 * sizeof err->text];
    err->status = status;
    ms_text_vprint(text, sizeof text, format, args);
    ms_printable(text, err->text, sizeof err->text);
}

void ms_error_set(ms_error *err, ms_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ms_error_vset(err, status, format, args);
    va_end(args);
}

bool ms_status_is_of_input(ms_status status)
{
    return status != MS_OK && ms_status_exit_code(status) == ms_status_exit_code(MS_ERR_USAGE);
}

/* ---- several ---- */

/* "file:line:column: pointer: sentence" and a line break, as `more` has it. */
typedef char error_line[sizeof((ms_error *)0)->file + sizeof((ms_error *)0)->pointer +
                        sizeof((ms_error *)0)->text + 64];

static void write_line(const ms_error *err, error_line line)
{
    char file[sizeof err->file], pointer[sizeof err->pointer], place[32] = "";
    ms_printable(err->file, file, sizeof file);
    ms_printable(err->pointer, pointer, sizeof pointer);
    if (err->line)
        snprintf(place, sizeof place, ":%" PRIu32 ":%" PRIu32, err->line, err->column);
    snprintf(line, sizeof(error_line), "%s%s%s%s%s%s\n", file, place, *file ? ": " : "", pointer,
             *pointer ? ": " : "", err->text);
}

/* Whether one of the lines is this one, which ends with its line break. */
static bool has_line(const char *lines, const char *line, size_t length)
{
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        if (strncmp(lines, line, length) == 0)
            return true;
    return false;
}

/* Those of the lines that are not there, as long as there is room. */
static void add_lines(ms_error *err, const char *lines)
{
    static const char rest[] = "and more\n";
    error_line own;
    write_line(err, own);
    for (const char *end; *lines && !has_line(err->more, rest, sizeof rest - 1); lines = end) {
        const size_t used = strlen(err->more);
        end = strchr(lines, '\n') + 1;
        const size_t length = (size_t)(end - lines);
        if (has_line(own, lines, length) || has_line(err->more, lines, length))
            continue;
        if (used + length + sizeof rest > sizeof err->more) {
            memcpy(err->more + used, rest, sizeof rest);
            return;
        }
        memcpy(err->more + used, lines, length);
        err->more[used + length] = '\0';
    }
}

void ms_error_add(ms_error *err, const ms_error *other)
{
    error_line line;
    if (!err || other->status == MS_OK)
        return;
    if (err->status == MS_OK || !ms_status_is_of_input(other->status)) {
        *err = *other;
        return;
    }
    write_line(other, line);
    add_lines(err, line);
    add_lines(err, other->more);
}

/* Behind "file:line:column: " of a line, whose parts are copied; NULL: it has no such place. */
static const char *behind_place(const char *line, const char *end, ms_error *one)
{
    for (const char *colon = memchr(line, ':', (size_t)(end - line)); colon;
         colon = memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        const char *column = colon + 1 + strspn(colon + 1, "0123456789");
        if (column == colon + 1 || *column != ':')
            continue;
        const char *rest = column + 1 + strspn(column + 1, "0123456789");
        if (rest == column + 1 || strncmp(rest, ": ", 2) != 0)
            continue;
        snprintf(one->file, sizeof one->file, "%.*s", (int)(colon - line), line);
        one->line = (uint32_t)strtoul(colon + 1, NULL, 10);
        one->column = (uint32_t)strtoul(column + 1, NULL, 10);
        return rest + 2;
    }
    return NULL;
}

bool ms_error_next(const char **more, ms_error *one)
{
    const char *line = *more, *end = line + strcspn(line, "\n");
    *one = (ms_error){.status = MS_ERR_CONFIG};
    if (!*line)
        return false;
    *more = *end ? end + 1 : end;
    const char *rest = behind_place(line, end, one);
    const char *text = rest && *rest == '/' ? strstr(rest, ": ") : NULL;
    if (text && text < end)
        snprintf(one->pointer, sizeof one->pointer, "%.*s", (int)(text - rest), rest);
    text = text && text < end ? text + 2 : rest ? rest : line;
    snprintf(one->text, sizeof one->text, "%.*s", (int)(end - text), text);
    return true;
}

void ms_error_copy_place(ms_error *err, const ms_error *from)
{
    if (!err || !from)
        return;
    ms_error placed = *from;
    placed.status = err->status;
    memcpy(placed.text, err->text, sizeof placed.text);
    memcpy(placed.more, err->more, sizeof placed.more);
    *err = placed;
}
