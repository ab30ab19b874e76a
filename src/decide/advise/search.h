/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which combinations of candidates make a run fit, each with no candidate that it could do without.
 *
 * Of the candidates that cost at most so much, the largest sets that go together are simulated:
 * where none of these fits, no smaller one does, as a candidate takes no memory. From one that
 * fits, candidates are left out, or replaced by milder ones, the costliest first, as long as it
 * fits.
 */
#ifndef MS_DECIDE_ADVISE_SEARCH_H
#define MS_DECIDE_ADVISE_SEARCH_H

#include "decide/advise/trial.h"

typedef struct ms_found {
    ms_candidate_set set;
    const char *device; /* or NULL; of the other devices */
} ms_found;

enum { MS_MOST_FOUND = 12 };

typedef struct ms_found_list {
    ms_found items[MS_MOST_FOUND];
    uint32_t count;
} ms_found_list;

/* Fills `found` with combinations, those that cost least first: up to two of what keeps the result,
 * then of what rounds otherwise, then of other training, then another device. `verdict` is
 * that of the unchanged run, and `needed_bytes` what a larger device must have. Where nothing
 * fits, and trials are exact: the combinations that need least. */
ms_status ms_search_combinations(ms_trials *trials, ms_candidate_set applicable,
                                 ms_fit_verdict verdict, uint64_t needed_bytes,
                                 ms_found_list *found);

#endif
