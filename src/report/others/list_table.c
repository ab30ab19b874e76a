/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/list_table.h"

#include "report/kit/text_table.h"

enum { NO_LIMIT = 1 << 20 };

static const char *head(const void *view, uint32_t column)
{
    const ms_list_table *list = view;
    return list->columns[column].head;
}

static const char *cell(const void *view, uint32_t row, uint32_t column)
{
    const ms_list_table *list = view;
    return list->cells[(size_t)row * list->count + column];
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

bool ms_list_write(const ms_list_table *list, uint32_t columns, FILE *out)
{
    const ms_style style = {.columns = columns ? columns : NO_LIMIT};
    const ms_page page = ms_page_begin(out, &style);
    const ms_text_table table = {.view = list,
                                 .columns = list->count,
                                 .rows = list->rows,
                                 .verdict = list->count,
                                 .head = head,
                                 .cell = cell,
                                 .is_figure = is_figure,
                                 .goes = goes,
                                 .place = place,
                                 .least_last = list->least_last};
    if (!ms_text_table_console(&page, &style, &table))
        return false;
    if (list->note) {
        fputc('\n', out);
        ms_page_line(&page, list->note);
    }
    return true;
}
