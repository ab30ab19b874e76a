/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/grid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/number.h"
#include "base/json/read.h"
#include "base/vec.h"
#include "core/device/device.h"
#include "input/config/fields/field.h"
#include "input/config/fields/kinds.h"
#include "input/config/model/input.h"
#include "input/config/model/model_config.h"
#include "input/config/names/preset.h"
#include "input/config/run/run_fields.h"
#include "model/load.h"

/* ---- axis ---- */

void ms_sweep_axis_free(ms_sweep_axis *axis)
{
    ms_vec_free(&axis->parts);
    *axis = (ms_sweep_axis){0};
}

static ms_status check_run(ms_arena *arena, const char *field, const char *value, ms_error *err)
{
    ms_run_draft draft = {0};
    return ms_run_field_set(&draft, arena, field, value, err);
}

static const ms_sweep_axis_of of_runs = {.table = &ms_run_table, .check = check_run};

typedef struct adding {
    ms_sweep_axis *axis;
    const ms_sweep_axis_of *of;
    ms_arena *arena;
    ms_error *err;
} adding;

static const ms_config_field *row_of(const adding *a)
{
    return &a->of->table->rows[a->axis->field];
}

static const char *name_of(const adding *a)
{
    return row_of(a)->name;
}

static ms_status push(const adding *a, ms_sweep_axis_part part)
{
    if (!ms_vec_push(&a->axis->parts, part) ||
        __builtin_add_overflow(a->axis->count, part.count, &a->axis->count))
        return ms_fail(a->err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(a));
    return MS_OK;
}

static ms_status check(const adding *a, const char *value)
{
    return a->of->check(a->arena, name_of(a), value, a->err);
}

static ms_status push_text(const adding *a, const char *text)
{
    if (strpbrk(text, "\r\n"))
        return ms_fail(a->err, MS_ERR_USAGE, "%s: a value may not contain a line break",
                       name_of(a));
    if (row_of(a)->kind->is_file && strcmp(text, "-") == 0)
        return ms_fail(a->err, MS_ERR_USAGE, "%s: a sweep cannot read a file from standard input",
                       name_of(a));
    ms_status status = check(a, text);
    return status == MS_OK ? push(a, (ms_sweep_axis_part){.text = text, .count = 1}) : status;
}

/* ---- ranges ---- */

static ms_status fail_range(const adding *a, const char *text)
{
    return ms_fail(a->err, MS_ERR_USAGE,
                   "%s: found '%.40s', expected FIRST:LAST, FIRST:LAST:+STEP or FIRST:LAST:*FACTOR",
                   name_of(a), text);
}

static bool is_number(const char *text, size_t length, uint64_t *number)
{
    return ms_number_count(text, length, number) == MS_COUNT_OK;
}

static void count_values(ms_sweep_axis_part *part, uint64_t last)
{
    uint64_t value = part->first;
    part->count = 1;
    if (!part->multiplies) {
        part->count += (last - part->first) / part->step;
        return;
    }
    while (value <= last / part->step) {
        value *= part->step;
        part->count++;
    }
}

static const char *part_value(const ms_sweep_axis_part *part, uint64_t index, ms_arena *arena)
{
    uint64_t value = part->first;
    if (part->text)
        return part->text;
    if (!part->multiplies)
        value += index * part->step;
    for (uint64_t i = 0; part->multiplies && i < index; i++)
        value *= part->step;
    return ms_arena_printf(arena, "%" PRIu64, value);
}

/* The last value of a range is one that the field takes, so all are. */
static ms_status check_last(const adding *a, const ms_sweep_axis_part *part)
{
    const char *first = part_value(part, 0, a->arena);
    const char *last = part_value(part, part->count - 1, a->arena);
    if (!first || !last)
        return ms_fail(a->err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(a));
    ms_status status = check(a, first);
    return status == MS_OK ? check(a, last) : status;
}

static ms_status push_range(const adding *a, const char *text, const char *colon)
{
    ms_sweep_axis_part part = {.step = 1};
    const char *second = colon + 1, *step = strchr(second, ':');
    size_t length = step ? (size_t)(step - second) : strlen(second);
    uint64_t last;
    if (!is_number(text, (size_t)(colon - text), &part.first) || !is_number(second, length, &last))
        return fail_range(a, text);
    if (step) {
        part.multiplies = step[1] == '*';
        step += step[1] == '*' || step[1] == '+' ? 2 : 1;
        if (!is_number(step, strlen(step), &part.step) || part.step < 1 + (uint64_t)part.multiplies)
            return fail_range(a, text);
    }
    if (last < part.first || (part.multiplies && part.first == 0))
        return ms_fail(a->err, MS_ERR_USAGE, "%s: '%.40s' contains no value", name_of(a), text);
    count_values(&part, last);
    ms_status status = check_last(a, &part);
    return status == MS_OK ? push(a, part) : status;
}

/* ---- all of a known set ---- */

static ms_status push_devices(const adding *a)
{
    const ms_device *devices;
    uint32_t count = 0;
    ms_status status = ms_devices_load(a->arena, &devices, &count, a->err);
    if (status != MS_OK)
        return status;
    const ms_device **order = ms_arena_array(a->arena, const ms_device *, count);
    if (!order)
        return ms_fail(a->err, MS_ERR_NOMEM, "no memory for devices");
    for (uint32_t i = 0; i < count; i++)
        order[i] = &devices[i];
    qsort(order, count, sizeof *order, ms_device_by_size);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        if (!order[i]->is_cpu)
            status = push_text(a, order[i]->name);
    return status;
}

static ms_status push_all(const adding *a)
{
    ms_status status = MS_OK;
    const char *name;
    if (strcmp(name_of(a), "device") == 0)
        return push_devices(a);
    if (strcmp(name_of(a), "config") == 0)
        for (size_t i = 0; (name = ms_preset_name(i)) != NULL && status == MS_OK; i++)
            status = push_text(a, name);
    else
        for (size_t i = 0; (name = ms_config_field_choice(row_of(a), i)) && status == MS_OK; i++)
            status = push_text(a, name);
    return status;
}

/* Whether "all" stands for every value there is. */
static bool has_known_set(const adding *a)
{
    return ms_config_field_choice(row_of(a), 0) || strcmp(name_of(a), "device") == 0 ||
           strcmp(name_of(a), "config") == 0;
}

/* ---- lists ---- */

static ms_status push_item(const adding *a, const char *item)
{
    const char *colon = row_of(a)->kind->is_count ? strchr(item, ':') : NULL;
    if (strcmp(item, "all") == 0 && has_known_set(a))
        return push_all(a);
    return colon ? push_range(a, item, colon) : push_text(a, item);
}

ms_status ms_sweep_axis_add(ms_sweep_axis *axis, ms_arena *arena, const char *list, ms_error *err)
{
    const adding a = {axis, axis->of ? axis->of : &of_runs, arena, err};
    char *rest = ms_arena_strdup(arena, list);
    if (!rest)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(&a));
    const ms_config_kind *kind = row_of(&a)->kind;
    bool has_commas = kind->has_commas || (a.of->texts_have_commas && kind == &ms_config_kind_text);
    const char *cuts = has_commas || strchr(list, ';') ? ";" : ",";
    for (ms_status status = MS_OK;;) {
        char *item = rest, *end = strpbrk(item, cuts);
        if (end)
            *end = '\0';
        status = push_item(&a, item);
        if (!end || status != MS_OK)
            return status;
        rest = end + 1;
    }
}

const char *ms_sweep_axis_value(const ms_sweep_axis *axis, uint64_t index, ms_arena *arena)
{
    const ms_sweep_axis_part *part = axis->parts.items;
    for (; index >= part->count; part++)
        index -= part->count;
    return part_value(part, index, arena);
}

/* ---- grid ---- */

void ms_grid_free(ms_grid *grid)
{
    for (uint32_t i = 0; i < grid->axes.count; i++)
        ms_sweep_axis_free(&grid->axes.items[i]);
    ms_vec_free(&grid->axes);
    ms_vec_free(&grid->cells);
    ms_table_free(&grid->table);
}

static ms_sweep_axis *find_axis(ms_grid *grid, size_t field)
{
    for (uint32_t i = 0; i < grid->axes.count; i++)
        if (grid->axes.items[i].field == field)
            return &grid->axes.items[i];
    return NULL;
}

ms_status ms_grid_add(ms_grid *grid, const char *field, const char *list, ms_error *err)
{
    char hint[MS_CONFIG_HINT_BYTES];
    int index = ms_run_field_find(field);
    if (index < 0)
        return ms_fail(err, MS_ERR_USAGE, "unknown field '%.40s'%s", field,
                       ms_run_field_hint(field, hint));
    ms_sweep_axis *axis = find_axis(grid, (size_t)index);
    if (!axis) {
        if (!ms_vec_push(&grid->axes, (ms_sweep_axis){.field = (size_t)index}))
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", field);
        axis = &grid->axes.items[grid->axes.count - 1];
    }
    return ms_sweep_axis_add(axis, grid->arena, list, err);
}

/* ---- opening ---- */

static ms_status open_table(ms_grid *grid, const char *path, ms_error *err)
{
    ms_status status = ms_table_open(&grid->table, ms_arena_inputs(grid->arena), path, err);
    if (status != MS_OK)
        return status;
    grid->has_table = true;
    grid->count = grid->table.line_count;
    for (uint32_t i = 0; i < grid->table.fields.count; i++) {
        size_t field = grid->table.fields.items[i];
        if (find_axis(grid, field))
            return ms_fail(err, MS_ERR_USAGE,
                           "%s is given both in %s and as an option: give one of them",
                           ms_run_field_name(field), grid->table.name);
        if (!ms_vec_push(&grid->cells, NULL))
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", grid->table.name);
    }
    return MS_OK;
}

ms_status ms_grid_open(ms_grid *grid, const char *path, ms_error *err)
{
    grid->count = grid->per_run = 1;
    ms_status status = path ? open_table(grid, path, err) : MS_OK;
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < grid->axes.count; i++)
        if (__builtin_mul_overflow(grid->per_run, grid->axes.items[i].count, &grid->per_run))
            return ms_fail(err, MS_ERR_LIMIT, "the grid has more than 2^64 points");
    if (__builtin_mul_overflow(grid->count, grid->per_run, &grid->count))
        return ms_fail(err, MS_ERR_LIMIT, "the grid has more than 2^64 points");
    return MS_OK;
}

/* ---- digest ---- */

typedef struct digesting {
    ms_grid *grid;
    uint64_t value;
    ms_error *err;
} digesting;

static ms_status no_memory(const digesting *d)
{
    return ms_fail(d->err, MS_ERR_NOMEM, "out of memory for the files of a sweep");
}

static bool is_run_file(const ms_json_source *source)
{
    static const char key[] = "\"model\"";
    for (size_t i = 0; i + sizeof key <= source->length; i++)
        if (memcmp(source->text + i, key, sizeof key - 1) == 0)
            return true;
    return false;
}

/* A run file names others, which go to the list of inputs before a row is written. What is wrong
 * with them the point will say. */
static void list_named(ms_arena *arena, const char *path)
{
    ms_model_config model;
    ms_run_config run;
    ms_error ignored = {.status = MS_OK};
    (void)ms_run_load(arena, &(const ms_run_setting){"config", path}, 1, &model, &run, NULL,
                      &ignored);
}

/* What is in the file; nothing where it cannot be read, which the point will say. */
static ms_status digest_file(digesting *d, size_t field, const char *path)
{
    ms_input in = {0};
    ms_error ignored = {0};
    if (ms_file_is_pipe(path))
        return ms_fail(d->err, MS_ERR_USAGE,
                       "%s: %.120s is a pipe, but a sweep reads its files more than once; write it "
                       "to a file",
                       ms_run_field_name(field), path);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return no_memory(d);
    ms_arena_set_inputs(arena, ms_arena_inputs(d->grid->arena));
    bool is_config = strcmp(ms_run_field_name(field), "config") == 0;
    ms_status status =
        is_config ? ms_input_open(arena, path, MS_WANTED_RUN, &in, &ignored)
                  : ms_json_read(ms_arena_inputs(arena), path, &in.source, &in.text, &ignored);
    if (status == MS_OK)
        d->value = ms_digest_bytes(d->value, in.source.text, in.source.length);
    if (status == MS_OK && is_config && in.text && is_run_file(&in.source))
        list_named(arena, path);
    free(in.text);
    ms_arena_free(arena);
    return status == MS_ERR_NOMEM ? no_memory(d) : MS_OK;
}

static ms_status digest_value(digesting *d, size_t field, const char *value)
{
    d->value = ms_digest_text(d->value, value);
    bool names_file =
        ms_run_field_kind(field)->is_file && *value != '\0' && strcmp(value, "-") != 0;
    return names_file ? digest_file(d, field, value) : MS_OK;
}

static ms_status digest_axis(digesting *d, const ms_sweep_axis *axis)
{
    ms_status status = MS_OK;
    d->value = ms_digest_text(d->value, ms_run_field_name(axis->field));
    for (uint32_t i = 0; i < axis->parts.count && status == MS_OK; i++) {
        const ms_sweep_axis_part *part = &axis->parts.items[i];
        const uint64_t range[] = {part->first, part->step, part->count, part->multiplies};
        if (part->text)
            status = digest_value(d, axis->field, part->text);
        for (size_t k = 0; !part->text && k < sizeof range / sizeof range[0]; k++)
            for (int byte = 0; byte < 8; byte++)
                d->value =
                    ms_digest_bytes(d->value, &(uint8_t){(uint8_t)(range[k] >> 8 * byte)}, 1);
    }
    return status;
}

/* Runs that name the same file as the one before need not read it again. */
static ms_status digest_line(digesting *d, char **before)
{
    const ms_grid *grid = d->grid;
    char *const *cells = grid->cells.items;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < grid->table.fields.count && status == MS_OK; i++) {
        bool is_same = before[i] && strcmp(before[i], cells[i]) == 0;
        if (is_same) {
            d->value = ms_digest_text(d->value, cells[i]);
            continue;
        }
        status = digest_value(d, grid->table.fields.items[i], cells[i]);
        if (ms_run_field_kind(grid->table.fields.items[i])->is_file) {
            free(before[i]);
            before[i] = strdup(cells[i]);
            status = status == MS_OK && !before[i] ? no_memory(d) : status;
        }
    }
    return status;
}

static ms_status digest_lines(digesting *d, char **before)
{
    ms_table *table = &d->grid->table;
    ms_status status = MS_OK;
    while (status == MS_OK && table->next < table->line_count) {
        ms_error reason = {0};
        status = ms_table_read(table, d->grid->cells.items, &reason);
        if (status == MS_OK)
            status = digest_line(d, before);
        else if (status != MS_ERR_CONFIG)
            return ms_fail(d->err, status, "%s", reason.text);
        else
            status = MS_OK, d->value = ms_digest_text(d->value, reason.text);
    }
    return status == MS_OK ? ms_table_rewind(table, d->err) : status;
}

static ms_status digest_table(digesting *d)
{
    const ms_grid *grid = d->grid;
    uint32_t columns = grid->table.fields.count;
    char **before = calloc(columns + 1, sizeof *before);
    if (!before)
        return no_memory(d);
    for (uint32_t i = 0; i < columns; i++)
        d->value = ms_digest_text(d->value, ms_run_field_name(grid->table.fields.items[i]));
    ms_status status = digest_lines(d, before);
    for (uint32_t i = 0; i < columns; i++)
        free(before[i]);
    free(before);
    return status;
}

ms_status ms_grid_digest(ms_grid *grid, uint64_t *digest, ms_error *err)
{
    digesting d = {grid, *digest, err};
    ms_status status = grid->has_table ? digest_table(&d) : MS_OK;
    for (uint32_t i = 0; i < grid->axes.count && status == MS_OK; i++)
        status = digest_axis(&d, &grid->axes.items[i]);
    *digest = d.value;
    return status;
}

/* ---- points ---- */

uint32_t ms_grid_input_count(const ms_grid *grid)
{
    return grid->table.fields.count + grid->axes.count;
}

size_t ms_grid_input_field(const ms_grid *grid, uint32_t input)
{
    uint32_t columns = grid->table.fields.count;
    return input < columns ? grid->table.fields.items[input]
                           : grid->axes.items[input - columns].field;
}

/* Reads on to that run; what is wrong with it is kept for all its points. */
static ms_status seek_run(ms_grid *grid, uint64_t run, ms_error *err)
{
    while (grid->table.next <= run) {
        grid->line_error = (ms_error){.status = MS_OK};
        grid->line_status = ms_table_read(&grid->table, grid->cells.items, &grid->line_error);
        if (grid->line_status != MS_OK && grid->line_status != MS_ERR_CONFIG)
            return ms_fail(err, grid->line_status, "%s", grid->line_error.text);
    }
    return MS_OK;
}

static bool copy_cells(const ms_grid *grid, ms_arena *arena, ms_point *point)
{
    for (uint32_t i = 0; i < grid->table.fields.count && grid->line_status == MS_OK; i++) {
        const char *cell = grid->cells.items[i];
        if (*cell == '\0')
            continue;
        point->settings[i].value = ms_arena_strdup(arena, cell);
        if (!point->settings[i].value)
            return false;
    }
    return true;
}

static bool copy_values(const ms_grid *grid, uint64_t rest, ms_arena *arena, ms_point *point)
{
    for (uint32_t i = grid->axes.count; i-- > 0;) {
        const ms_sweep_axis *axis = &grid->axes.items[i];
        ms_run_setting *setting = &point->settings[grid->table.fields.count + i];
        setting->value = ms_sweep_axis_value(axis, rest % axis->count, arena);
        if (!setting->value)
            return false;
        rest /= axis->count;
    }
    return true;
}

ms_status ms_grid_read(ms_grid *grid, uint64_t index, ms_arena *arena, ms_point *point,
                       ms_error *err)
{
    uint32_t inputs = ms_grid_input_count(grid);
    *point = (ms_point){.index = index};
    point->settings = ms_arena_array(arena, ms_run_setting, inputs);
    ms_status status = grid->has_table ? seek_run(grid, index / grid->per_run, err) : MS_OK;
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; point->settings && i < inputs; i++)
        point->settings[i].field = ms_run_field_name(ms_grid_input_field(grid, i));
    if (!point->settings || !copy_cells(grid, arena, point) ||
        !copy_values(grid, index % grid->per_run, arena, point))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a point");
    if (grid->has_table) {
        point->status = grid->line_status;
        point->err = grid->line_error;
    }
    return MS_OK;
}
