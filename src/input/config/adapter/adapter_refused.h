/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Targets of an adapter that do not do in PEFT what their names say, which is refused.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_REFUSED_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_REFUSED_H

#include "input/config/adapter/adapter_match.h"

/* Whether PEFT exchanges targets of this family, so that `all-linear` is refused. */
bool ms_adapter_exchanges(const ms_family *family);
/* Whether that target is one of them. */
bool ms_adapter_exchanges_name(const ms_family *family, const char *name);
/* Refuses targets that PEFT 0.21 exchanges for stacked experts and their router before it looks for
 * modules: those that had these names in transformers 4, `all-linear` included
 * (peft/utils/transformers_weight_conversion.py). MS_ERR_CONFIG with other targets to name. */
ms_status ms_adapter_check_experts(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const ms_family *family, uint64_t layers, ms_error *err);

/* Refuses a module that the adapter takes, by the last part of its name: of state-space models. */
ms_status ms_adapter_check_module(const ms_family *family, const char *name, ms_error *err);

#endif
