/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every format of a comparison shows.
 */
#ifndef MS_REPORT_DIFF_DIFF_VIEW_H
#define MS_REPORT_DIFF_DIFF_VIEW_H

#include "decide/diff/diff.h"
#include "memscope/diff.h"

/* Worked out once; reporters only write. */
enum { MS_DIFF_FIGURES = 6 };

typedef struct ms_diff_figure {
    const char *title, *key;
    uint64_t a_bytes, b_bytes;
} ms_diff_figure;

typedef struct ms_diff_view {
    const ms_diff *diff;
    const char *a_name, *b_name; /* files, or what was analyzed */
    ms_style style;
    ms_diff_figure figures[MS_DIFF_FIGURES]; /* both peaks side by side */
    uint32_t figure_count;
} ms_diff_view;

/* Borrows all but the style. */
ms_diff_view ms_diff_view_make(const ms_diff *diff, const char *a_name, const char *b_name,
                               const ms_style *style);

/* What changes most at the peak: "optimizer states +7.37 GiB, ..."; "" where nothing does. */
enum { MS_DIFF_WHY_TEXT = 320 };
const char *ms_diff_why(const ms_diff_view *view, char text[MS_DIFF_WHY_TEXT]);

/* What a side leaves out of several GPUs, or NULL; 0 is A. */
const char *ms_diff_note(const ms_diff_view *view, int side);

/* "tight, 78.51 GiB on a100-80gb", or "-" if the report does not state it. */
enum { MS_DIFF_VERDICT_TEXT = 128 };
const char *ms_diff_verdict(const ms_report *report, char text[MS_DIFF_VERDICT_TEXT]);

/* "+1.50 GiB", "-512 B", "0 B". */
enum { MS_CHANGE_TEXT = 32 };
const char *ms_change_text(uint64_t a_bytes, uint64_t b_bytes, char text[MS_CHANGE_TEXT]);

/* "4096 -> 8192", with - for what is not there; cut off where it gets long. */
enum { MS_VALUES_TEXT = 160 };
const char *ms_values_text(const ms_field_change *change, char text[MS_VALUES_TEXT]);

#endif
