/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the engine chooses by itself, as sentences and as JSON.
 */
#ifndef MS_REPORT_INFER_CHOICE_VIEW_H
#define MS_REPORT_INFER_CHOICE_VIEW_H

#include "base/json/members.h"
#include "report/infer/infer_view.h"

/* Arguments without the rules for single tensors, which are long. NULL: out of memory. */
const char *ms_infer_choice_short(ms_arena *arena, const char *arguments);
/* "llama-server's own --fit starts it with -c 4096 -ngl 25: ..."; "" where nothing was asked; NULL
 * when out of memory. */
const char *ms_infer_choice_text(const ms_infer_view *view);
/* What it would start with if more or less were free; "" where that is the same. */
const char *ms_infer_choice_range(const ms_infer_view *view);
extern const ms_members ms_infer_choice_table;

#endif
