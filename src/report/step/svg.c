/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Both pictures in one file: the timeline, and below it the composition of the peak.
 */
#include "report/pictures/composition.h"
#include "report/pictures/picture.h"
#include "report/pictures/timeline_svg.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"

enum { HEAD = 66, GAP = 44, MARGIN = 16 };

bool ms_report_svg(FILE *out, const ms_view *view)
{
    const ms_picture_shape *shape = &ms_wide_pictures;
    const int second = shape->timeline_height + GAP;
    const int height = HEAD + second + shape->composition_height + MARGIN;
    ms_draw_begin_file(out, (uint32_t)(shape->width + 2 * MARGIN), (uint32_t)height, view->title,
                       view->verdict);
    fprintf(out, "<g transform=\"translate(%d %d)\">\n", MARGIN, HEAD);
    ms_picture_timeline(out, view, shape);
    ms_picture_legend(out, view, (ms_spot){shape->plot.x, shape->timeline_height - 4});
    ms_draw_text(out, (ms_spot){0, second - 10}, "class=\"strong\"", "At the peak");
    fprintf(out, "<g transform=\"translate(0 %d)\">\n", second);
    bool ok = ms_picture_composition(out, view, shape);
    fputs("</g>\n</g>\n</svg>\n", out);
    return ok;
}
