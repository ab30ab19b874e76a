/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What each of several ranks needs, where that is known and they differ, and what a rank sends.
 */
#ifndef MS_REPORT_STEP_RANK_TABLE_H
#define MS_REPORT_STEP_RANK_TABLE_H

#include <stdio.h>

#include "json/write.h"
#include "report/kit/page.h"
#include "report/view/view.h"

void ms_rank_table_console(const ms_page *page, const ms_view *view);
void ms_rank_table_markdown(FILE *out, const ms_view *view);
/* The array "ranks", a row for each class of ranks that need the same. */
void ms_rank_table_json(ms_json_writer *writer, const ms_view *view);

/* Collectives and messages of a steady step; nothing where there are none. */
void ms_communication_console(const ms_page *page, const ms_view *view);
void ms_communication_markdown(FILE *out, const ms_view *view);
/* The array "communication", an object for each kind. */
void ms_communication_json(ms_json_writer *writer, const ms_view *view);

#endif
