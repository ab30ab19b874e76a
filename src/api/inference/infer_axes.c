/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/inference/infer_axes.h"

#include <inttypes.h>
#include <string.h>

#include "serve/infer/trial.h"

static ms_status check(ms_arena *arena, const char *field, const char *value, ms_error *err)
{
    ms_infer_settings ignored = {.fit = MS_INFER_FIT_NONE};
    return ms_infer_settings_set(&ignored, arena, field, value, err);
}

static const ms_sweep_axis_of of_inference = {
    .table = &ms_infer_table, .check = check, .texts_have_commas = true};

static const char of_quant[] = "quant", all[] = "all";

void ms_infer_axes_free(ms_infer_axes *axes)
{
    for (uint32_t i = 0; i < axes->items.count; i++)
        ms_sweep_axis_free(&axes->items.items[i]);
    ms_vec_free(&axes->items);
}

static void remove_axis(ms_infer_axes *axes, size_t field)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < axes->items.count; i++)
        if (axes->items.items[i].field == field)
            ms_sweep_axis_free(&axes->items.items[i]);
        else
            axes->items.items[kept++] = axes->items.items[i];
    axes->items.count = kept;
}

/* "all" of quant is known only when the engine is, so it has no company. */
static ms_status check_all(const ms_sweep_axis *axis, ms_arena *arena, ms_error *err)
{
    bool is_quant = strcmp(ms_infer_table.rows[axis->field].name, of_quant) == 0;
    for (uint64_t i = 0; is_quant && axis->count > 1 && i < axis->count; i++)
        if (strcmp(ms_sweep_axis_value(axis, i, arena), all) == 0)
            return ms_fail(err, MS_ERR_USAGE, "quant: all stands for every type, alone");
    return MS_OK;
}

ms_status ms_infer_axes_set(ms_infer_axes *axes, ms_infer_settings *settings, ms_arena *arena,
                            const char *field, const char *list, ms_error *err)
{
    int row = ms_config_field_find(&ms_infer_table, field);
    if (row < 0)
        return ms_infer_settings_set(settings, arena, field, list, err);
    ms_sweep_axis axis = {.of = &of_inference, .field = (size_t)row};
    ms_status status = ms_sweep_axis_add(&axis, arena, list, err);
    if (status == MS_OK)
        status = check_all(&axis, arena, err);
    if (status == MS_OK)
        remove_axis(axes, (size_t)row);
    bool is_list = axis.count > 1 ||
                   (axis.count == 1 && strcmp(ms_infer_table.rows[row].name, of_quant) == 0 &&
                    strcmp(list, all) == 0);
    if (status == MS_OK && !is_list)
        status = ms_infer_settings_set(settings, arena, field, ms_sweep_axis_value(&axis, 0, arena),
                                       err);
    if (status == MS_OK && is_list && ms_vec_push(&axes->items, axis))
        return MS_OK;
    ms_sweep_axis_free(&axis);
    return status == MS_OK && is_list ? ms_infer_no_memory(err) : status;
}

/* The types that the engine has for the model, for "all". */
static ms_status expand_quant(ms_sweep_axis *axis, const ms_infer_settings *settings,
                              const ms_infer_input *input, ms_error *err)
{
    const ms_infer_engine *engine;
    const char *names[MS_INFER_MOST_QUANTS];
    size_t count = 0;
    if (strcmp(ms_infer_table.rows[axis->field].name, of_quant) != 0 || axis->count != 1)
        return MS_OK;
    ms_status status = ms_infer_engine_find(settings->engine, &engine, err);
    ms_sweep_axis_free(axis);
    *axis = (ms_sweep_axis){.of = &of_inference,
                            .field = (size_t)ms_config_field_find(&ms_infer_table, of_quant)};
    if (status == MS_OK)
        status = ms_infer_quants(input, settings, engine, names, &count, err);
    for (size_t i = 0; status == MS_OK && i < count; i++)
        status = ms_sweep_axis_add(axis, input->arena, names[i], err);
    return status;
}

static ms_status count_rows(const ms_infer_axes *axes, uint64_t *count, ms_error *err)
{
    *count = 1;
    for (uint32_t i = 0; i < axes->items.count; i++)
        if (__builtin_mul_overflow(*count, axes->items.items[i].count, count) ||
            *count > MS_INFER_MOST_ROWS)
            return ms_fail(err, MS_ERR_USAGE,
                           "these lists make more than %d combinations: split them",
                           MS_INFER_MOST_ROWS);
    return MS_OK;
}

static ms_status add_row(const ms_infer_axes *axes, uint64_t index, ms_arena *arena,
                         ms_infer_rows *rows, ms_error *err)
{
    uint32_t count = axes->items.count;
    const char **values = ms_arena_array(arena, const char *, count);
    for (uint32_t i = count; values && i-- > 0;) {
        const ms_sweep_axis *axis = &axes->items.items[i];
        values[i] = ms_sweep_axis_value(axis, index % axis->count, arena);
        index /= axis->count;
    }
    bool ok =
        !ms_arena_has_failed(arena) && ms_vec_push(&rows->rows, (ms_infer_row){.values = values});
    return ok ? MS_OK : ms_infer_no_memory(err);
}

ms_status ms_infer_axes_rows(ms_infer_axes *axes, const ms_infer_settings *settings,
                             const ms_infer_input *input, ms_infer_rows *rows, ms_error *err)
{
    ms_arena *arena = input->arena;
    uint64_t points = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < axes->items.count && status == MS_OK; i++)
        status = expand_quant(&axes->items.items[i], settings, input, err);
    if (status == MS_OK)
        status = count_rows(axes, &points, err);
    if (status != MS_OK || axes->items.count == 0)
        return status;
    const char **fields = ms_arena_array(arena, const char *, axes->items.count);
    for (uint32_t i = 0; fields && i < axes->items.count; i++)
        fields[i] = ms_infer_table.rows[axes->items.items[i].field].name;
    rows->fields = fields;
    rows->field_count = axes->items.count;
    status = fields ? MS_OK : ms_infer_no_memory(err);
    for (uint64_t i = 0; i < points && status == MS_OK; i++)
        status = add_row(axes, i, arena, rows, err);
    return status;
}
