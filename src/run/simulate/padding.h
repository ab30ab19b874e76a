/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Batches of which nobody knows whether they are padded.
 */
#ifndef MS_RUN_SIMULATE_PADDING_H
#define MS_RUN_SIMULATE_PADDING_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* What a step needs with a mask that masks nothing, and with one that masks a token. */
typedef struct ms_padding_needs {
    bool is_known; /* the run does not know, so that both were simulated */
    uint64_t device_bytes[MS_PADDING_COUNT]; /* expected, by ms_padding; of these two */
} ms_padding_needs;

/* Where the run does not know, sets run->padding.simulated to what needs more. */
ms_status ms_padding_settle(const ms_model_config *model, ms_run_config *run,
                            ms_padding_needs *needs, ms_error *err);

/* Bytes, on the generous side, that a padded batch needs more than one without a mask. */
double ms_padding_bound(const ms_model_config *model, const ms_run_config *run);

#endif
