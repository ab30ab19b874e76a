/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What each of several ranks needs, where that is known and they differ.
 */
#ifndef MS_REPORT_RANKS_RANK_TABLE_H
#define MS_REPORT_RANKS_RANK_TABLE_H

#include <stdio.h>

#include "base/json/write.h"
#include "report/kit/page.h"
#include "report/view/view.h"

void ms_rank_table_console(const ms_page *page, const void *view);
void ms_rank_table_markdown(FILE *out, const void *view);
/* The content of a section: a bar for each row against the device's memory, and the figures. */
bool ms_rank_table_html(FILE *out, const void *view);
bool ms_rank_table_is_there(const ms_view *view);
/* The array "ranks", a row for each class of ranks that need the same. */
void ms_rank_table_json(ms_json_writer *w, const char *name, const void *view);

#endif
