/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a rank exchanges with others in a steady step: bytes and calls of each kind of collective
 * and message, the link, and the time that the step waits, where it is known. Nothing is written
 * where there is nothing.
 */
#ifndef MS_REPORT_RANKS_COMMUNICATION_H
#define MS_REPORT_RANKS_COMMUNICATION_H

#include <stdio.h>

#include "base/json/write.h"
#include "report/kit/page.h"
#include "report/view/view.h"

/* "all_gather model.layers.3 (8 ranks)", and the module alone; "" where it has none. */
enum { MS_COLLECTIVE_TEXT = 320 };
void ms_collective_text(const ms_trace *trace, const ms_work *work, char name[MS_COLLECTIVE_TEXT],
                        char module[MS_COLLECTIVE_TEXT]);

bool ms_communication_is_there(const ms_view *view);
void ms_communication_console(const ms_page *page, const void *view);
void ms_communication_markdown(FILE *out, const void *view);
bool ms_communication_html(FILE *out, const void *view); /* the content of a section */
/* The array "communication". */
void ms_communication_json(ms_json_writer *w, const char *name, const void *view);

#endif
