/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of a run that may save memory: for suggestions.
 */
#ifndef MS_LEDGER_CHANGE_H
#define MS_LEDGER_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "config/model/model_config.h"
#include "config/run/run_config.h"

typedef struct ms_change {
    const char *title; /* "half the batch" */
    bool is_treatment; /* of layers: no use to who plans those */
    bool may_be_repeated;
    /* Changes `run` (a copy) and writes the option that does the same, in the arena (NULL: out of
     * memory); false when it does not apply. */
    bool (*apply)(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                  const char **option);
} ms_change;

/* NULL past the last. */
const ms_change *ms_change_at(size_t index);

/* Expandable segments: the same events, another allocator, so nothing need be simulated again. */
extern const ms_change ms_allocator_change;

/* For findings: autocast in the half precision that suits the device, where the run computes in
 * fp32; a quantised base whose other weights keep their type; fp16 in place of bf16. */
extern const ms_change ms_autocast_change, ms_upcast_change, ms_half_change;

#endif
