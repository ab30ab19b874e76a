/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of layers as a file lists them where a layer is one module: a letter each in one text, or a
 * name each in a list.
 */
#ifndef MS_INPUT_CONFIG_MODEL_LAYER_PATTERN_H
#define MS_INPUT_CONFIG_MODEL_LAYER_PATTERN_H

#include <stdint.h>

#include "base/error.h"
#include "base/json/value.h"

/* The number of layers, from 1 to `maximum`; null leaves *count as it is. Fails at the value with
 * MS_ERR_CONFIG. */
ms_status ms_layer_pattern_count(ms_json_value value, uint64_t maximum, uint64_t *count,
                                 ms_error *err);
/* Sets MS_LAYER_ flags of each of the layers that were counted. Fails at the unknown name or at the
 * text with MS_ERR_CONFIG. */
ms_status ms_layer_pattern_read(ms_json_value value, uint8_t *kinds, ms_error *err);
/* The letter of a kind: M, *, - or E. */
char ms_layer_pattern_letter(uint8_t kind);

#endif
