/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What was compared with PyTorch's and DeepSpeed's own among which ranks; one rank has it all.
 */
#ifndef MS_CONFIG_RESOLVE_COMPARED_H
#define MS_CONFIG_RESOLVE_COMPARED_H

#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* Reentrant checkpoints, each of which has a backward pass of its own, and evaluations between
 * steps. */
bool ms_knows_passes(const ms_model_config *model, const ms_run_config *run, bool has_adapter);

#endif
