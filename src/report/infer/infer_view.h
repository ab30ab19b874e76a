/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the reports of `memscope infer` are written from, and the sentences that they share.
 */
#ifndef MS_REPORT_INFER_INFER_VIEW_H
#define MS_REPORT_INFER_INFER_VIEW_H

#include "serve/infer/rows.h"
#include "report/kit/page.h"

typedef struct ms_infer_view {
    const ms_infer_settings *settings;
    const ms_infer_input *input;
    const ms_infer_answer *answer;
    const ms_infer_rows *rows; /* a table, in place of the answer; or NULL */
    ms_arena *arena;
    const ms_style *style;
} ms_infer_view;

/* "mixtral-8x7b, Q4_K_M: llama.cpp on 2 x rtx-4090, 1 x 32768 tokens"; of a table without what
 * differs from row to row. NULL when out of memory. */
const char *ms_infer_title(const ms_infer_view *view);
/* "fits: 21.30 of 24.00 GiB at the peak"; NULL when out of memory. */
const char *ms_infer_verdict(const ms_infer_view *view);
/* What fits instead, or what more fits; "" when there is nothing to say; NULL: out of memory. */
const char *ms_infer_next(const ms_infer_view *view);

/* "context 148736 is the largest that fits; 148992 needs 23.70 GiB"; NULL: out of memory. */
const char *ms_infer_fit_sentence(const ms_infer_view *view, const ms_infer_fit *fit);

/* The places with memory of their own: the devices, then the host. NULL past the last. */
const char *ms_infer_place_at(const ms_infer_view *view, uint32_t index, int *device);
/* Devices that follow each other and have the same buffers, or the host. */
typedef struct ms_infer_group {
    int device;       /* the first of them, or MS_INFER_HOST */
    const char *name; /* "device 0", "device 1-6", "host" */
} ms_infer_group;

/* In the order of the devices, the host last. */
typedef struct ms_infer_groups {
    ms_infer_group *items; /* of the view's arena; NULL: out of memory */
    uint32_t count;
} ms_infer_groups;

ms_infer_groups ms_infer_groups_of(const ms_infer_view *view);
/* Whether any place has bytes of the part. */
bool ms_infer_has_part(const ms_infer_view *view, ms_infer_part part);

#endif
