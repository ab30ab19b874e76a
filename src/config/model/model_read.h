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

/* Finds a key of the file under its name or an alias; false when absent. */
bool ms_model_key_find(ms_json_value root, const ms_key *key, ms_json_value *value);
/* The family's row of that name; NULL when it has none. */
const ms_key *ms_model_key_row(const ms_family *family, const char *name);
/* Whether positions come from a learned table instead of rotary embeddings. */
bool ms_model_learns_positions(const ms_family *family);

/* Reads all keys of a table from their object; absent ones get their defaults. */
ms_status ms_model_keys_read(ms_json_value object, const ms_key *keys, size_t key_count,
                             ms_model_config *config, ms_error *err);
/* Refuses keys that change shapes and that the family (may be NULL) does not read. */
ms_status ms_model_refuse_keys(ms_json_value root, const ms_family *family, ms_error *err);
/* Checks what spans keys, and fills in what follows from them. */
ms_status ms_model_rules_check(ms_arena *arena, ms_json_value root, ms_model_config *config,
                               ms_error *err);
/* Decides the kind of every layer, by the file's layer_types or the family's rule. */
ms_status ms_layer_kinds_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                              ms_error *err);
/* Notes keys that look like misspelt ones. */
ms_status ms_model_note_unknown(ms_arena *arena, ms_json_value root, const ms_family *family,
                                ms_notes *notes, ms_error *err);

#endif
