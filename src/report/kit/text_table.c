/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { MOST_WIDTH = 40, GAP = 2, LEAST_WRAPPED = 16 };

typedef struct layout {
    uint32_t *natural;   /* widths that the texts need */
    uint32_t *widths;    /* 0: the column is not there */
    uint32_t last;       /* the last one that is */
    uint32_t before;     /* columns before the last one */
    uint32_t last_width; /* of one that is cut */
    bool is_wrapped;     /* the last one holds texts that go on below themselves */
} layout;

static uint32_t gap_of(const ms_text_table *t, uint32_t column)
{
    return t->place ? t->place(t->view, column).before : GAP;
}

/* Of a column's texts. False: no memory. */
static bool find_longest(const ms_text_table *t, uint32_t column, uint32_t *longest)
{
    size_t most = strlen(t->head(t->view, column));
    for (uint32_t i = 0; i < t->rows; i++) {
        const char *cell = t->cell(t->view, i, column);
        if (!cell)
            return false;
        most = strlen(cell) > most ? strlen(cell) : most;
    }
    *longest = most ? (uint32_t)most : 1;
    return true;
}

static bool width_of(const ms_text_table *t, uint32_t column, uint32_t *width)
{
    bool is_cut = t->least_last && column + 1 == t->columns;
    if (!find_longest(t, column, width))
        return false;
    *width = *width > MOST_WIDTH && !is_cut ? MOST_WIDTH : *width;
    return true;
}

static uint32_t total_of(const ms_text_table *t, const layout *l)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < t->columns; i++)
        total += l->widths[i] ? gap_of(t, i) + l->widths[i] : 0;
    return total;
}

/* A last column that is cut may be as narrow as that. */
static uint32_t least_of(const ms_text_table *t, const layout *l)
{
    uint32_t last = l->widths[t->columns - 1], total = total_of(t, l);
    return t->least_last && last > t->least_last ? total - last + t->least_last : total;
}

static void set_widths(const ms_text_table *t, layout *l, bool as_placed)
{
    for (uint32_t i = 0; i < t->columns; i++) {
        uint32_t placed = as_placed ? t->place(t->view, i).width : 0;
        l->widths[i] = l->natural[i] > placed ? l->natural[i] : placed;
    }
}

/* Takes the columns of that turn out, or puts them back. */
static void move(const ms_text_table *t, layout *l, uint32_t turn, bool is_back)
{
    for (uint32_t i = 0; i < t->columns; i++)
        if (t->goes(t->view, i) == turn)
            l->widths[i] = is_back ? l->natural[i] : 0;
}

/* Columns go until the rest has room; one that went for another's sake comes back. */
static void drop(const ms_text_table *t, uint32_t columns, layout *l)
{
    uint32_t next = t->goes ? t->columns : 0;
    for (; next > 0 && least_of(t, l) > columns; next--)
        move(t, l, next, false);
    while (t->goes && ++next <= t->columns) {
        move(t, l, next, true);
        if (least_of(t, l) > columns)
            move(t, l, next, false);
    }
}

static bool lay_out(const ms_text_table *t, uint32_t columns, layout *l)
{
    for (uint32_t i = 0; i < t->columns; i++)
        if (!width_of(t, i, &l->natural[i]))
            return false;
    set_widths(t, l, t->place != NULL);
    if (total_of(t, l) > columns)
        set_widths(t, l, false);
    drop(t, columns, l);
    for (l->last = t->columns - 1; l->last > 0 && l->widths[l->last] == 0;)
        l->last--;
    uint32_t before = l->before = total_of(t, l) - l->widths[l->last];
    uint32_t longest = 0;
    if (!find_longest(t, l->last, &longest))
        return false;
    l->is_wrapped = !t->least_last && !t->is_figure(t->view, l->last) &&
                    before + longest > columns && before + LEAST_WRAPPED <= columns;
    l->last_width = before + t->least_last < columns ? columns - before : t->least_last;
    return true;
}

/* The last of a line is not filled up. */
static void write_cell(const ms_page *p, const ms_text_table *t, const layout *l, const char *cell,
                       uint32_t column, bool is_last)
{
    uint32_t width = l->widths[column];
    bool is_wrapped = l->is_wrapped && column == l->last;
    fprintf(p->out, "%*s", (int)(gap_of(t, column) - is_wrapped), "");
    if (is_wrapped)
        ms_page_rest(p, l->before - 1, cell);
    else if (t->is_figure(t->view, column))
        ms_page_put(p, "%*s", (int)width, cell);
    else if (column < l->last && !(is_last && strlen(cell) <= width))
        ms_page_cell(p, cell, width);
    else if (t->least_last && column == l->last)
        ms_page_last_cell(p, cell, l->last_width);
    else
        ms_put_printable(p->out, cell);
}

static void end_line(const ms_page *p, const ms_text_table *t, const layout *l)
{
    if (!l->is_wrapped && (!t->least_last || t->is_figure(t->view, l->last)))
        fputc('\n', p->out);
}

static ms_tone tone_of(const char *verdict)
{
    return strcmp(verdict, "fits") == 0    ? MS_TONE_GOOD
           : strcmp(verdict, "tight") == 0 ? MS_TONE_TIGHT
                                           : MS_TONE_BAD;
}

/* The text of a cell; of row -1, the column's head. NULL: no memory. */
static const char *text_of(const ms_text_table *t, int64_t row, uint32_t column)
{
    return row < 0 ? t->head(t->view, column) : t->cell(t->view, (uint32_t)row, column);
}

/* Behind the last cell that is there and has something in it. */
static uint32_t end_of(const ms_text_table *t, const layout *l, int64_t row)
{
    uint32_t end = l->last + 1;
    for (const char *cell = ""; end > 0 && cell && !*cell;) {
        cell = l->widths[end - 1] ? text_of(t, row, end - 1) : "";
        end -= cell && !*cell;
    }
    return end;
}

static bool write_row(const ms_page *p, const ms_text_table *t, const layout *l, int64_t row)
{
    uint32_t end = end_of(t, l, row);
    for (uint32_t i = 0; i < end; i++) {
        const char *cell = text_of(t, row, i);
        bool is_verdict = row >= 0 && i == t->verdict;
        if (!cell)
            return false;
        if (l->widths[i] == 0)
            continue;
        fputs(is_verdict ? ms_page_tone(p, tone_of(cell)) : "", p->out);
        write_cell(p, t, l, cell, i, i + 1 == end);
        fputs(is_verdict ? ms_page_tone(p, MS_TONE_END) : "", p->out);
    }
    if (end <= l->last)
        fputc('\n', p->out);
    else
        end_line(p, t, l);
    return true;
}

/* Where even the columns that stay have no room: a paragraph for each row. */
static bool write_records(const ms_page *p, const ms_text_table *t, const layout *l)
{
    for (uint32_t row = 0; row < t->rows; row++) {
        const ms_page narrower = {p->out, p->columns - 1, p->color, p->unicode}; /* a comma */
        ms_paragraph g = {&narrower, 0, 4};
        uint32_t end = end_of(t, l, row);
        for (uint32_t i = 0; i < end; i++) {
            const char *cell = t->cell(t->view, row, i), *head = t->head(t->view, i);
            if (!cell)
                return false;
            if (l->widths[i] == 0 || !*cell)
                continue;
            ms_page_words(&g, head);
            ms_page_words(&g, cell);
            if (i + 1 < end) {
                fputc(',', p->out);
                g.column++;
            }
        }
        fputc('\n', p->out);
    }
    return true;
}

static bool write_console(const ms_page *p, uint32_t columns, const ms_text_table *t, layout *l)
{
    if (!lay_out(t, columns, l))
        return false;
    if (least_of(t, l) > p->columns && !l->is_wrapped) {
        set_widths(t, l, false); /* no column goes */
        l->last = t->columns - 1;
        return write_records(p, t, l);
    }
    fputs(ms_page_tone(p, MS_TONE_DIM), p->out);
    bool ok = write_row(p, t, l, -1);
    fputs(ms_page_tone(p, MS_TONE_END), p->out);
    for (uint32_t i = 0; ok && i < t->rows; i++)
        ok = write_row(p, t, l, i);
    return ok;
}

bool ms_text_table_console(const ms_page *p, const ms_style *style, const ms_text_table *t)
{
    ms_page page = *p; /* a table may be wider than what is read as text */
    page.columns = style->columns > p->columns ? style->columns : p->columns;
    layout l = {.natural = calloc(t->columns, sizeof *l.natural),
                .widths = calloc(t->columns, sizeof *l.widths)};
    bool ok = l.natural && l.widths && write_console(&page, style->columns, t, &l);
    free(l.natural);
    free(l.widths);
    return ok;
}
