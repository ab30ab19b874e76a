/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kind of each layer: by the file's lists, else by the family's rule.
 */
#ifndef MS_INPUT_CONFIG_MODEL_LAYER_KINDS_H
#define MS_INPUT_CONFIG_MODEL_LAYER_KINDS_H

#include "input/config/model/model_read.h"

typedef struct ms_model_config ms_model_config;

/* Whether some layer has all of these flags; whether some layer lacks one. */
bool ms_model_has_layers(const ms_model_config *config, uint8_t flags);
bool ms_model_has_layers_but(const ms_model_config *config, uint8_t flags);

/* Whether the layer reads the keys and values of an earlier one; whether it stores its own for
 * later ones: the last one of its kind (with a window or without) before those. */
bool ms_layer_reads_keys(const ms_model_config *config, uint64_t layer);
bool ms_layer_stores_keys(const ms_model_config *config, uint64_t layer);

/* Sets the kind of every layer, from the file's layer_types or the family's rule. */
ms_status ms_layer_kinds_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                              ms_error *err);

#endif
