/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What several ranks change: a rank beside one device with the same settings. Without several ranks
 * nothing is written, and where one device cannot be compared, the reason.
 */
#ifndef MS_REPORT_RANKS_ONE_DEVICE_TABLE_H
#define MS_REPORT_RANKS_ONE_DEVICE_TABLE_H

#include <stdio.h>

#include "base/json/write.h"
#include "report/kit/page.h"
#include "report/view/view.h"

void ms_one_device_console(const ms_page *page, const void *view);
void ms_one_device_markdown(FILE *out, const void *view);
/* The content of a section; whether there is any. */
bool ms_one_device_html(FILE *out, const void *view);
bool ms_one_device_is_there(const ms_view *view);
/* The object "one_device". */
void ms_one_device_json(ms_json_writer *w, const char *name, const void *view);

#endif
