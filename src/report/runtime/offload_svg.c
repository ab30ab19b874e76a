/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An offload by ratio as a self-contained SVG: three panels above one axis of ratios: peak, waiting
 * for copies, use of the link. Lines are predicted, rings measured; from a dashed line on the link
 * is saturated. No scripts, no fonts.
 */
#include <math.h>

#include "report/kit/draw.h"
#include "report/kit/writer_list.h"
#include "report/runtime/offload_view.h"

/* In pixels. */
enum { WIDTH = 860, HEIGHT = 660, LEFT = 84, RIGHT = 30, TOP = 114, BOTTOM = 56, GAP = 40 };
enum { PANELS = 3, PANEL_HEIGHT = (HEIGHT - TOP - BOTTOM - (PANELS - 1) * GAP) / PANELS };

typedef struct panel {
    const char *title;
    double (*value)(const ms_offload_figures *figures);
    bool is_time;
} panel;

typedef struct picture {
    FILE *out;
    const ms_offload_view *view;
    const panel *panel;
    double top, bottom;
    ms_plot_axis ratio, value;
} picture;

static double peak_of(const ms_offload_figures *f)
{
    return ms_draw_gib(f->peak_bytes);
}

static double waiting_of(const ms_offload_figures *f)
{
    return f->exposed_ms;
}

static double use_of(const ms_offload_figures *f)
{
    return ms_offload_link_use(f) * 100;
}

static const panel panels[PANELS] = {
    {"allocated at the peak (GiB)", peak_of, false},
    {"waiting for copies (ms of a step)", waiting_of, true},
    {"link in use (% of the step)", use_of, true},
};

static bool is_drawn(const picture *p, const ms_offload_figures *f)
{
    return !p->panel->is_time || f->has_times;
}

static void find_axes(picture *p)
{
    const ms_offload_rows *rows = p->view->rows;
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < rows->count; i++) {
        const ms_offload_row *row = &rows->items[i];
        const ms_offload_figures *sides[] = {&row->predicted,
                                             row->has_measured ? &row->measured : &row->predicted};
        for (int k = 0; k < 2; k++)
            if (is_drawn(p, sides[k])) {
                low = fmin(low, p->panel->value(sides[k]));
                high = fmax(high, p->panel->value(sides[k]));
            }
    }
    p->value = ms_plot_axis_around(isfinite(low) ? low : 0, isfinite(high) ? high : 1);
    p->ratio = ms_plot_axis_around(rows->items[0].ratio, rows->items[rows->count - 1].ratio);
}

static ms_spot spot_of(const picture *p, const ms_offload_row *row, const ms_offload_figures *f)
{
    return (ms_spot){ms_plot_axis_along(&p->ratio, row->ratio, LEFT, WIDTH - RIGHT),
                     ms_plot_axis_along(&p->value, p->panel->value(f), p->bottom, p->top)};
}

static void write_frame(const picture *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->value); i++) {
        double v = p->value.low + i * p->value.step;
        double y = ms_plot_axis_along(&p->value, v, p->bottom, p->top);
        ms_draw_line(p->out, (ms_spot){LEFT, y}, (ms_spot){WIDTH - RIGHT, y}, "grid");
        if (i % 2 == 0)
            ms_draw_text(p->out, (ms_spot){LEFT - 8, y + 4}, "text-anchor=\"end\"",
                         ms_fixed(v, ms_plot_axis_decimals(&p->value), text));
    }
    ms_draw_line(p->out, (ms_spot){LEFT, p->bottom}, (ms_spot){WIDTH - RIGHT, p->bottom}, "axis");
    ms_draw_line(p->out, (ms_spot){LEFT, p->top}, (ms_spot){LEFT, p->bottom}, "axis");
    ms_draw_text(p->out, (ms_spot){LEFT, p->top - 10}, "class=\"strong\"", p->panel->title);
}

static void write_ratios(const picture *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->ratio); i++) {
        double v = p->ratio.low + i * p->ratio.step;
        double x = ms_plot_axis_along(&p->ratio, v, LEFT, WIDTH - RIGHT);
        ms_draw_text(p->out, (ms_spot){x, p->bottom + 20}, "text-anchor=\"middle\"",
                     ms_fixed(v, ms_plot_axis_decimals(&p->ratio), text));
    }
    ms_draw_text(p->out, (ms_spot){(LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14},
                 "text-anchor=\"middle\"", "share of the saved tensors that is offloaded");
}

/* From where the link is saturated. */
static void write_limit(const picture *p)
{
    const ms_offload_row *row = ms_offload_saturated(p->view);
    if (!row)
        return;
    double x = ms_plot_axis_along(&p->ratio, row->ratio, LEFT, WIDTH - RIGHT);
    ms_draw_line(p->out, (ms_spot){x, p->top}, (ms_spot){x, p->bottom}, "limit");
}

static void write_line(const picture *p)
{
    const ms_offload_rows *rows = p->view->rows;
    fputs("<polyline class=\"curve\" points=\"", p->out);
    for (uint32_t i = 0; i < rows->count; i++) {
        fputs(i ? " " : "", p->out);
        ms_draw_spot(p->out, spot_of(p, &rows->items[i], &rows->items[i].predicted));
    }
    fputs("\"/>\n", p->out);
}

/* Details on hover. */
static void write_point(const picture *p, const ms_offload_row *row, const ms_offload_figures *f,
                        const char *side)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT], ratio[MS_FIXED_TEXT], value[MS_FIXED_TEXT];
    ms_spot s = spot_of(p, row, f);
    bool is_measured = f == &row->measured;
    fprintf(p->out,
            "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"%d\"><title>%s at %s: %s</title>"
            "</circle>\n",
            is_measured ? "keep" : "point", ms_fixed(s.x, 1, x), ms_fixed(s.y, 1, y),
            is_measured ? 7 : 4, side, ms_fixed(row->ratio, 3, ratio),
            ms_fixed(p->panel->value(f), 3, value));
}

static void write_panel(picture *p)
{
    const ms_offload_rows *rows = p->view->rows;
    find_axes(p);
    write_frame(p);
    write_limit(p);
    if (is_drawn(p, &rows->items[0].predicted))
        write_line(p);
    for (uint32_t i = 0; i < rows->count; i++) {
        const ms_offload_row *row = &rows->items[i];
        if (is_drawn(p, &row->predicted))
            write_point(p, row, &row->predicted, "predicted");
        if (row->has_measured && is_drawn(p, &row->measured))
            write_point(p, row, &row->measured, "measured");
    }
}

bool ms_offload_svg(FILE *out, const ms_offload_view *v)
{
    char title[MS_OFFLOAD_TEXT], text[MS_OFFLOAD_TEXT];
    picture p = {.out = out, .view = v};
    snprintf(title, sizeof title, "%.120s on %.120s: offload by ratio", ms_offload_model(v),
             v->run->device->name);
    ms_draw_begin_file(out, WIDTH, HEIGHT, title, ms_offload_decision(v, text));
    ms_draw_text(out, (ms_spot){20, 70}, "class=\"faint\"", ms_offload_about_link(v, text));
    for (int i = 0; i < PANELS; i++) {
        p.panel = &panels[i];
        p.top = TOP + i * (PANEL_HEIGHT + GAP);
        p.bottom = p.top + PANEL_HEIGHT;
        write_panel(&p);
    }
    write_ratios(&p);
    fputs("</svg>\n", out);
    return true;
}
