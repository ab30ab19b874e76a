/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which phases of two reports stand beside each other.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_PHASES_H
#define MS_DECIDE_COMPARE_COMPARE_PHASES_H

#include "input/document/recorded.h"

typedef struct ms_compare_phase_pair {
    const ms_recorded_phase *first, *second; /* NULL: that report has none */
} ms_compare_phase_pair;

/* Pairs in the order of the step, of `arena`. NULL when out of memory. */
ms_compare_phase_pair *ms_compare_pair_phases(ms_arena *arena, const ms_recorded *first,
                                              const ms_recorded *second, uint32_t *count);

#endif
