/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Upper bounds of speed in the reports of `memscope infer`.
 */
#ifndef MS_REPORT_INFER_SPEED_VIEW_H
#define MS_REPORT_INFER_SPEED_VIEW_H

#include "base/json/members.h"
#include "report/infer/infer_view.h"

/* "at most 76.3 tokens/s, by the bandwidth of the memory; 61.0 with a full context": of the
 * prompts, and of decoding. "no bound: ..." where there is none. NULL when out of memory. */
const char *ms_infer_prefill_text(const ms_infer_view *view);
const char *ms_infer_decode_text(const ms_infer_view *view);

/* The member "speed". */
extern const ms_members ms_infer_speed_table;
void ms_infer_speed_make(const void *speed, void *made);

/* "76.3"; "" where there is no bound. */
enum { MS_SPEED_TEXT = 40 };
const char *ms_infer_speed_number(double per_s, char text[MS_SPEED_TEXT]);

#endif
