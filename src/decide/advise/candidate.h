/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of a run that need less memory, one row each: what they are called, what they cost, and
 * the settings that make them. The settings are what is simulated and what is printed.
 */
#ifndef MS_DECIDE_ADVISE_CANDIDATE_H
#define MS_DECIDE_ADVISE_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/simulate/simulate.h"

/* What a change costs. Those that cost less come first. */
typedef enum ms_advice_cost {
    MS_COST_FREE,     /* neither time nor another result */
    MS_COST_TIME,     /* time, for the same result */
    MS_COST_ROUNDING, /* the same training, rounded otherwise */
    MS_COST_RESULT,   /* another training */
    MS_COST_DEVICE,   /* another device */
    MS_COST_COUNT
} ms_advice_cost;
extern const char *const ms_advice_cost_names[]; /* by ms_advice_cost; ends with NULL */

typedef enum ms_candidate_trait {
    MS_IS_LAST_RESORT = 1, /* costs so much time that others are tried first */
    MS_IS_LIBRARY = 2,     /* takes another library than those of the run */
    MS_IS_VARIANT = 4,     /* of the next row, offered in its place as well */
    MS_IS_ALLOCATOR = 8,   /* leaves what is requested of the allocator */
    MS_IS_OF_WEIGHTS = 16, /* changes what is kept of weights, of gradients, of states */
    MS_IS_OF_GRADIENTS = 32,
    MS_IS_OF_STATES = 64,
    MS_IS_OF_KEPT = MS_IS_OF_WEIGHTS | MS_IS_OF_GRADIENTS | MS_IS_OF_STATES,
    MS_IS_FIRST = 128 /* tried even where a simulation takes long */
} ms_candidate_trait;

enum { MS_CANDIDATE_SETTINGS = 3, MS_MOST_CANDIDATES = 32 };

/* A field of a run; the value is what is given, or worked out by `make` (in the arena; NULL: out of
 * memory, "": it is not set). */
typedef struct ms_candidate_setting {
    const char *field, *value;
    const char *(*make)(const ms_job *job, ms_arena *arena);
} ms_candidate_setting;

typedef struct ms_candidate {
    const char *title; /* "checkpoint every layer" */
    ms_advice_cost cost;
    const char *changes;                /* of the result: "states in 8 bits"; NULL: nothing */
    uint32_t traits;                    /* ms_candidate_trait */
    bool (*applies)(const ms_job *job); /* the run does not use it yet; the rules of a run are
                                           checked when it is resolved */
    ms_candidate_setting settings[MS_CANDIDATE_SETTINGS];
} ms_candidate;

/* By what they cost, and of the same cost the cheaper first. NULL past the last. */
const ms_candidate *ms_candidate_at(uint32_t index);

/* Whether both set the same field, so that one excludes the other. The field `treat` adds up. */
bool ms_candidates_exclude(const ms_candidate *a, const ms_candidate *b);

/* ---- kept ---- */

/* Weights, their gradients and states of the optimizer that are on the device at once, in every
 * step, whatever is done to layers; of several ranks the weights alone. */
typedef struct ms_kept {
    uint64_t weight_bytes, gradient_bytes, state_bytes;
} ms_kept;

ms_kept ms_kept_of(const ms_run_config *run, const ms_simulation *simulation);

static inline uint64_t ms_kept_bytes(const ms_kept *kept)
{
    return kept->weight_bytes + kept->gradient_bytes + kept->state_bytes;
}
/* Whether so much alone is more than can be reserved. */
bool ms_kept_exceeds(const ms_run_config *run, uint64_t kept_bytes);

#endif
