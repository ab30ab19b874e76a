/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_DECIDE_ADVISE_KEPT_H
#define MS_DECIDE_ADVISE_KEPT_H

#include "run/simulate/simulate.h"

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
