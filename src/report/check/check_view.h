/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check prepared for its reports: what every channel shows.
 */
#ifndef MS_REPORT_CHECK_CHECK_VIEW_H
#define MS_REPORT_CHECK_CHECK_VIEW_H

#include <stdio.h>

#include "gate/verdict.h"
#include "memscope/check.h"

/* A verdict and its texts, which are never NULL. */
typedef struct ms_check_row {
    const ms_verdict *verdict;
    const char *text;    /* the exceeded limit, or the headroom */
    const char *changes; /* since the baseline, or "" */
    const char *fix;     /* a plan that fits again, or "" */
    const char *message; /* all of these */
} ms_check_row;

typedef struct ms_check_view {
    const ms_check_row *rows; /* worst first */
    uint32_t count;
    uint32_t counts[MS_OUTCOME_COUNT];
    const char *path;          /* of the budgets file */
    const char *root, *folder; /* see ms_check_set_root; may be NULL */
    const char *title;         /* "3 budgets: 1 over, 2 passed" */
    int exit_code;
    ms_style style;
    ms_arena *arena;
} ms_check_view;

/* Whether the verdict is a problem: warned, over or failed. */
static inline bool ms_is_problem(const ms_verdict *v)
{
    return v->outcome >= MS_OUTCOME_WARNED;
}

/* Whether the verdict deserves a paragraph: it is a problem, the run does not fit clearly, or
 * several GPUs are ignored. */
bool ms_check_is_known(const ms_verdict *v);

/* The rule of a verdict: "over-budget", "near-budget", "tight-fit", "unreadable". */
const char *ms_check_rule(const ms_verdict *v);

/* The place to point at: the most relevant one; never NULL. */
const ms_error *ms_check_place(const ms_verdict *v);

/* The file of a place, relative to the top of the repository if known, else to the working
 * directory, without "./". */
const char *ms_check_file(const ms_check_view *view, const ms_error *place);

/* Sixteen hex digits, determined by the budget's name and the kind of problem. */
enum { MS_FINGERPRINT_TEXT = 17 };
const char *ms_check_fingerprint(const ms_verdict *v, char text[MS_FINGERPRINT_TEXT]);

#endif
