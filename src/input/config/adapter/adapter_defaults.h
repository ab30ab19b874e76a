/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The default targets of adapters.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"

/* PEFT's default targets for a family (NULL: none): lists[0] has the targets (empty: they must be
 * given), lists[1] those whose input is scaled (ia3). */
void ms_adapter_defaults(const ms_family *family, ms_adapter_kind kind, ms_module_list lists[2]);

/* Targets for a family without LoRA's defaults, joined by "+": its queries and values, by their
 * names in transformers. NULL where there are defaults. Static. */
const char *ms_adapter_usual_targets(const ms_family *family);

#endif
