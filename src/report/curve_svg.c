/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve as a picture that needs nothing beside it: axes with units, points with labels where
 * there is room, no scripts, no fonts of its own.
 */
#include <math.h>
#include <string.h>

#include "report/plan_view.h"

/* In pixels. */
enum { WIDTH = 860, HEIGHT = 540, LEFT = 84, RIGHT = 30, TOP = 98, BOTTOM = 64 };
enum { TICKS = 6, LABEL_WIDTH = 108, LABEL_HEIGHT = 30, MOST_LABELS = 200 };

typedef struct axis {
    double low, high, step; /* multiples of step */
} axis;

typedef struct spot {
    double x, y;
} spot;

typedef struct picture {
    FILE *out;
    const ms_plan_view *view;
    axis gib, ms;
} picture;

/* Round numbers around the values: steps of 1, 2 or 5 times a power of ten. */
static axis axis_around(double low, double high)
{
    double span = high > low ? high - low : fmax(fabs(high), 1) * 0.1;
    double power = pow(10, floor(log10(span / TICKS)));
    double step = power;
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (span / (step = factors[i] * power) <= TICKS)
            break;
    return (axis){floor(low / step) * step, ceil(high / step) * step, step};
}

static double along(const axis *a, double value, double from, double to)
{
    double span = a->high - a->low;
    return from + (span > 0 ? (value - a->low) / span : 0.5) * (to - from);
}

static double gib_of(uint64_t bytes)
{
    return (double)bytes / (double)(UINT64_C(1) << 30); /* for a picture: no count */
}

static spot spot_of(const picture *p, const ms_curve_point *point)
{
    return (spot){along(&p->gib, gib_of(point->budget_bytes), LEFT, WIDTH - RIGHT),
                  along(&p->ms, point->figures.time.step_ms, HEIGHT - BOTTOM, TOP)};
}

/* Attributes and texts of XML. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void put_label(FILE *out, double x, double y, const char *style, const char *text)
{
    char a[MS_FIXED_TEXT], b[MS_FIXED_TEXT];
    fprintf(out, "<text x=\"%s\" y=\"%s\" %s>", ms_fixed(x, 1, a), ms_fixed(y, 1, b), style);
    put_text(out, text);
    fputs("</text>\n", out);
}

static void put_line(FILE *out, spot from, spot to, const char *class)
{
    char a[MS_FIXED_TEXT], b[MS_FIXED_TEXT], c[MS_FIXED_TEXT], d[MS_FIXED_TEXT];
    fprintf(out, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" class=\"%s\"/>\n",
            ms_fixed(from.x, 1, a), ms_fixed(from.y, 1, b), ms_fixed(to.x, 1, c),
            ms_fixed(to.y, 1, d), class);
}

static uint32_t decimals_of(double step)
{
    uint32_t decimals = 0;
    for (; step < 0.999 && decimals < 6; step *= 10)
        decimals++;
    return decimals;
}

static int tick_count(const axis *a)
{
    return (int)lround((a->high - a->low) / a->step) + 1;
}

static void write_axes(const picture *p)
{
    char text[MS_FIXED_TEXT];
    for (int i = 0; i < tick_count(&p->gib); i++) {
        double v = p->gib.low + i * p->gib.step;
        double x = along(&p->gib, v, LEFT, WIDTH - RIGHT);
        put_line(p->out, (spot){x, TOP}, (spot){x, HEIGHT - BOTTOM}, "grid");
        put_label(p->out, x, HEIGHT - BOTTOM + 20, "text-anchor=\"middle\"",
                  ms_fixed(v, decimals_of(p->gib.step), text));
    }
    for (int i = 0; i < tick_count(&p->ms); i++) {
        double v = p->ms.low + i * p->ms.step;
        double y = along(&p->ms, v, HEIGHT - BOTTOM, TOP);
        put_line(p->out, (spot){LEFT, y}, (spot){WIDTH - RIGHT, y}, "grid");
        put_label(p->out, LEFT - 8, y + 4, "text-anchor=\"end\"",
                  ms_fixed(v, decimals_of(p->ms.step), text));
    }
    put_line(p->out, (spot){LEFT, HEIGHT - BOTTOM}, (spot){WIDTH - RIGHT, HEIGHT - BOTTOM}, "axis");
    put_line(p->out, (spot){LEFT, TOP}, (spot){LEFT, HEIGHT - BOTTOM}, "axis");
    put_label(p->out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "text-anchor=\"middle\"",
              "memory budget (GiB on the device)");
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
        spot s = spot_of(p, &curve->points.items[i]);
        fprintf(p->out, "%s%s,%s", i ? " " : "", ms_fixed(s.x, 1, x), ms_fixed(s.y, 1, y));
    }
    fputs("\"/>\n", p->out);
}

/* A point says all about itself to who rests on it. */
static void write_point(const picture *p, const ms_curve_point *point)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT], gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
    const ms_step_figures *f = &point->figures;
    spot s = spot_of(p, point);
    fprintf(p->out, "<circle cx=\"%s\" cy=\"%s\" r=\"4\"><title>%s GiB: %s ms, ",
            ms_fixed(s.x, 1, x), ms_fixed(s.y, 1, y), ms_gib(point->budget_bytes, gib),
            ms_fixed(f->time.step_ms, 3, ms));
    put_text(p->out, *f->treat ? f->treat : "keep everything");
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
            ms_fixed(along(&p->gib, gib_of(f->device_bytes), LEFT, WIDTH - RIGHT), 1, x),
            ms_fixed(along(&p->ms, f->time.step_ms, HEIGHT - BOTTOM, TOP), 1, y),
            ms_gib(f->device_bytes, gib), ms_fixed(f->time.step_ms, 3, ms));
    double legend_x = WIDTH - RIGHT - 150;
    fprintf(p->out, "<circle class=\"keep\" cx=\"%s\" cy=\"45\" r=\"7\"/>\n",
            ms_fixed(legend_x, 1, x));
    put_label(p->out, legend_x + 14, 50, "", "everything kept");
}

static bool overlaps(spot a, spot b)
{
    return fabs(a.x - b.x) < LABEL_WIDTH && fabs(a.y - b.y) < LABEL_HEIGHT;
}

/* The first and the last point have a label; others where it meets no other label. */
static void write_labels(const picture *p)
{
    const ms_curve *curve = p->view->curve;
    uint32_t count = curve->points.count, placed_count = 0;
    spot placed[MOST_LABELS];
    for (uint32_t n = 0; n < count && placed_count < MOST_LABELS; n++) {
        uint32_t i = n == 0 ? 0 : n == 1 ? count - 1 : n - 1;
        const ms_curve_point *point = &curve->points.items[i];
        spot s = spot_of(p, point);
        bool is_right = s.x > WIDTH - LABEL_WIDTH - 6;
        spot at = {s.x + (is_right ? -LABEL_WIDTH : 6), s.y - 20};
        bool free_place = true;
        for (uint32_t k = 0; k < placed_count; k++)
            free_place = free_place && !overlaps(at, placed[k]);
        if (!free_place)
            continue;
        placed[placed_count++] = at;
        char text[2 * MS_FIXED_TEXT + 16], gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
        char percent[MS_FIXED_TEXT];
        const char *anchor = is_right ? "text-anchor=\"end\" class=\"label\"" : "class=\"label\"";
        double x = is_right ? s.x + 4 : s.x + 6;
        snprintf(text, sizeof text, "%s GiB", ms_gib(point->budget_bytes, gib));
        put_label(p->out, x, s.y - 19, anchor, text);
        snprintf(text, sizeof text, "%s ms, %s", ms_fixed(point->figures.time.step_ms, 1, ms),
                 ms_plan_percent(ms_plan_overhead(p->view, point->figures.time.step_ms), percent));
        put_label(p->out, x, s.y - 7, anchor, text);
    }
}

static void write_head(const picture *p)
{
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fputs("<style>\n"
          "text { fill: #222 }\n"
          ".label { font-size: 11px; paint-order: stroke; stroke: #fff; stroke-width: 3px }\n"
          ".grid { stroke: #ddd }\n"
          ".axis { stroke: #222 }\n"
          ".curve { fill: none; stroke: #1f6feb; stroke-width: 2 }\n"
          "circle { fill: #1f6feb; stroke: #fff }\n"
          ".keep { fill: none; stroke: #222 }\n"
          "</style>\n",
          p->out);
    fprintf(p->out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, HEIGHT);
    put_label(p->out, 20, 28, "font-size=\"16\" font-weight=\"bold\"", p->view->title);
    put_label(p->out, 20, 50, "", p->view->verdict);
}

bool ms_curve_svg(FILE *out, const ms_plan_view *view)
{
    const ms_curve *curve = view->curve;
    picture p = {.out = out, .view = view};
    const ms_step_figures *keep = &curve->keep_all;
    double low_ms = keep->time.step_ms, high_ms = low_ms;
    double low_gib = gib_of(keep->device_bytes), high_gib = low_gib;
    for (uint32_t i = 0; i < curve->points.count; i++) {
        const ms_curve_point *point = &curve->points.items[i];
        low_ms = fmin(low_ms, point->figures.time.step_ms);
        high_ms = fmax(high_ms, point->figures.time.step_ms);
        low_gib = fmin(low_gib, gib_of(point->budget_bytes));
        high_gib = fmax(high_gib, gib_of(point->budget_bytes));
    }
    write_head(&p);
    if (curve->points.count > 0) {
        p.gib = axis_around(low_gib, high_gib);
        p.ms = axis_around(low_ms, high_ms);
        write_axes(&p);
        write_path(&p);
        write_keep_all(&p);
        for (uint32_t i = 0; i < curve->points.count; i++)
            write_point(&p, &curve->points.items[i]);
        write_labels(&p);
    }
    fputs("</svg>\n", out);
    return true;
}
