/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/list_table.h"

#include "report/kit/text_table.h"

static const char *head(const void *view, uint32_t column)
{
    const ms_list_table *list = view;
    return list->columns[column].head;
}

static const char *cell(const void *view, uint32_t row, uint32_t column)
{
    const ms_list_table *list = view;
    return list->cells.items[row * list->count + column];
}

static bool is_figure(const void *view, uint32_t column)
{
    const ms_list_table *list = view;
    return list->columns[column].is_figure;
}

static uint32_t goes(const void *view, uint32_t column)
{
    const ms_list_table *list = view;
    return list->columns[column].goes;
}

static ms_text_place place(const void *view, uint32_t column)
{
    const ms_list_table *list = view;
    return (ms_text_place){list->columns[column].before, list->columns[column].width};
}

ms_list_table ms_list_begin(const ms_list_column *columns, uint32_t count)
{
    return (ms_list_table){.columns = columns, .count = count, .arena = ms_arena_create(0)};
}

void ms_list_put(ms_list_table *list, const char *text)
{
    const char *copy = list->arena ? ms_arena_strdup(list->arena, text) : NULL;
    if (!copy || !ms_vec_push(&list->cells, copy))
        list->has_failed = true;
}

uint32_t ms_list_rows(const ms_list_table *list)
{
    return list->cells.count / list->count;
}

bool ms_list_end(ms_list_table *list, const ms_page *page, uint32_t columns)
{
    const ms_style style = {.columns = columns};
    const ms_text_table table = {.view = list,
                                 .columns = list->count,
                                 .rows = ms_list_rows(list),
                                 .verdict = list->count,
                                 .head = head,
                                 .cell = cell,
                                 .is_figure = is_figure,
                                 .goes = goes,
                                 .place = place,
                                 .least_last = list->least_last};
    bool ok = !list->has_failed && (!page || ms_text_table_console(page, &style, &table));
    ms_vec_free(&list->cells);
    ms_arena_free(list->arena);
    list->arena = NULL;
    return ok;
}
