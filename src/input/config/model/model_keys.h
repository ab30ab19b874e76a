/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading keys of config.json: one getter per kind of key. The families have the rows.
 */
#ifndef MS_INPUT_CONFIG_MODEL_MODEL_KEYS_H
#define MS_INPUT_CONFIG_MODEL_MODEL_KEYS_H

#include "input/config/model/family.h"
#include "input/config/model/model_read.h"

/* The name in config.json: "silu". */
const char *ms_activation_name(ms_activation activation);

/* Finds a key of the file under its name or an alias; false when absent. */
bool ms_model_key_find(ms_json_value root, const ms_key *key, ms_json_value *value);
/* Whether a key has that name, or an alias. */
bool ms_key_has_name(const ms_key *key, const char *name);
/* The family's row of that name; NULL when it has none. */
const ms_key *ms_model_key_row(const ms_family *family, const char *name);
/* Whether positions come from a learned table instead of rotary embeddings. */
bool ms_model_learns_positions(const ms_family *family);
/* The most tokens that a sequence may have for its positions' sake; UINT64_MAX: any number. */
uint64_t ms_model_learned_positions(const ms_model_config *config);
/* Reads all keys of a table from their object; absent ones get their defaults. */
ms_status ms_model_keys_read(ms_json_value object, const ms_key *keys, size_t key_count,
                             ms_model_config *config, ms_error *err);

/* ---- key lists ---- */

/* Keys of config.json whose values are lists. */

/* Fails unless a list has an entry for each layer. */
ms_status ms_key_expect_layers(ms_json_value list, uint64_t count, const ms_model_config *config,
                               ms_error *err);

/* ---- layer pattern ---- */

/* Kinds of layers as a file lists them where a layer is one module: a letter each in one text, or a
 * name each in a list. */

/* Sets MS_LAYER_ flags of each of the layers that were counted. Fails at the unknown name or at the
 * text with MS_ERR_CONFIG. */
ms_status ms_layer_pattern_read(ms_json_value value, uint8_t *kinds, ms_error *err);
/* The letter of a kind: M, *, - or E. */
char ms_layer_pattern_letter(uint8_t kind);

#endif
