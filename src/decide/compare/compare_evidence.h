/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures that causes are held against.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_EVIDENCE_H
#define MS_DECIDE_COMPARE_COMPARE_EVIDENCE_H

#include "decide/compare/compare_view.h"

typedef enum ms_compare_category {
    MS_COMPARE_WEIGHT,
    MS_COMPARE_BUFFER,
    MS_COMPARE_GRADIENT,
    MS_COMPARE_STATE,
    MS_COMPARE_INPUT,
    MS_COMPARE_ACTIVATION,
    MS_COMPARE_TEMPORARY,
    MS_COMPARE_CATEGORY_COUNT
} ms_compare_category;

/* Sets of categories. */
enum {
    MS_IN_WEIGHT = 1U << MS_COMPARE_WEIGHT,
    MS_IN_GRADIENT = 1U << MS_COMPARE_GRADIENT,
    MS_IN_STATE = 1U << MS_COMPARE_STATE,
    MS_IN_INPUT = 1U << MS_COMPARE_INPUT,
    MS_IN_SAVED = 1U << MS_COMPARE_ACTIVATION,
    MS_IN_TEMPORARY = 1U << MS_COMPARE_TEMPORARY,
    MS_IN_COMPUTED = MS_IN_SAVED | MS_IN_TEMPORARY,
    MS_IN_ANY = (1U << MS_COMPARE_CATEGORY_COUNT) - 1
};

typedef struct ms_compare_evidence {
    ms_compare_view *view;
    const ms_recorded_step *first, *second;
    double first_bytes[MS_COMPARE_CATEGORY_COUNT], second_bytes[MS_COMPARE_CATEGORY_COUNT];
    double attention_bytes; /* by how much modules of attention differ */
    double known_bytes;     /* estimate of what causes found so far add to what is computed */
    bool is_same_phase;     /* both peaks are in one */
    bool has_failed;        /* out of memory */
} ms_compare_evidence;

void ms_compare_evidence_make(ms_compare_view *view, ms_compare_evidence *e);
/* Second minus first, over a set of categories; the same without signs; whether any differs. */
double ms_compare_sum(const ms_compare_evidence *e, uint32_t categories);
double ms_compare_size_of(const ms_compare_evidence *e, uint32_t categories);
bool ms_compare_differs(const ms_compare_evidence *e, uint32_t categories);
/* NULL: neither has it. */
const ms_compare_row *ms_compare_phase(const ms_compare_evidence *e, const char *name);
bool ms_compare_has_peak_in(const ms_recorded *r, const char *phase);
/* A text of the view's arena; "" when out of memory. */
__attribute__((format(printf, 2, 3))) const char *ms_compare_text(ms_compare_evidence *e,
                                                                  const char *format, ...);

#endif
