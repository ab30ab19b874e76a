/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_INPUT_CONFIG_RUN_TREATED_LAYER_H
#define MS_INPUT_CONFIG_RUN_TREATED_LAYER_H

#include "input/config/run/run_config.h"
#include "input/config/treatment/row.h"

/* Whether layers get more than the hidden states of the one before: keys, or an embedding. */
bool ms_layers_share_states(const ms_model_config *model);

/* The facts about a layer of this model and run that treatments depend on. */
ms_treated_layer ms_treated_layer_of(const ms_model_config *model, const ms_run_config *run,
                                     uint64_t layer);

#endif
