/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several candidates together, as one run.
 */
#ifndef MS_DECIDE_ADVISE_COMBINATION_H
#define MS_DECIDE_ADVISE_COMBINATION_H

#include "decide/advise/candidate.h"
#include "base/arena.h"
#include "run/simulate/variation.h"

/* Bits of candidates: 1 << index. */
typedef uint32_t ms_candidate_set;
static inline ms_candidate_set ms_bit(uint32_t index)
{
    return (ms_candidate_set)1 << index;
}

/* The job with these changes, resolved anew by all rules of a run, and the options that make it;
 * `device` names another one, or is NULL. MS_ERR_USAGE or MS_ERR_CONFIG: refused, alone or
 * together; the job's run must have a draft. What the variation points to is in its arena or the
 * job's. */
ms_status ms_combination_apply(const ms_job *job, ms_candidate_set set, const char *device,
                               ms_arena *arena, ms_variation *v, const char **option,
                               ms_error *err);

/* "paged 8-bit AdamW + checkpoint every layer", in the order of the rows; in the arena, NULL when
 * out of memory. */
const char *ms_combination_title(ms_candidate_set set, ms_arena *arena);
/* What changes of the result, or "". */
const char *ms_combination_changes(ms_candidate_set set, ms_arena *arena);
/* The largest cost among them. */
ms_advice_cost ms_combination_cost(ms_candidate_set set);
uint32_t ms_combination_count(ms_candidate_set set);
/* Whether it leaves the events of the run as they are. */
bool ms_combination_is_of_allocator(ms_candidate_set set);
/* What of that which the unchanged run keeps is kept as it is. */
uint64_t ms_combination_left_bytes(ms_candidate_set set, const ms_kept *kept);

/* Whether a candidate sets a field that one of the set does, too. */
bool ms_combination_excludes(ms_candidate_set set, uint32_t index);

#endif
