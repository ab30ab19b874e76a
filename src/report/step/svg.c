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
    const uint32_t height = HEAD + MS_TIMELINE_HEIGHT + GAP + MS_COMPOSITION_HEIGHT + MARGIN;
    ms_draw_begin_file(out, MS_PICTURE_WIDTH + 2 * MARGIN, height, view->title, view->verdict);
    fprintf(out, "<g transform=\"translate(%d %d)\">\n", MARGIN, HEAD);
    ms_picture_timeline(out, view);
    ms_picture_legend(out, view, (ms_spot){ms_timeline_plot.x, MS_TIMELINE_HEIGHT - 4});
    ms_draw_text(out, (ms_spot){0, MS_TIMELINE_HEIGHT + GAP - 10}, "class=\"strong\"",
                 "At the peak");
    fprintf(out, "<g transform=\"translate(0 %d)\">\n", MS_TIMELINE_HEIGHT + GAP);
    bool ok = ms_picture_composition(out, view);
    fputs("</g>\n</g>\n</svg>\n", out);
    return ok;
}
