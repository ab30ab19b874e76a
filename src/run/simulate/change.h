/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of a run that findings are about: a title and a variation. Suggestions are made by
 * decide/advise/advise.h.
 */
#ifndef MS_RUN_SIMULATE_CHANGE_H
#define MS_RUN_SIMULATE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "run/simulate/variation.h"

typedef struct ms_change {
    const char *title;    /* "expandable segments" */
    bool is_of_allocator; /* events are unchanged; only the allocator is rerun */
    bool (*apply)(ms_variation *v, const char **option); /* see ms_vary_by */
} ms_change;

/* Applies the change to the variation and sets the equivalent option, static or in the variation's
 * arena (NULL: out of memory). False when the change does not apply; the variation must then not be
 * used. */
bool ms_vary_by(ms_variation *v, const ms_change *change, const char **option);

/* Expandable segments. */
extern const ms_change ms_allocator_change;

/* Autocast in the device's half precision, for a run in fp32; a quantised base whose
 * other weights keep their dtype; fp16 instead of bf16; mixed precision with fp32 weights, where no
 * type was given; no layer checkpointed, where the option does it;
 * FSDP2 instead of ZeRO over as many ranks, for a base in 4 bits; batches with padding. First: the
 * other end of what keys may come to that the figures leave out. */
extern const ms_change ms_other_end_change, ms_autocast_change, ms_upcast_change, ms_half_change,
    ms_mixed_change, ms_keep_change, ms_divide_change, ms_padding_change;

/* A quantised base that PEFT prepares, and nobody has said which layers are checkpointed: PEFT's
 * preparation checkpoints all. */
extern const ms_change ms_peft_change;
bool ms_lacks_checkpoints_of_peft(const ms_run_config *run);

/* ---- variants ---- */

/* Changes of one run, simulated in parallel, from which findings are made. */

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
