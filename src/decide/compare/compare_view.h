/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison of two reports, computed once for all formats: rows, the place where they diverge,
 * the verdict. Texts belong to the reports or the arena.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_VIEW_H
#define MS_DECIDE_COMPARE_COMPARE_VIEW_H

#include "input/document/recorded.h"

/* A figure of both reports. */
typedef struct ms_compare_row {
    const char *name;
    uint64_t micro_step;
    bool has_first, has_second;
    uint64_t first_bytes, second_bytes; /* 0 if absent */
    bool is_known;                      /* has a residual; not for a phase that one report lacks */
    int64_t residual;                   /* second - first */
    double of_peak;                     /* residual / first peak; or NaN */
    double of_residual;                 /* |residual| / sum of |residual| over the table; or NaN */
} ms_compare_row;

typedef enum ms_compare_table {
    MS_COMPARE_TOTALS,
    MS_COMPARE_PHASES,     /* peaks */
    MS_COMPARE_CATEGORIES, /* at the peak */
    MS_COMPARE_MODULES,    /* at the peak; largest difference first */
    MS_COMPARE_TABLES
} ms_compare_table;

extern const char *const ms_compare_titles[]; /* headings, by ms_compare_table */

typedef struct ms_compare_rows {
    ms_compare_row *items;
    uint32_t count;
} ms_compare_rows;

/* Where the steps diverge, within the resolution of both timelines. */
typedef struct ms_compare_parting {
    bool is_known;                        /* both have points at the same events */
    bool has_parted;                      /* the difference changes */
    int64_t from_start;                   /* difference at the first common point */
    uint64_t same_event;                  /* the last common point before */
    uint64_t event;                       /* the first common point after */
    const char *phase;                    /* of the second report at that point */
    uint64_t first_bytes, second_bytes;   /* there */
    uint64_t first_events, second_events; /* allocations and frees of the step */
} ms_compare_parting;

/* Something that both reports state of how the step was run, that differs, and that the figures
 * show. */
typedef struct ms_compare_cause {
    const char *name;           /* "sequence_length" */
    const char *first, *second; /* "1024 tokens a sequence" */
    const char *brief;          /* the first, where it comes after the second: "1024"; or NULL */
    uint32_t touches;           /* categories at the peak, by their bits */
    uint32_t signed_by;         /* those whose difference must have the sign; 0: none must */
    int sign;
    double bytes; /* an estimate, for the order */
    double most;  /* of what it can explain; INFINITY: not bounded */
} ms_compare_cause;

enum { MS_COMPARE_MOST_CAUSES = 20 };

typedef struct ms_compare_view {
    const ms_recorded *first, *second;
    ms_arena *arena;
    ms_compare_rows tables[MS_COMPARE_TABLES];
    ms_compare_parting parting;
    int64_t residual; /* of the peak */
    bool is_equal;    /* peak and reserved, to the byte */
    bool is_near;     /* the peaks are within half a percent */
    ms_compare_cause
        causes[MS_COMPARE_MOST_CAUSES]; /* largest first; none if the peaks are equal */
    uint32_t cause_count;
    bool is_explained;                    /* the causes can explain most of the difference */
    const ms_compare_row *cause, *module; /* the largest of its table; NULL: none differs */
    const char *verdict;                  /* the decision, one sentence */
    const char *why;                      /* the largest cause, where and when; or "" */
    const char *notes[4];                 /* reasons that limit the comparison */
    uint32_t note_count;
} ms_compare_view;

static inline uint64_t ms_compare_size(int64_t residual)
{
    return residual < 0 ? (uint64_t)0 - (uint64_t)residual : (uint64_t)residual;
}

/* "+1.50 GiB", "-512 B", "0 B". */
enum { MS_RESIDUAL_TEXT = 40 };

/* "forward 2": with the micro-step, from 1, unless it is the first. */
enum { MS_ROW_TEXT = 64 };

#endif
