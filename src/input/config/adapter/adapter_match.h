/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which modules an adapter applies to.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_MATCH_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_MATCH_H

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"

/* Whether the adapter treats all layers alike; true for NULL. */
bool ms_adapter_is_uniform(const ms_adapter *adapter);
/* Without targets of its own, an adapter has PEFT's defaults for the family; NULL: it has none. The
 * caller owns *matcher, also on failure; the adapter must outlive it. */
ms_status ms_adapter_matcher_new(const ms_adapter *adapter, const ms_family *family,
                                 ms_adapter_matcher **matcher, ms_error *err);
void ms_adapter_matcher_free(ms_adapter_matcher *matcher);
/* Whether the module of that name ("model.layers.0.self_attn.q_proj") gets an adapter. */
bool ms_adapter_takes(ms_adapter_matcher *matcher, const char *name, bool is_linear, bool is_head);
bool ms_adapter_saves(const ms_adapter_matcher *matcher, const char *name);
bool ms_adapter_scales_input(const ms_adapter_matcher *matcher, const char *name); /* ia3 */
uint64_t ms_adapter_rank_of(ms_adapter_matcher *matcher, const char *name);
/* Whether an answer above may be wrong, because the patterns took MS_PATTERN_MOST_STEPS. */
bool ms_adapter_gave_up(const ms_adapter_matcher *matcher);

#endif
