/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/draw.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json/embedded.h"
#include "base/utf8.h"

enum { TICKS = 6 };

void ms_draw_spot(FILE *out, ms_spot spot)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT];
    fprintf(out, "%s,%s", ms_fixed(spot.x, 1, x), ms_fixed(spot.y, 1, y));
}

void ms_draw_text(FILE *out, ms_spot at, const char *attributes, const char *text)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT];
    fprintf(out, "<text x=\"%s\" y=\"%s\"%s%s>", ms_fixed(at.x, 1, x), ms_fixed(at.y, 1, y),
            *attributes ? " " : "", attributes);
    ms_xml_text(out, text);
    fputs("</text>\n", out);
}

void ms_draw_line(FILE *out, ms_spot from, ms_spot to, const char *class_name)
{
    char a[MS_FIXED_TEXT], b[MS_FIXED_TEXT], c[MS_FIXED_TEXT], d[MS_FIXED_TEXT];
    fprintf(out, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" class=\"%s\"/>\n",
            ms_fixed(from.x, 1, a), ms_fixed(from.y, 1, b), ms_fixed(to.x, 1, c),
            ms_fixed(to.y, 1, d), class_name);
}

void ms_draw_frame(FILE *out, const ms_rectangle *frame)
{
    char x[MS_FIXED_TEXT], y[MS_FIXED_TEXT], width[MS_FIXED_TEXT], height[MS_FIXED_TEXT];
    fprintf(out, " x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", ms_fixed(frame->x, 1, x),
            ms_fixed(frame->y, 1, y), ms_fixed(frame->width, 1, width),
            ms_fixed(frame->height, 1, height));
}

/* ---- axes ---- */

ms_plot_axis ms_plot_axis_around(double low, double high)
{
    double span = high > low ? high - low : fmax(fabs(high), 1) * 0.1;
    double power = pow(10, floor(log10(span / TICKS)));
    double step = power;
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (span / (step = factors[i] * power) <= TICKS)
            break;
    return (ms_plot_axis){floor(low / step) * step, ceil(high / step) * step, step};
}

double ms_plot_axis_along(const ms_plot_axis *axis, double value, double from, double to)
{
    double span = axis->high - axis->low;
    return from + (span > 0 ? (value - axis->low) / span : 0.5) * (to - from);
}

int ms_plot_axis_tick_count(const ms_plot_axis *axis)
{
    return (int)lround((axis->high - axis->low) / axis->step) + 1;
}

uint32_t ms_plot_axis_decimals(const ms_plot_axis *axis)
{
    uint32_t decimals = 0;
    for (double step = axis->step; step < 0.999 && decimals < 6; step *= 10)
        decimals++;
    return decimals;
}

double ms_draw_gib(uint64_t bytes)
{
    return (double)bytes / (double)(UINT64_C(1) << 30);
}

void ms_draw_begin_file(FILE *out, uint32_t width, uint32_t height, const char *title,
                        const char *description)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRIu32 "\" height=\"%" PRIu32
            "\" viewBox=\"0 0 %" PRIu32 " %" PRIu32
            "\" role=\"img\" class=\"picture\" aria-labelledby=\"title desc\">\n<title "
            "id=\"title\">",
            width, height, width, height);
    ms_xml_text(out, title);
    fputs("</title>\n<desc id=\"desc\">", out);
    ms_xml_text(out, description);
    fprintf(out, "</desc>\n<style>\n%s</style>\n", ms_embedded_style_find("picture"));
    fprintf(out, "<rect width=\"%" PRIu32 "\" height=\"%" PRIu32 "\" class=\"ground\"/>\n", width,
            height);
    ms_draw_text(out, (ms_spot){20, 28}, "class=\"strong\" font-size=\"16\"", title);
    ms_draw_text(out, (ms_spot){20, 50}, "font-size=\"13\"", description);
}
