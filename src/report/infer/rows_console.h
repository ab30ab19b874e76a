/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_INFER_ROWS_CONSOLE_H
#define MS_REPORT_INFER_ROWS_CONSOLE_H

#include "report/infer/rows_view.h"

/* A table in place of an answer, as ms_infer_console and ms_infer_markdown write those. */
bool ms_infer_rows_console(FILE *out, const ms_infer_view *view);
bool ms_infer_rows_markdown(FILE *out, const ms_infer_view *view);

#endif
