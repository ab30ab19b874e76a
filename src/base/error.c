/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
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

void ms_error_add(ms_error *err, const ms_error *other)
{
    char file[sizeof other->file], pointer[sizeof other->pointer];
    if (!err || other->status == MS_OK)
        return;
    if (err->status == MS_OK) {
        *err = *other;
        return;
    }
    static const char rest[] = "and more\n";
    const size_t used = strlen(err->more);
    const size_t room =
        sizeof err->more > used + sizeof rest ? sizeof err->more - used - sizeof rest : 0;
    ms_printable(other->file, file, sizeof file);
    ms_printable(other->pointer, pointer, sizeof pointer);
    char place[32] = "";
    if (other->line)
        snprintf(place, sizeof place, ":%" PRIu32 ":%" PRIu32, other->line, other->column);
    const int length =
        snprintf(err->more + used, room, "%s%s%s%s%s%s\n%s", file, place, *file ? ": " : "",
                 pointer, *pointer ? ": " : "", other->text, other->more);
    const char *last = used > sizeof rest ? err->more + used - (sizeof rest - 1) : "";
    if (length < 0 || (size_t)length >= room)
        snprintf(err->more + used, sizeof err->more - used, "%s", strcmp(last, rest) ? rest : "");
}

void ms_error_copy_place(ms_error *err, const ms_error *from)
{
    if (!err || !from)
        return;
    ms_error placed = *from;
    placed.status = err->status;
    memcpy(placed.text, err->text, sizeof placed.text);
    *err = placed;
}
