/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of config.json whose values are lists.
 */
#ifndef MS_INPUT_CONFIG_MODEL_KEY_LISTS_H
#define MS_INPUT_CONFIG_MODEL_KEY_LISTS_H

#include "input/config/model/family.h"
#include "input/config/model/model_read.h"

/* The uint64_t member at that offset. */
uint64_t *ms_key_count_at(ms_model_config *config, size_t offset);
/* Fails unless a list has an entry for each layer. */
ms_status ms_key_expect_layers(ms_json_value list, uint64_t count, const ms_model_config *config,
                               ms_error *err);
/* Getters: one count for each layer, which must be alike; bits for numbers. */
ms_status ms_key_get_alike(ms_json_value list, const ms_key *key, ms_model_config *config,
                           ms_error *err);
ms_status ms_key_get_numbers(ms_json_value value, const ms_key *key, ms_model_config *config,
                             ms_error *err);

#endif
