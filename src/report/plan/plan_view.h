/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan prepared for its reports: what every format shows, computed once. A view borrows the
 * answer; ms_plan_view_free releases the rest.
 */
#ifndef MS_REPORT_PLAN_PLAN_VIEW_H
#define MS_REPORT_PLAN_PLAN_VIEW_H

#include "report/view/metadata.h"
#include "text/number.h"
#include "report/plan/plan_report.h"
#include "report/view/view.h"

enum { MS_PLAN_COLUMNS = 3 };

/* A column of the comparison table: one way to run the step. */
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
    const ms_view *analysis;  /* of the planned run; NULL: not shown by the format */
    ms_arena *arena;
    const ms_step_figures *figures;  /* of the plan, or of the one with the smallest peak found */
    bool is_restricted;              /* to the plans that a trainer can express */
    bool is_infeasible, is_fallback; /* fallback: the planner found no treatments */
    bool is_least;                   /* the figures are those of the smallest peak found */
    uint64_t budget_bytes;           /* 0: no limit */
    uint64_t least_budget_bytes;     /* infeasible: smallest budget with a plan; else 0 */
    const char *title;               /* "llama-3.1-8b: batch 1 x 4096 tokens, ..." */
    const char *verdict;             /* "fits: 39.42 of 40.00 GiB on h100-80gb, ..." */
    const char *why;                 /* why it is tight, and what to do about it; or "" */
    ms_fit_verdict tone;             /* of the verdict: good, tight, bad */
    const char *proof;               /* the distance from the bound: a sentence */
    const char *steep;               /* that a little more memory makes it much faster, or "" */
    const char *moved;        /* options that move things to the host, required to fit, or "" */
    const char *target_title; /* "Hugging Face Trainer"; NULL: any */
    ms_plan_column columns[MS_PLAN_COLUMNS];   /* the plan first */
    ms_category categories[MS_CATEGORY_COUNT]; /* at the peaks, the plan's largest first */
    uint32_t category_count;
    const char *kept_layers; /* "8-12,15", or "" */
    const char *rates_note;  /* the assumed rates, if the device's are unknown, or "" */
    const char *host_note;   /* rules: host memory they may use, or "" */
    const ms_field *metadata;
    uint32_t metadata_count;
} ms_plan_view;

ms_status ms_plan_view_create(const ms_plan_answer *answer, ms_plan_view *view, ms_error *err);
void ms_plan_view_free(ms_plan_view *view);

/* Make the view's members of these names; NULL: out of memory. */
const char *ms_plan_rates_note(const ms_plan_view *view);
const char *ms_plan_host_note(const ms_plan_view *view);

/* Additional step time relative to keeping everything, as a fraction; NaN if times are unknown. */
double ms_plan_overhead(const ms_plan_view *view, double step_ms);

/* Cost of 1,000 steps, in the currency of gpu_cost_per_hour. */
double ms_plan_cost(const ms_plan_view *view, double step_ms);

/* "layers 0-7", "layer 8", "loss". */
enum { MS_PLAN_PLACE_TEXT = 40 };
const char *ms_plan_place(const ms_decision *decision, char text[MS_PLAN_PLACE_TEXT]);

/* "selective:mm#0+mm#1+tile:4" becomes "selective (2 kept)+tile:4"; others are unchanged. In the
 * arena; "" when out of memory. */
const char *ms_plan_short(const ms_plan_view *view, const char *treatment);

/* A time with that many decimals; "-" when the device's rates are unknown. */
const char *ms_plan_ms(double ms, uint32_t decimals, char text[MS_FIXED_TEXT]);
/* "+6.3 %"; "-" for NaN. */
const char *ms_plan_percent(double fraction, char text[MS_FIXED_TEXT]);
/* The heading of the plan's suggestions. Static text. */
const char *ms_plan_suggestions_title(const ms_step_plan *plan);

/* "+0.25", "-1.50": difference to a base in GiB. */
const char *ms_plan_gib_more(uint64_t bytes, uint64_t base_bytes, char text[MS_FIXED_TEXT]);

/* Writers of the formats, for a plan, a curve, or both. False: out of memory. */
bool ms_plan_console(FILE *out, const ms_plan_view *view);
bool ms_plan_json(FILE *out, const ms_plan_view *view);
bool ms_plan_markdown(FILE *out, const ms_plan_view *view);
bool ms_plan_html(FILE *out, const ms_plan_view *view); /* a curve too */
bool ms_curve_console(FILE *out, const ms_plan_view *view);
bool ms_curve_json(FILE *out, const ms_plan_view *view);
bool ms_curve_markdown(FILE *out, const ms_plan_view *view);
bool ms_curve_csv(FILE *out, const ms_plan_view *view);
bool ms_curve_svg(FILE *out, const ms_plan_view *view);

/* Draws the curve as SVG elements in a picture of this size in pixels; leaves the top MS_CURVE_HEAD
 * pixels empty. */
enum { MS_CURVE_WIDTH = 860, MS_CURVE_HEIGHT = 540, MS_CURVE_HEAD = 58 };
void ms_curve_picture(FILE *out, const ms_plan_view *view);

#endif
