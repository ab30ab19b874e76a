/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which candidates go together, and the largest sets of those that do.
 */
#ifndef MS_DECIDE_ADVISE_TOGETHER_H
#define MS_DECIDE_ADVISE_TOGETHER_H

#include "decide/advise/trial.h"

typedef struct ms_together {
    const ms_trials *trials;
    ms_candidate_set against[MS_MOST_CANDIDATES]; /* what does not go with a candidate */
    ms_candidate_set asked[MS_MOST_CANDIDATES];   /* what that is known of */
} ms_together;

enum { MS_MOST_MAXIMAL = 16 };

typedef struct ms_maximal_sets {
    ms_candidate_set items[MS_MOST_MAXIMAL];
    uint32_t count;
} ms_maximal_sets;

/* Whether a candidate does not go with one of a set. What goes together in pairs is taken to do so
 * all together; trials find out where not. */
ms_status ms_together_ask(ms_together *together, ms_candidate_set set, uint32_t with,
                          bool *is_against);

/* Without those that a stronger one of the same kind and cost stands for. */
ms_candidate_set ms_strongest(ms_candidate_set set);

/* Lists the sets of `nodes` that go together and to which no other of them could be added. */
ms_status ms_maximal_list(ms_together *together, ms_candidate_set nodes, ms_maximal_sets *sets);

#endif
