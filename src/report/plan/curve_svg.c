/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve as a self-contained SVG: axes with units, points with labels if there is room, no
 * scripts, no fonts.
 */
#include "report/plan/curve_svg.h"

#include <math.h>

#include "report/kit/draw.h"
#include "report/kit/writer_list.h"

/* In pixels. */
enum {
    WIDTH = MS_CURVE_WIDTH,
    HEIGHT = MS_CURVE_HEIGHT,
    LEFT = 84,
    RIGHT = 30,
    TOP = 98,
    BOTTOM = 64
};
enum { LABEL_WIDTH = 108, LABEL_HEIGHT = 30, MOST_LABELS = 200 };

typedef struct picture {
    FILE *out;
    const ms_plan_view *view;
    ms_plot_axis gib, ms;
} picture;

static ms_spot spot_of(const picture *p, const ms_curve_point *point)
{
    return (ms_spot){
        ms_plot_axis_along(&p->gib, ms_draw_gib(point->budget_bytes), LEFT, WIDTH - RIGHT),
        ms_plot_axis_along(&p->ms, point->figures.time.step_ms, HEIGHT - BOTTOM, TOP)};
}

static void write_axes(const picture *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->gib); i++) {
        double v = p->gib.low + i * p->gib.step;
        double x = ms_plot_axis_along(&p->gib, v, LEFT, WIDTH - RIGHT);
        ms_draw_line(p->out, (ms_spot){x, TOP}, (ms_spot){x, HEIGHT - BOTTOM}, "grid");
        ms_draw_text(p->out, (ms_spot){x, HEIGHT - BOTTOM + 20}, "text-anchor=\"middle\"",
                     ms_fixed(v, ms_plot_axis_decimals(&p->gib), text));
    }
    for (int i = 0; i < ms_plot_axis_tick_count(&p->ms); i++) {
        double v = p->ms.low + i * p->ms.step;
        double y = ms_plot_axis_along(&p->ms, v, HEIGHT - BOTTOM, TOP);
        ms_draw_line(p->out, (ms_spot){LEFT, y}, (ms_spot){WIDTH - RIGHT, y}, "grid");
        ms_draw_text(p->out, (ms_spot){LEFT - 8, y + 4}, "text-anchor=\"end\"",
                     ms_fixed(v, ms_plot_axis_decimals(&p->ms), text));
    }
    ms_draw_line(p->out, (ms_spot){LEFT, HEIGHT - BOTTOM},
                 (ms_spot){WIDTH - RIGHT, HEIGHT - BOTTOM}, "axis");
    ms_draw_line(p->out, (ms_spot){LEFT, TOP}, (ms_spot){LEFT, HEIGHT - BOTTOM}, "axis");
    ms_draw_text(p->out, (ms_spot){(LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16},
                 "text-anchor=\"middle\"", "memory budget (GiB on the device)");
    fprintf(p->out,
            "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">time of a "
            "step (ms)</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

static void write_path(const picture *p)
{
    const ms_curve *curve = p->view->curve;
    fputs("<polyline class=\"curve\" points=\"", p->out);
    for (uint32_t i = 0; i < curve->points.count; i++) {
        char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT];
        ms_spot s = spot_of(p, &curve->points.items[i]);
        fprintf(p->out, "%s%s,%s", i ? " " : "", ms_fixed(s.x, 1, x), ms_fixed(s.y, 1, y));
    }
    fputs("\"/>\n", p->out);
}

/* A point shows its details on hover. */
static void write_point(const picture *p, const ms_curve_point *point)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT], gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
    const ms_step_figures *f = &point->figures;
    ms_spot s = spot_of(p, point);
    fprintf(p->out, "<circle class=\"point\" cx=\"%s\" cy=\"%s\" r=\"4\"><title>%s GiB: %s ms, ",
            ms_fixed(s.x, 1, x), ms_fixed(s.y, 1, y), ms_gib(point->budget_bytes, gib),
            ms_fixed(f->time.step_ms, 3, ms));
    ms_xml_text(p->out, *f->treat ? f->treat : "keep everything");
    fputs("</title></circle>\n", p->out);
}

/* What the times are compared with: no plan, so it is hollow. */
static void write_keep_all(const picture *p)
{
    const ms_step_figures *f = &p->view->curve->keep_all;
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT], gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
    fprintf(p->out,
            "<circle class=\"keep\" cx=\"%s\" cy=\"%s\" r=\"7\"><title>keep everything: %s GiB, %s "
            "ms</title></circle>\n",
            ms_fixed(ms_plot_axis_along(&p->gib, ms_draw_gib(f->device_bytes), LEFT, WIDTH - RIGHT),
                     1, x),
            ms_fixed(ms_plot_axis_along(&p->ms, f->time.step_ms, HEIGHT - BOTTOM, TOP), 1, y),
            ms_gib(f->device_bytes, gib), ms_fixed(f->time.step_ms, 3, ms));
    double legend_x = WIDTH - RIGHT - 150;
    fprintf(p->out, "<circle class=\"keep\" cx=\"%s\" cy=\"%d\" r=\"7\"/>\n",
            ms_fixed(legend_x, 1, x), TOP - 27);
    ms_draw_text(p->out, (ms_spot){legend_x + 14, TOP - 22}, "class=\"key\"", "everything kept");
}

static bool overlaps(ms_spot a, ms_spot b)
{
    return fabs(a.x - b.x) < LABEL_WIDTH && fabs(a.y - b.y) < LABEL_HEIGHT;
}

/* The first and the last point have a label; others where it meets no other label. */
static void write_labels(const picture *p)
{
    const ms_curve *curve = p->view->curve;
    uint32_t count = curve->points.count, placed_count = 0;
    ms_spot placed[MOST_LABELS];
    for (uint32_t n = 0; n < count && placed_count < MOST_LABELS; n++) {
        uint32_t i = n == 0 ? 0 : n == 1 ? count - 1 : n - 1;
        const ms_curve_point *point = &curve->points.items[i];
        ms_spot s = spot_of(p, point);
        bool is_right = s.x > WIDTH - LABEL_WIDTH - 6;
        ms_spot at = {s.x + (is_right ? -LABEL_WIDTH : 6), s.y - 20};
        bool free_place = true;
        for (uint32_t k = 0; k < placed_count; k++)
            free_place = free_place && !overlaps(at, placed[k]);
        if (!free_place)
            continue;
        placed[placed_count++] = at;
        char text[2 * MS_FIXED_TEXT + 16], gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
        char percent[MS_FIXED_TEXT];
        const char *anchor =
            is_right ? "text-anchor=\"end\" class=\"small halo\"" : "class=\"small halo\"";
        double x = is_right ? s.x + 4 : s.x + 6;
        snprintf(text, sizeof text, "%s GiB", ms_gib(point->budget_bytes, gib));
        ms_draw_text(p->out, (ms_spot){x, s.y - 19}, anchor, text);
        snprintf(text, sizeof text, "%s ms, %s", ms_fixed(point->figures.time.step_ms, 1, ms),
                 ms_plan_percent(ms_plan_overhead(p->view, point->figures.time.step_ms), percent));
        ms_draw_text(p->out, (ms_spot){x, s.y - 7}, anchor, text);
    }
}

void ms_curve_picture(FILE *out, const ms_plan_view *view)
{
    const ms_curve *curve = view->curve;
    picture p = {.out = out, .view = view};
    const ms_step_figures *keep = &curve->keep_all;
    double low_ms = keep->time.step_ms, high_ms = low_ms;
    double low_gib = ms_draw_gib(keep->device_bytes), high_gib = low_gib;
    for (uint32_t i = 0; i < curve->points.count; i++) {
        const ms_curve_point *point = &curve->points.items[i];
        low_ms = fmin(low_ms, point->figures.time.step_ms);
        high_ms = fmax(high_ms, point->figures.time.step_ms);
        low_gib = fmin(low_gib, ms_draw_gib(point->budget_bytes));
        high_gib = fmax(high_gib, ms_draw_gib(point->budget_bytes));
    }
    if (curve->points.count == 0)
        return;
    p.gib = ms_plot_axis_around(low_gib, high_gib);
    p.ms = ms_plot_axis_around(low_ms, high_ms);
    write_axes(&p);
    write_path(&p);
    write_keep_all(&p);
    for (uint32_t i = 0; i < curve->points.count; i++)
        write_point(&p, &curve->points.items[i]);
    write_labels(&p);
}

bool ms_curve_svg(FILE *out, const ms_plan_view *view)
{
    ms_draw_begin_file(out, MS_CURVE_WIDTH, MS_CURVE_HEIGHT, view->title, view->verdict);
    ms_curve_picture(out, view);
    fputs("</svg>\n", out);
    return true;
}
