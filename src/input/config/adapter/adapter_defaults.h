/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The default targets of adapters.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H

#include "input/config/adapter/adapter.h"

/* The default targets for a model type: lists[0] has the targets (empty: they must be given),
 * lists[1] those whose input is scaled (ia3). */
void ms_adapter_defaults(const char *model_type, ms_adapter_kind kind, ms_module_list lists[2]);

/* Targets for a model type without LoRA's defaults, joined by "+": its queries and values, by their
 * names in transformers. NULL where there are defaults. Static. */
const char *ms_adapter_usual_targets(const char *model_type);

#endif
