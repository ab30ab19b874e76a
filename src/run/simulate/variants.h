/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of one run, simulated in parallel, from which findings are made.
 */
#ifndef MS_RUN_SIMULATE_VARIANTS_H
#define MS_RUN_SIMULATE_VARIANTS_H

#include "run/simulate/change.h"

/* Variants are measured in parallel threads and share only data they read. */
typedef struct ms_variant {
    const ms_simulated *base; /* the unchanged run in full detail; its evaluation counts for all */
    const ms_change *change;
    ms_variation variation;
    const char *option; /* equivalent option, in the arena of ms_variants_add */
    /* Filled by ms_variants_measure. */
    uint64_t device_bytes; /* expected */
    uint64_t peak_bytes;
    uint64_t retries; /* of the allocator, in all steps */
    double retry_ms;  /* of the steady step */
    ms_fit_reason reason;
    ms_status status; /* MS_ERR_CONFIG: the run keeps an operator that the variant lacks */
    ms_error err;
} ms_variant;

enum { MS_MOST_VARIANTS = 16 };

typedef struct ms_variants {
    ms_variant items[MS_MOST_VARIANTS];
    uint32_t count;
} ms_variants;

/* Adds a variant unless it exists, does not apply, or the list is full. False: out of memory. */
bool ms_variants_add(ms_variants *variants, const ms_simulated *base, const ms_change *change,
                     ms_arena *arena);
/* NULL if it was not added. */
const ms_variant *ms_variants_find(const ms_variants *variants, const ms_change *change);
/* Simulates all of them in threads; a failure is in each variant's status. `beside` runs in one of
 * the threads at the same time, and must not share with them what it writes to. */
void ms_variants_measure(ms_variants *variants, void (*beside)(void *context), void *context);

/* Device bytes that the variant saves; negative: it needs more. */
int64_t ms_variant_saved_bytes(const ms_variant *variant);

#endif
