/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An analysis prepared for its reports: order, shares and texts, computed once. Reporters only
 * write. A view borrows the ledger and the advice; ms_view_free releases the rest.
 */
#ifndef MS_REPORT_VIEW_VIEW_H
#define MS_REPORT_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "decide/ledger/advice.h"
#include "decide/ledger/ledger.h"
#include "report/view/metadata.h"
#include "base/text/number.h"

enum { MS_VIEW_LARGEST = 12 };

typedef struct ms_view_row {
    const char *label;
    const char *detail; /* "32 x", "layers 0-31", or "" */
    uint64_t bytes;
} ms_view_row;

typedef struct ms_view {
    const ms_ledger *ledger;
    const ms_summary *summary;
    const ms_advice *advice; /* NULL: not requested by the reporter */
    ms_style style;
    ms_arena *arena;
    const char *title;    /* "llama-3.1-8b: 8.03 B parameters, bf16" */
    const char *verdict;  /* "fits: 71.31 of 79.25 GiB on a100-80gb" */
    const char *why;      /* it needs that: ms_why_text, and of a tight one what to do about it */
    const char *peak_why; /* ms_why_text alone */
    ms_finding *findings; /* shown beside the verdict */
    uint32_t finding_count;
    const char *peak_operator; /* running at the peak, or "" */
    ms_view_row *categories;   /* alive at the peak, largest first; sum = peak */
    uint32_t category_count;
    ms_view_row *tensors; /* the largest at the peak, and the others; sum = peak */
    uint32_t tensor_count;
    ms_view_row *layers; /* layers at the peak, and outside them; sum = peak */
    uint32_t layer_count;
    const ms_record **largest; /* operators, by their bytes alive at the peak */
    uint32_t largest_count;
    uint32_t operator_count;                       /* with bytes alive at the peak */
    uint64_t operator_bytes, operator_saved_bytes; /* of all operators */
    const ms_field *metadata;
    uint32_t metadata_count;
} ms_view;

/* The name of a finding that is a note about the input, which a command prints as it reads it. */
extern const char ms_view_input_note[];

ms_status ms_view_create(const ms_ledger *ledger, const ms_advice *advice, const ms_style *style,
                         ms_view *view, ms_error *err);
void ms_view_free(ms_view *view);

/* The model's name, or its type. */
const char *ms_view_model(const ms_view *view);

/* Types of the weights: "bf16"; of shards in another type "fp32 computed in bf16", with autocast
 * "fp32 with bf16 autocast", of a packed base "nf4:double, bf16 with bf16 autocast". NULL when out
 * of memory. */
const char *ms_view_types(ms_arena *arena, const ms_run_config *run);

/* Of `layers` numbers starting at `first`: "0-31"; texts of the view's arena. "" when out of
 * memory. */
const char *ms_view_record_name(const ms_view *view, const ms_record *record);
const char *ms_view_formula(const ms_view *view, const ms_record *record);
const char *ms_view_layers(const ms_view *view, const ms_record *record);

/* "8.03 B", "134.5 M"; NULL when out of memory. */
const char *ms_view_millions(ms_arena *arena, uint64_t count);

/* "4", or "4-16" for a phase that represents several; from 1. */
enum { MS_MICRO_STEP_TEXT = 24 };
const char *ms_micro_step_text(const ms_phase_usage *phase, char text[MS_MICRO_STEP_TEXT]);

#endif
