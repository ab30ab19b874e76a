/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of predictions of inference as texts: what a console and a Markdown page show.
 */
#ifndef MS_REPORT_INFER_ROWS_VIEW_H
#define MS_REPORT_INFER_ROWS_VIEW_H

#include "report/infer/infer_view.h"

/* "24 of 31 fit, the first with --device rtx-4090"; NULL: out of memory. */
const char *ms_infer_rows_verdict(const ms_infer_view *view);
bool ms_infer_rows_fit(const ms_infer_view *view); /* whether a row does */
uint32_t ms_infer_rows_columns(const ms_infer_view *view);
/* The head of a column, and the cell of a row; NULL: out of memory. */
const char *ms_infer_rows_head(const ms_infer_view *view, uint32_t column);
const char *ms_infer_rows_cell(const ms_infer_view *view, const ms_infer_row *row, uint32_t column);
/* Whether the column holds figures. */
bool ms_infer_rows_is_figure(const ms_infer_view *view, uint32_t column);
/* Whether a narrow page may do without it. */
bool ms_infer_rows_may_go(const ms_infer_view *view, uint32_t column);
/* "fits", "tight", "no", "unknown" or "error". */
const char *ms_infer_row_verdict(const ms_infer_row *row);

#endif
