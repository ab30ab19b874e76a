/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of a run that may save memory, as variations with a title: for suggestions and findings.
 */
#ifndef MS_SIMULATE_CHANGE_H
#define MS_SIMULATE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "simulate/variation.h"

typedef struct ms_change {
    const char *title; /* "half the batch" */
    bool is_treatment; /* of layers: no use to who plans those */
    bool may_be_repeated;
    bool is_of_allocator; /* events are the same: they need but be measured again */
    bool (*apply)(ms_variation *v, const char **option); /* see ms_vary_by */
} ms_change;

/* NULL past the last. */
const ms_change *ms_change_at(size_t index);

/* Changes the variation, and gives the option that does the same, static or in its arena (NULL: out
 * of memory). False when the change does not apply; the variation is void then. */
bool ms_vary_by(ms_variation *v, const ms_change *change, const char **option);

/* Expandable segments. */
extern const ms_change ms_allocator_change;

/* For findings: autocast in the half precision that suits the device, where the run computes in
 * fp32; a quantised base whose other weights keep their type; fp16 in place of bf16. */
extern const ms_change ms_autocast_change, ms_upcast_change, ms_half_change;

#endif
