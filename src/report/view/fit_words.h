/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts on whether a step fits, for all reports.
 */
#ifndef MS_REPORT_VIEW_FIT_WORDS_H
#define MS_REPORT_VIEW_FIT_WORDS_H

#include "base/arena.h"
#include "base/json/members.h"
#include "run/simulate/judge.h"

/* The members "fits", "verdict" and "verdict_reason", which are made of a reason. */
extern const ms_members ms_fit_table;
void ms_fit_make(const void *reason, void *made);
#define MS_FIT_MEMBERS(type, member)                                                               \
    MS_PART_AT(type, NULL, member, &ms_fit_table, .make = ms_fit_make)
void ms_fit_json(ms_json_writer *w, ms_fit_reason reason);

/* The verdict in a table: "fits", "tight", "unknown" or "no". */
const char *ms_fit_cell(ms_fit_reason reason);

/* "true" or "false"; "" where it is unknown. */
const char *ms_fits_cell(ms_fit_reason reason);

/* The facts of a verdict. */
typedef struct ms_fit_facts {
    ms_fit_reason reason;
    uint64_t budget_bytes, high_device_bytes;
    uint64_t retries; /* of the allocator; 0: none, or unknown */
} ms_fit_facts;

/* Why it is tight and what to do about it, or why it does not fit if the figures do not show it;
 * otherwise "". NULL when out of memory. In the arena, without a full stop. */
const char *ms_fit_why(ms_arena *arena, const ms_fit_facts *facts);

/* The label before that sentence. */
extern const char ms_fit_why_label[];

#endif
