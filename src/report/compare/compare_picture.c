/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Draws two timelines over their allocations and frees.
 */
#include "report/compare/compare_picture.h"
#include "report/kit/draw.h"
#include "report/pictures/picture.h"

enum { LEFT = 70, RIGHT = 14, TOP = 12, BOTTOM = 40, MOST_POINTS = 1200 };

typedef struct plot {
    FILE *out;
    ms_plot_axis gib, events;
} plot;

static ms_spot spot_of(const plot *p, const ms_recorded_point *point)
{
    return (ms_spot){
        ms_plot_axis_along(&p->events, (double)point->event, LEFT, MS_PICTURE_WIDTH - RIGHT),
        ms_plot_axis_along(&p->gib, ms_draw_gib(point->bytes), MS_COMPARE_PICTURE_HEIGHT - BOTTOM,
                           TOP)};
}

static void widen(const ms_recorded *r, double *low, double *high)
{
    for (uint32_t i = 0; i < r->point_count; i++) {
        double gib = ms_draw_gib(r->timeline[i].bytes);
        *low = gib < *low ? gib : *low;
        *high = gib > *high ? gib : *high;
    }
}

/* Of a stretch, its highest point. */
static void draw_line(const plot *p, const ms_recorded *r, const char *class_name)
{
    uint32_t stretch = r->point_count / MOST_POINTS + 1;
    fprintf(p->out, "<polyline class=\"%s\" points=\"", class_name);
    for (uint32_t i = 0; i < r->point_count; i += stretch) {
        const ms_recorded_point *top = &r->timeline[i];
        for (uint32_t k = i + 1; k < r->point_count && k < i + stretch; k++)
            top = r->timeline[k].bytes > top->bytes ? &r->timeline[k] : top;
        fputs(i ? " " : "", p->out);
        ms_draw_spot(p->out, spot_of(p, top));
    }
    fputs("\"/>\n", p->out);
}

static void draw_axes(const plot *p)
{
    const double bottom = MS_COMPARE_PICTURE_HEIGHT - BOTTOM, right = MS_PICTURE_WIDTH - RIGHT;
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < ms_plot_axis_tick_count(&p->gib); i++) {
        double value = p->gib.low + i * p->gib.step;
        double y = ms_plot_axis_along(&p->gib, value, bottom, TOP);
        ms_draw_line(p->out, (ms_spot){LEFT, y}, (ms_spot){right, y}, "grid");
        ms_draw_text(p->out, (ms_spot){LEFT - 8, y + 4}, "text-anchor=\"end\"",
                     ms_fixed(value, ms_plot_axis_decimals(&p->gib), text));
    }
    for (int i = 0; i < ms_plot_axis_tick_count(&p->events); i++) {
        double value = p->events.low + i * p->events.step;
        double x = ms_plot_axis_along(&p->events, value, LEFT, right);
        ms_draw_line(p->out, (ms_spot){x, TOP}, (ms_spot){x, bottom}, "grid");
        ms_draw_text(p->out, (ms_spot){x, bottom + 18}, "text-anchor=\"middle\"",
                     ms_fixed(value, 0, text));
    }
    ms_draw_text(p->out, (ms_spot){(LEFT + right) / 2, MS_COMPARE_PICTURE_HEIGHT - 6},
                 "text-anchor=\"middle\" class=\"small faint\"",
                 "allocations and frees of the step; GiB upwards");
}

void ms_compare_picture(FILE *out, const ms_compare_view *v)
{
    const ms_recorded *a = v->first, *b = v->second;
    const ms_compare_parting *part = &v->parting;
    if (a->point_count == 0 || b->point_count == 0)
        return;
    double low = ms_draw_gib(a->timeline[0].bytes), high = low;
    widen(a, &low, &high);
    widen(b, &low, &high);
    uint64_t events =
        part->first_events > part->second_events ? part->first_events : part->second_events;
    const plot p = {out, ms_plot_axis_around(low, high), ms_plot_axis_around(0, (double)events)};
    draw_axes(&p);
    draw_line(&p, a, "curve");
    draw_line(&p, b, "reserved");
    if (part->has_parted) {
        double x =
            ms_plot_axis_along(&p.events, (double)part->event, LEFT, MS_PICTURE_WIDTH - RIGHT);
        ms_draw_line(out, (ms_spot){x, TOP}, (ms_spot){x, MS_COMPARE_PICTURE_HEIGHT - BOTTOM},
                     "limit");
    }
}
