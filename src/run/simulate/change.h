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

#endif
