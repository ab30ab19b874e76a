/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run trains: its tokens, of all ranks together.
 */
#ifndef MS_INPUT_CONFIG_RUN_TOKENS_H
#define MS_INPUT_CONFIG_RUN_TOKENS_H

#include "input/config/run/run_config.h"

/* Of a step, of all ranks and micro-batches; 0: too many to count. Ranks of tensor, context and
 * pipeline parallelism share theirs. */
uint64_t ms_run_tokens(const ms_run_config *run);
/* Those of a micro-batch that may have a label: all but the first of each row or document; and
 * those that have one, as given, else all that may. */
uint64_t ms_run_most_labels(const ms_run_config *run);
uint64_t ms_run_labels(const ms_run_config *run);
/* Of all ranks together, at this time of a step; 0: not known. */
double ms_run_tokens_per_s(const ms_run_config *run, double step_ms);
/* The same, divided by the number of ranks. */
double ms_run_tokens_per_s_per_gpu(const ms_run_config *run, double step_ms);

#endif
