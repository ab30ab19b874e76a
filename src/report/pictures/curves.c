/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/pictures/curves.h"

#include <math.h>

#include "report/pictures/picture.h"

enum { TOP = 34, BOTTOM = 44, RIGHT = 14, MOST_POINTS = 1200, LETTER_WIDTH = 7 };

static const char *const line_classes[2] = {"curve", "curve second"};

typedef struct plot {
    FILE *out;
    const ms_two_curves *both;
    ms_plot_axis gib, along;
    double last_x;
    double left, right, bottom; /* of the frame */
    bool is_narrow;
} plot;

static ms_spot spot_of(const plot *p, const ms_curve_spot *s)
{
    double share = p->last_x > 0 ? s->x / p->last_x : 0;
    return (ms_spot){p->left + share * (p->right - p->left),
                     ms_plot_axis_along(&p->gib, ms_draw_gib(s->bytes), p->bottom, TOP)};
}

static const ms_curve_spot *highest(const ms_curve_spot *spots, uint32_t first, uint32_t end)
{
    const ms_curve_spot *top = &spots[first];
    for (uint32_t i = first + 1; i < end; i++)
        top = spots[i].bytes > top->bytes ? &spots[i] : top;
    return top;
}

/* Of a stretch, its highest point. */
static void draw_curve(const plot *p, int which)
{
    const ms_memory_curve *c = &p->both->curves[which];
    uint32_t stretch = c->count / MOST_POINTS + 1;
    fprintf(p->out, "<polyline class=\"%s\" points=\"", line_classes[which]);
    for (uint32_t i = 0; i < c->count; i += stretch) {
        uint32_t end = i + stretch < c->count ? i + stretch : c->count;
        fputs(i ? " " : "", p->out);
        ms_draw_spot(p->out, spot_of(p, highest(c->spots, i, end)));
    }
    fputs("\"><title>", p->out);
    ms_xml_text(p->out, c->name);
    fputs("</title></polyline>\n", p->out);
}

static void draw_peak(const plot *p, int which)
{
    const ms_memory_curve *c = &p->both->curves[which];
    ms_spot at = spot_of(p, highest(c->spots, 0, c->count));
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT];
    fprintf(p->out, "<circle class=\"pin-head\" r=\"4\" cx=\"%s\" cy=\"%s\"/>\n",
            ms_fixed(at.x, 1, x), ms_fixed(at.y, 1, y));
}

/* " A: at most 13.21 GiB, at 52.1 % of the step's events." */
static void tell_peak(const plot *p, int which)
{
    const ms_memory_curve *c = &p->both->curves[which];
    const ms_curve_spot *peak = highest(c->spots, 0, c->count);
    char gib[MS_GIB_TEXT], x[MS_FIXED_TEXT];
    fputc(' ', p->out);
    ms_xml_text(p->out, c->name);
    fprintf(p->out, ": at most %s GiB, at %s ", ms_gib(peak->bytes, gib),
            ms_fixed(peak->x, ms_plot_axis_decimals(&p->along) + 1, x));
    ms_xml_text(p->out, p->both->x_title);
    fputc('.', p->out);
}

/* Name and highest point of each, above the frame; one below the other where it is narrow. */
static void draw_legend(const plot *p)
{
    double x = p->left;
    for (int i = 0; i < 2; i++) {
        const ms_memory_curve *c = &p->both->curves[i];
        const uint64_t bytes = highest(c->spots, 0, c->count)->bytes;
        double y = p->is_narrow ? 10 + 14 * i : 14;
        char gib[MS_GIB_TEXT], text[96];
        int length = snprintf(text, sizeof text, "%.*s: at most %s GiB", p->is_narrow ? 24 : 48,
                              c->name, ms_gib(bytes, gib));
        ms_draw_line(p->out, (ms_spot){x, y}, (ms_spot){x + 26, y}, line_classes[i]);
        ms_draw_text(p->out, (ms_spot){x + 32, y + 4}, "", text);
        x += p->is_narrow ? 0 : 60 + LETTER_WIDTH * length;
    }
}

static void draw_axes(const plot *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->gib); i++) {
        double value = p->gib.low + i * p->gib.step;
        double y = ms_plot_axis_along(&p->gib, value, p->bottom, TOP);
        ms_draw_line(p->out, (ms_spot){p->left, y}, (ms_spot){p->right, y}, "grid");
        ms_draw_text(p->out, (ms_spot){p->left - 6, y + 4}, "text-anchor=\"end\"",
                     ms_fixed(value, ms_plot_axis_decimals(&p->gib), text));
    }
    for (int i = 0; p->last_x > 0 && i * p->along.step <= p->last_x; i++) {
        double value = i * p->along.step;
        double x = p->left + value / p->last_x * (p->right - p->left);
        ms_draw_line(p->out, (ms_spot){x, TOP}, (ms_spot){x, p->bottom}, "grid");
        ms_draw_text(p->out, (ms_spot){x, p->bottom + 17}, "text-anchor=\"middle\"",
                     ms_fixed(value, ms_plot_axis_decimals(&p->along), text));
    }
    ms_draw_text(p->out, (ms_spot){(p->left + p->right) / 2, p->bottom + 36},
                 "text-anchor=\"middle\" class=\"faint\"", p->both->x_title);
    ms_draw_text(p->out, (ms_spot){p->left - 6, TOP - 8}, "text-anchor=\"end\" class=\"faint\"",
                 "GiB");
}

static plot plot_of(FILE *out, const ms_two_curves *both, int width, int height, bool is_narrow)
{
    plot p = {.out = out,
              .both = both,
              .left = is_narrow ? 40 : 56,
              .right = width - RIGHT,
              .bottom = height - BOTTOM,
              .is_narrow = is_narrow};
    double high = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both->curves[k].count; i++) {
            const ms_curve_spot *s = &both->curves[k].spots[i];
            high = fmax(high, ms_draw_gib(s->bytes));
            p.last_x = fmax(p.last_x, s->x);
        }
    p.gib = ms_plot_axis_around(0, high);
    p.along = ms_plot_axis_around(0, p.last_x);
    return p;
}

static void draw(FILE *out, const ms_two_curves *both, const ms_picture_shape *shape)
{
    const int height = shape->is_narrow ? 260 : 340;
    const plot p = plot_of(out, both, shape->width, height, shape->is_narrow);
    fprintf(out,
            "<svg class=\"picture curves %s\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
            shape->name, shape->width, height);
    ms_xml_text(out, both->label);
    for (int i = 0; i < 2; i++)
        tell_peak(&p, i);
    fputs("\">\n" MS_DRAW_UNREAD, out);
    draw_axes(&p);
    for (int i = 0; i < 2; i++)
        draw_curve(&p, i);
    if (both->has_mark) {
        ms_spot at = spot_of(&p, &(ms_curve_spot){both->mark_x, 0});
        ms_draw_line(out, (ms_spot){at.x, TOP}, (ms_spot){at.x, p.bottom}, "limit");
    }
    for (int i = 0; i < 2; i++)
        draw_peak(&p, i);
    draw_legend(&p);
    fputs("</g></svg>\n", out);
}

void ms_two_curves_html(FILE *out, const ms_two_curves *both)
{
    if (both->curves[0].count == 0 || both->curves[1].count == 0)
        return;
    draw(out, both, &ms_wide_pictures);
    draw(out, both, &ms_narrow_pictures);
}
