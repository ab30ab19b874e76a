/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check for its reports: what every channel shows.
 */
#ifndef MS_REPORT_CHECK_CHECK_VIEW_H
#define MS_REPORT_CHECK_CHECK_VIEW_H

#include <stdio.h>

#include "decide/check/verdict.h"
#include "memscope/check.h"

/* A verdict and its texts, which are never NULL. */
typedef struct ms_check_row {
    const ms_verdict *verdict;
    const char *text;       /* what limit is not kept, or what is left */
    const char *changes;    /* since the baseline, or "" */
    const char *fix;        /* "What fits again: ...", or "" */
    const char *message;    /* all of it */
    const ms_error *others; /* of MS_OUTCOME_FAILED: what else is refused, each with its place */
    uint32_t other_count;
} ms_check_row;

typedef struct ms_check_view {
    const ms_check_row *rows; /* worst first */
    uint32_t count;
    uint32_t counts[MS_OUTCOME_COUNT];
    const char *path;          /* of the budgets */
    const char *root, *folder; /* see ms_check_set_root; may be NULL */
    const char *title;         /* "3 budgets: 1 over, 2 passed" */
    int exit_code;
    ms_style style;
    ms_arena *arena;
} ms_check_view;

/* Fills what is made from `verdicts`, which are worst first, as many as the view counts; the caller
 * has set the rest, and frees. */
ms_status ms_check_view_create(const ms_verdict *const *verdicts, ms_check_view *view,
                               ms_error *err);
void ms_check_view_free(ms_check_view *view);

/* Whether it is one that a check is about: over, warned or failed. */
static inline bool ms_is_problem(const ms_verdict *v)
{
    return v->outcome >= MS_OUTCOME_WARNED;
}

/* Whether it is worth a paragraph: it is a problem, or there is something to know. */
bool ms_check_is_known(const ms_verdict *v);

/* "over-budget", "near-budget", "tight-fit", "unreadable": names for rules. */
const char *ms_check_rule(const ms_verdict *v);

/* Where a channel points: what matters most; never NULL. */
const ms_error *ms_check_place(const ms_verdict *v);

/* The file of a place as others know it: from the top of the repository if that is known, else from
 * where the program runs, without "./". */
const char *ms_check_file(const ms_check_view *view, const ms_error *place);

/* Sixteen hex digits that stay as long as the budget's name and what is wrong with it; `other`: of
 * what else is refused, or NULL. */
enum { MS_FINGERPRINT_TEXT = 17 };
const char *ms_check_fingerprint(const ms_verdict *v, const ms_error *other,
                                 char text[MS_FINGERPRINT_TEXT]);

#endif
