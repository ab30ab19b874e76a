/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Suggestions in each format. Where the run fits by itself they are what would help most, else what
 * makes it fit.
 */
#ifndef MS_REPORT_VIEW_SUGGESTIONS_H
#define MS_REPORT_VIEW_SUGGESTIONS_H

#include "base/json/members.h"
#include "report/kit/tree/tree.h"
#include "report/view/view.h"

/* Whether they belong right below the verdict, as it is not "fits"; else they come after the
 * tables. False where there are none. */
bool ms_suggestions_lead(const ms_view *view);
bool ms_suggestions_follow(const ms_view *view);
/* "What makes it fit", "What would help most", ... Static text. */
const char *ms_suggestions_title(const ms_view *view);

void ms_suggestions_tree(ms_tree *tree, const ms_view *view);
extern const ms_members ms_suggestion_table;

/* A suggestion on the console, in two lines, below a heading of its cost where that is not
 * `before`. `changes` and `added_time` as in ms_suggestion. */
typedef struct ms_suggestion_lines {
    const char *title, *changes, *option;
    ms_advice_cost cost;
    uint64_t device_bytes;
    ms_fit_reason reason;
    double added_time;
} ms_suggestion_lines;
void ms_suggestion_tree(ms_tree *tree, const ms_suggestion_lines *lines, ms_advice_cost before);

/* What a cost means to people: "the same result, in more time". Static text. */
const char *ms_cost_text(ms_advice_cost cost);
/* "+33.1 %", or "-" for NaN. */
const char *ms_added_time(double added_time, char text[MS_FIXED_TEXT]);

#endif
