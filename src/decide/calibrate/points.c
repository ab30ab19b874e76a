/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/points.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text/csv.h"
#include "base/text/values.h"

typedef struct column {
    const char *name;
    bool is_text;
    size_t offset;
} column;

#define AT(member) offsetof(ms_measured_point, member)
static const column columns[] = {
    {"name", true, AT(name)},
    {"device", true, AT(device)},
    {"told_reserved_bytes", false, AT(predicted_reserved)},
    {"measured_reserved_bytes", false, AT(measured_reserved)},
    {"measured_device_bytes", false, AT(measured_device)},
    {"told_product_ms", false, AT(predicted_ms[MS_OP_PRODUCT])},
    {"told_attention_ms", false, AT(predicted_ms[MS_OP_ATTENTION])},
    {"told_other_ms", false, AT(predicted_ms[MS_OP_OTHER])},
    {"told_copy_ms", false, AT(predicted_copy_ms)},
    {"measured_ms", false, AT(measured_ms)},
    {"host_link_gb_per_s", false, AT(host_link_gb_per_s)},
    {"peer_link_gb_per_s", false, AT(peer_link_gb_per_s)},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };
static const double least = 1e-6; /* of what is not 0 */

typedef struct table {
    ms_arena *arena;
    const char *file; /* a copy in the arena */
    uint64_t line;
    const column *order[COLUMNS]; /* of the file's columns */
    size_t width, cell;           /* cells seen in this line */
    bool is_head;
    ms_measured_point point;
    ms_error *err;
} table;

static void fail(table *t, const char *what, const char *found, const char *wanted)
{
    if (t->err->status != MS_OK)
        return;
    ms_error_set(t->err, MS_ERR_CONFIG, "%s: found '%.40s', expected %s", what, found, wanted);
    snprintf(t->err->file, sizeof t->err->file, "%s", t->file);
    t->err->line = (uint32_t)t->line;
    t->err->column = 1;
}

/* "name, device, ...", for a message. */
static const char *all_names(char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < COLUMNS && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", columns[i].name);
    return text;
}

static void take_name(table *t, const char *name)
{
    char names[360], wanted[400];
    size_t i = 0;
    while (i < COLUMNS && strcmp(columns[i].name, name) != 0)
        i++;
    for (size_t k = 0; i < COLUMNS && k < t->width; k++)
        if (t->order[k] == &columns[i])
            fail(t, "column", name, "each name only once");
    if (i == COLUMNS) {
        snprintf(wanted, sizeof wanted, "one of %s", all_names(names, sizeof names));
        fail(t, "column", name, wanted);
    } else if (t->width < COLUMNS)
        t->order[t->width++] = &columns[i];
}

static void take_value(table *t, const char *value)
{
    if (t->cell >= t->width) {
        fail(t, "more values than columns", value, "the end of the line");
        return;
    }
    const column *c = t->order[t->cell++];
    void *member = (char *)&t->point + c->offset;
    if (c->is_text) {
        *(const char **)member = ms_arena_strdup(t->arena, value);
        return;
    }
    ms_error reason = {0};
    double *number = member;
    ms_status status = MS_OK;
    if (*value)
        status = ms_value_number(c->name, value, 0, MS_MEASURED_MOST, "a number of 0 or more",
                                 number, &reason);
    if (status == MS_ERR_NOMEM)
        ms_error_set(t->err, status, "%s", reason.text);
    else if (status != MS_OK || (*number > 0 && *number < least))
        fail(t, c->name, value, "0, or a number from 1e-6 to 1e15");
}

static void take(void *context, char *value)
{
    table *t = context;
    if (t->is_head)
        take_name(t, value);
    else
        take_value(t, value);
}

static void read_line(table *t, char *line, ms_measured_points *points)
{
    t->cell = 0;
    t->point =
        (ms_measured_point){.name = "", .device = "", .file = t->file, .line = (uint32_t)t->line};
    if (!ms_csv_split(line, take, t))
        fail(t, "quotes", line, "quotes around a whole value");
    if (t->err->status != MS_OK || t->is_head)
        return;
    if (t->cell != t->width)
        fail(t, "a line", line, "as many values as columns");
    else if (!t->point.name || !t->point.device || !ms_vec_push(points, t->point))
        ms_error_set(t->err, MS_ERR_NOMEM, "out of memory for points");
}

ms_status ms_measured_points_read(ms_arena *arena, const char *file, char *text,
                                  ms_measured_points *points, ms_error *err)
{
    table t = {.arena = arena, .file = ms_arena_strdup(arena, file), .is_head = true, .err = err};
    if (!t.file)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for points");
    for (char *line = text, *next; line && *line && err->status == MS_OK; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        t.line++;
        ms_csv_chomp(line, strlen(line));
        if (!*line)
            continue;
        read_line(&t, line, points);
        t.is_head = false;
    }
    return err->status;
}
