/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of config.json that say how the model runs, which transformers heeds when it builds it.
 */
#ifndef MS_INPUT_CONFIG_MODEL_OTHER_RUN_KEYS_H
#define MS_INPUT_CONFIG_MODEL_OTHER_RUN_KEYS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"

typedef struct ms_model_config ms_model_config;

/* Fills the members asked_attention, asked_experts and asks_checkpoints, as transformers 5.24 takes
 * them: attention and experts from the file itself, checkpoints from the text model's object too.
 */
ms_status ms_run_keys_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                           ms_error *err);

/* Whether a key is one of them. */
bool ms_is_run_key(const char *name);

#endif
