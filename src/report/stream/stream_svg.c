/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streamed model as a picture: a bar for each number of layers ahead, of the time of a pass on
 * the left, computing and waiting, and of memory on the right. Self-contained; no scripts.
 */
#include <inttypes.h>
#include <math.h>

#include "report/kit/draw.h"
#include "report/kit/writer_list.h"
#include "report/stream/stream_view.h"

/* In pixels. */
enum { WIDTH = 960, HEIGHT = 420, TOP = 118, BOTTOM = 366, LEGEND = 84 };
enum { MOST_PIECES = 4, MOST_LABELS = 16 };

/* A part of a bar, from below. */
typedef struct piece {
    const char *class_name, *title;
    double value;
} piece;

typedef struct panel {
    double left, right;
    const char *title, *unit;
    uint32_t decimals;
    ms_plot_axis axis;
    uint32_t (*pieces_of)(const ms_stream_row *row, piece pieces[MOST_PIECES]);
} panel;

static uint32_t time_pieces(const ms_stream_row *row, piece pieces[MOST_PIECES])
{
    pieces[0] = (piece){"activation", "computing", row->times.compute_ms};
    pieces[1] = (piece){"gradient", "waiting for weights", row->times.exposed_ms};
    return 2;
}

static uint32_t memory_pieces(const ms_stream_row *row, piece pieces[MOST_PIECES])
{
    pieces[0] = (piece){"weight", "layers", ms_draw_gib(row->places_bytes)};
    pieces[1] = (piece){"buffer", "outside the layers", ms_draw_gib(row->outside_bytes)};
    pieces[2] = (piece){"input", "cache", ms_draw_gib(row->cache_bytes)};
    pieces[3] = (piece){"temporary", "others", ms_draw_gib(row->other_bytes)};
    return 4;
}

static double height_of(const panel *p, const ms_stream_row *row)
{
    piece pieces[MOST_PIECES];
    double sum = 0;
    uint32_t count = p->pieces_of(row, pieces);
    for (uint32_t i = 0; i < count; i++)
        sum += pieces[i].value;
    return sum;
}

static void write_axes(FILE *out, const panel *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->axis); i++) {
        double value = p->axis.low + i * p->axis.step;
        double y = ms_plot_axis_along(&p->axis, value, BOTTOM, TOP);
        ms_draw_line(out, (ms_spot){p->left, y}, (ms_spot){p->right, y}, "grid");
        ms_draw_text(out, (ms_spot){p->left - 8, y + 4}, "text-anchor=\"end\"",
                     ms_fixed(value, ms_plot_axis_decimals(&p->axis), text));
    }
    ms_draw_line(out, (ms_spot){p->left, BOTTOM}, (ms_spot){p->right, BOTTOM}, "axis");
    ms_draw_text(out, (ms_spot){p->left, TOP - 12}, "class=\"strong\"", p->title);
    ms_draw_text(out, (ms_spot){(p->left + p->right) / 2, BOTTOM + 40}, "text-anchor=\"middle\"",
                 "layers ahead");
}

static void write_legend(FILE *out, const panel *p, const ms_stream_row *row)
{
    piece pieces[MOST_PIECES];
    uint32_t count = p->pieces_of(row, pieces);
    double width = (p->right - p->left) / count;
    for (uint32_t i = 0; i < count; i++) {
        const ms_rectangle box = {p->left + i * width, LEGEND - 10, 12, 12};
        fprintf(out, "<rect class=\"%s\"", pieces[i].class_name);
        ms_draw_frame(out, &box);
        fputs("/>\n", out);
        ms_draw_text(out, (ms_spot){box.x + 18, LEGEND}, "class=\"small\"", pieces[i].title);
    }
}

static void write_bar(FILE *out, const panel *p, const ms_stream_row *row, ms_rectangle bar)
{
    piece pieces[MOST_PIECES];
    uint32_t count = p->pieces_of(row, pieces);
    double below = 0;
    for (uint32_t i = 0; i < count; i++) {
        char text[MS_FIXED_TEXT];
        double bottom = ms_plot_axis_along(&p->axis, below, BOTTOM, TOP);
        below += pieces[i].value;
        bar.y = ms_plot_axis_along(&p->axis, below, BOTTOM, TOP);
        bar.height = bottom - bar.y;
        fprintf(out, "<rect class=\"%s cell\"", pieces[i].class_name);
        ms_draw_frame(out, &bar);
        fprintf(out, "><title>%" PRIu64 " ahead: %s %s %s</title></rect>\n", row->prefetch,
                pieces[i].title, ms_fixed(pieces[i].value, p->decimals, text), p->unit);
    }
}

/* With a number below where there is room for one. */
static void write_bars(FILE *out, const panel *p, const ms_stream_table *t)
{
    double step = (p->right - p->left) / t->rows.count;
    uint32_t every = (t->rows.count + MOST_LABELS - 1) / MOST_LABELS;
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const ms_stream_row *row = &t->rows.items[i];
        char text[24];
        write_bar(out, p, row,
                  (ms_rectangle){.x = p->left + (i + 0.15) * step, .width = 0.7 * step});
        snprintf(text, sizeof text, "%" PRIu64, row->prefetch);
        if (i % every == 0)
            ms_draw_text(out, (ms_spot){p->left + (i + 0.5) * step, BOTTOM + 20},
                         "text-anchor=\"middle\"", text);
    }
}

static void write_panel(FILE *out, panel *p, const ms_stream_table *t)
{
    double most = 0;
    for (uint32_t i = 0; i < t->rows.count; i++)
        most = fmax(most, height_of(p, &t->rows.items[i]));
    p->axis = ms_plot_axis_around(0, most);
    write_axes(out, p);
    write_legend(out, p, &t->rows.items[0]);
    write_bars(out, p, t);
}

bool ms_stream_svg(FILE *out, const ms_stream_view *v)
{
    const char *title = ms_stream_title(v), *answer = ms_stream_answer(v);
    panel time = {.left = 84,
                  .right = 460,
                  .title = "a pass (ms)",
                  .unit = "ms",
                  .decimals = 3,
                  .pieces_of = time_pieces};
    panel memory = {.left = 560,
                    .right = 936,
                    .title = "on the device (GiB)",
                    .unit = "GiB",
                    .decimals = 2,
                    .pieces_of = memory_pieces};
    if (!title || !answer)
        return false;
    ms_draw_begin_file(out, WIDTH, HEIGHT, title, answer);
    if (v->table->pass.is_timed)
        write_panel(out, &time, v->table);
    write_panel(out, &memory, v->table);
    fputs("</svg>\n", out);
    return true;
}
