/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rules that span keys: dimensions that must divide, keys that the family does not support.
 */
#ifndef MS_INPUT_CONFIG_MODEL_MODEL_RULES_H
#define MS_INPUT_CONFIG_MODEL_MODEL_RULES_H

#include "input/config/model/model_read.h"

/* Refuses keys that change shapes and that the family (NULL: any) does not read. */
ms_status ms_model_refuse_keys(ms_json_value root, const ms_family *family, ms_error *err);
/* Checks the rules, and fills in derived members. */
ms_status ms_model_rules_check(ms_arena *arena, ms_json_value root, ms_model_config *config,
                               ms_error *err);

#endif
