/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts a parsed config.json to ms_model_config: finds the family, reads its keys with defaults
 * and aliases, refuses unsupported keys that change shapes, and checks the rules that span keys.
 */
#ifndef MS_INPUT_CONFIG_MODEL_MODEL_READ_H
#define MS_INPUT_CONFIG_MODEL_MODEL_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"
#include "input/config/model/family.h"
#include "input/config/model/notes.h"

/* The family of that model type; NULL: none, as for a name of NULL. */
const ms_family *ms_family_named(const ms_family_list *families, const char *model_type);

/* Strings of the config belong to the arena; the caller sets `name`. */
ms_status ms_model_config_read(ms_arena *arena, ms_json_value root, const ms_family_list *families,
                               ms_model_config *config, ms_notes *notes, ms_error *err);

#endif
