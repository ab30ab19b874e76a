/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From a parsed config.json to ms_model_config: the family, its keys with defaults and aliases, the
 * keys that would change shapes in ways no family models, the rules that span keys.
 */
#ifndef MS_CONFIG_MODEL_MODEL_READ_H
#define MS_CONFIG_MODEL_MODEL_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "config/model/model_config.h"
#include "config/model/notes.h"
#include "json/value.h"

/* Strings of the config belong to the arena; `name` is the caller's to set. */
ms_status ms_model_config_read(ms_arena *arena, ms_json_value root, const ms_family_list *families,
                               ms_model_config *config, ms_notes *notes, ms_error *err);

/* ---- the pieces, one file each ---- */

#endif
