/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every report of a plan shows, worked out once. A view borrows the answer; ms_plan_view_free
 * releases the rest.
 */
#ifndef MS_REPORT_PLAN_PLAN_VIEW_H
#define MS_REPORT_PLAN_PLAN_VIEW_H

#include "report/view/metadata.h"
#include "base/text/number.h"
#include "report/plan/plan_answer.h"
#include "report/view/view.h"

enum { MS_PLAN_COLUMNS = 3 };

/* One way to run the step, next to others. */
typedef struct ms_plan_column {
    const char *label; /* "keep all" */
    const char *name;  /* "keep_all": in JSON */
    const ms_step_figures *figures;
} ms_plan_column;

typedef struct ms_plan_view {
    const ms_plan_answer *answer;
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_step_plan *plan; /* NULL: a curve */
    const ms_curve *curve;    /* or NULL */
    const ms_view *kept;      /* of the run with everything kept, to compare; or NULL */
    const ms_view *analysis;  /* of the run as planned; NULL: for a format that has none */
    ms_arena *arena;
    const ms_step_figures *figures;  /* the plan's, or of the least that was found */
    bool is_restricted;              /* to what a trainer can express */
    bool is_infeasible, is_fallback; /* fallback: the planner named nothing */
    bool is_least;                   /* the figures are of the least that was found */
    uint64_t budget_bytes;           /* 0: without limit */
    uint64_t least_budget_bytes;     /* infeasible: that a plan was found for; else 0 */
    const char *title;               /* "llama-3.1-8b: batch 1 x 4096 tokens, ..." */
    const char *verdict;             /* "fits: 39.42 of 40.00 GiB on h100-80gb, ..." */
    const char *why;                 /* it is tight, and what to do about it; or "" */
    ms_fit_verdict tone;             /* of the verdict: good news, in between, bad */
    const char *proof;               /* how far from the best it can be: a sentence */
    const char *margin;              /* what is left of the budget, or "" */
    const char *evaluation;          /* that it needs more than the step, or "" */
    const char *steep;               /* that a little more memory makes it much faster, or "" */
    const char *moved;   /* options that put things on the host that nothing fits without, or "" */
    const char *waiting; /* a row of times: "waiting for the host" */
    const char *target_title;                  /* "Hugging Face Trainer"; NULL: any */
    ms_plan_column columns[MS_PLAN_COLUMNS];   /* the plan first */
    ms_category categories[MS_CATEGORY_COUNT]; /* at the peaks, the plan's largest first */
    uint32_t category_count;
    const char *kept_layers; /* "8-12,15", or "" */
    const char *rates_note;  /* what treatments were weighed at where the device's rates are not
                                known, or "" */
    const char *times_note;  /* what the times rest on, or "" */
    const char *host_note;   /* of the rules: how much of the host they might use, or "" */
    const ms_field *metadata;
    uint32_t metadata_count;
} ms_plan_view;

ms_status ms_plan_view_create(const ms_plan_answer *answer, ms_plan_view *view, ms_error *err);
void ms_plan_view_free(ms_plan_view *view);

/* Time of a step beyond keeping everything, as a fraction; NaN where time is not known. */
double ms_plan_overhead(const ms_plan_view *view, double step_ms);

/* The GPUs of the run. */
uint64_t ms_plan_gpus(const ms_plan_view *view);
/* Money for 1,000 steps of all of them. */
double ms_plan_cost(const ms_plan_view *view, double step_ms);

/* "layers 0-7", "layer 8", "loss". */
enum { MS_PLAN_PLACE_TEXT = 40 };
const char *ms_plan_place(const ms_decision *decision, char text[MS_PLAN_PLACE_TEXT]);

/* "selective:mm#0+mm#1+tile:4" as "selective (2 kept)+tile:4"; others as they are. In the arena;
 * "" when out of memory. */
const char *ms_plan_short(const ms_plan_view *view, const char *treatment);

/* A time with that many decimals; "-" when the device's rates are not known. */
const char *ms_plan_ms(double ms, uint32_t decimals, char text[MS_FIXED_TEXT]);
/* "+6.3 %"; "-" for NaN. */
const char *ms_plan_percent(double fraction, char text[MS_FIXED_TEXT]);
/* What the plan's suggestions are for. Static text. */
const char *ms_plan_suggestions_title(const ms_step_plan *plan);

/* "+0.25", "-1.50": GiB more than a base. */
const char *ms_plan_gib_more(uint64_t bytes, uint64_t base_bytes, char text[MS_FIXED_TEXT]);

/* Why figures of the view fit or not, with what the run's files leave out of them. */
ms_fit_reason ms_plan_reason(const ms_plan_view *view, const ms_step_figures *figures);

#endif
